"""What a run returns: its results, and the seconds that it took."""

import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from devnet.experiments.protocol import Task


class Outcome(NamedTuple):
    """The results of a run."""

    metrics: dict[str, float]
    seconds: dict[str, float]


def fit_and_score(detector: Any, task: Task) -> tuple[np.ndarray, dict[str, float]]:
    """Scores of the test rows, and the seconds of both steps."""
    start = time.perf_counter()
    detector.fit(task.train, task.y)
    fitted = time.perf_counter()
    scores = detector.anomaly_score(task.test)
    scored = time.perf_counter()
    return scores, {"fit": fitted - start, "score": scored - fitted}


def auc(is_anomaly: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """The areas under both curves."""
    return {
        "AUC-ROC": float(roc_auc_score(is_anomaly, scores)),
        "AUC-PR": float(average_precision_score(is_anomaly, scores)),
    }
