"""Ranking quality of images, and whether maps find planted defects."""

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from devnet.datasets.image_sets import ImageSet
from devnet.experiments.outcome import Outcome, auc, fit_and_score
from devnet.experiments.protocol import make_task

PIXELS, PEAKS = "pixel AUC-ROC", "peaks in the defect"


def images(
    detector: Any,
    dataset: ImageSet,
    seed: int,
    *,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Outcome:
    """Ranking quality on the test images, and localisation if it is known where anomalies are.

    The task is the paper's; anomalies of kinds that are never labelled are hidden and tested too.
    """
    n, h, w = dataset.images.shape
    task = make_task(
        dataset.images.reshape(n, h * w),
        dataset.is_anomaly,
        seed=seed,
        n_labelled=n_labelled,
        contamination=contamination,
        may_be_labelled=dataset.may_be_labelled,
    )
    task = task._replace(train=task.train.reshape(-1, h, w), test=task.test.reshape(-1, h, w))
    scores, seconds = fit_and_score(detector, task)
    metrics = auc(task.is_anomaly, scores)
    model = getattr(detector, "estimator", detector)
    if dataset.masks is not None and hasattr(model, "anomaly_map"):
        spoiled = task.test[task.is_anomaly]
        masks = dataset.masks[task.origin[task.is_anomaly]]
        metrics |= localisation(model.anomaly_map(spoiled), masks)
    return Outcome(metrics, seconds)


def localisation(maps: np.ndarray, masks: np.ndarray) -> dict[str, float]:
    """How well maps (n, h, w) tell defective pixels, and how often the highest one is defective."""
    peaks = maps.reshape(len(maps), -1).argmax(axis=1)
    is_inside = masks.reshape(len(masks), -1)[np.arange(len(masks)), peaks]
    return {
        PIXELS: float(roc_auc_score(masks.ravel(), maps.ravel())),
        PEAKS: float(is_inside.mean()),
    }
