"""The loop of an analyst: review the highest rows, learn from the answers, look again."""

import time
from typing import Any

import numpy as np

from devnet.datasets import Dataset
from devnet.experiments.outcome import Outcome, auc
from devnet.experiments.protocol import Task, make_task

N_REVIEWS = 200
IN_A_ROUND = 20
COUNTED = (20, 50, 100, 150, 200)  # reviews after which the anomalies found are counted
ANOMALY, UNKNOWN, NORMAL = 1, 0, -1  # what is known about a row


def feedback(
    detector: Any,
    dataset: Dataset,
    seed: int,
    *,
    n_labelled: int = 5,
    contamination: float = 0.02,
) -> Outcome:
    """Anomalies found among the highest rows in 200 reviews, and ranking quality on fresh rows.

    The rows to review are the paper's training rows. In every round the detector learns from
    what is known, 1 for an anomaly, -1 for a row that was reviewed and dismissed, 0 for any
    other; then the 20 highest unknown rows are reviewed, and the truth answers. With
    `n_labelled=0` nothing is known at first.
    """
    task = make_task(
        dataset.rows,
        dataset.is_anomaly,
        seed=seed,
        n_labelled=max(n_labelled, 1),  # with 0, the one that the task labels is not told
        contamination=contamination,
    )
    known = task.y if n_labelled else np.zeros_like(task.y)
    known, is_found, seconds = review(detector, task, known, np.random.default_rng(seed))
    start = time.perf_counter()
    detector.fit(task.train, known)
    seconds["fit"] += time.perf_counter() - start
    n_found = np.cumsum(is_found)
    metrics = {
        f"found of {n}": float(n_found[min(n, len(n_found)) - 1]) for n in COUNTED if len(n_found)
    }
    return Outcome(metrics | auc(task.is_anomaly, detector.anomaly_score(task.test)), seconds)


def review(
    detector: Any, task: Task, known: np.ndarray, luck: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """What is known after all rounds, (n,), whether each reviewed row was an anomaly, and seconds.

    Among rows of equal score, luck decides.
    """
    truth = np.where(task.train_is_anomaly, ANOMALY, NORMAL)
    known = known.copy()
    is_found: list[bool] = []
    seconds = {"fit": 0.0, "score": 0.0}
    for _ in range(N_REVIEWS // IN_A_ROUND):
        start = time.perf_counter()
        detector.fit(task.train, known)
        fitted = time.perf_counter()
        scores = detector.anomaly_score(task.train)
        seconds["fit"] += fitted - start
        seconds["score"] += time.perf_counter() - fitted
        unknown = np.flatnonzero(known == UNKNOWN)
        order = np.lexsort((luck.random(len(unknown)), -scores[unknown]))
        reviewed = unknown[order[:IN_A_ROUND]]
        known[reviewed] = truth[reviewed]
        is_found += (truth[reviewed] == ANOMALY).tolist()
    return known, np.array(is_found), seconds
