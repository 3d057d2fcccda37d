"""The methods of the feedback experiment: each learns from anomalies, dismissed rows and others.

`fit` takes 1 for a known anomaly, -1 for a dismissed row and 0 for any other, with or without an
anomaly among them. As long as there are too few, all but AADForest rank by how far rows deviate: a
method that cannot start would otherwise be compared by its first guess alone.
"""

import importlib
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from devnet.detectors.methods import HAND_OVER, RECOMMENDED, STARTING, find_method
from devnet.experiments.feedback_measure import ANOMALY, NORMAL, UNKNOWN


class InTheLoop(BaseEstimator):
    """A detector of ours that learns from reviews.

    Parameters
    ----------
    base : str
        A name in `METHODS`.
    start : str
        The one to rank with while too few anomalies are known.
    dismissed : float, optional
        How many unlabelled rows a dismissed one weighs as. By default the detector is told that it
        is known to be normal.
    learns : bool, default=True
        Whether it learns again after the first fit.
    random_state : int, optional
    """

    def __init__(
        self,
        base: str = RECOMMENDED,
        *,
        start: str = STARTING,
        dismissed: float | None = None,
        learns: bool = True,
        random_state: int | None = None,
    ) -> None:
        self.base = base
        self.start = start
        self.dismissed = dismissed
        self.learns = learns
        self.random_state = random_state

    def fit(self, X: Any, y: np.ndarray) -> Self:
        """Learn from all that is known."""
        if hasattr(self, "model_") and not self.learns:
            return self
        method = find_method(self.base if (y == ANOMALY).sum() >= HAND_OVER else self.start)
        if self.dismissed is None:
            self.model_ = method(normal_label=NORMAL, random_state=self.random_state).fit(X, y)
            return self
        weight = np.where(y == NORMAL, self.dismissed, 1.0) if (y == NORMAL).any() else None
        self.model_ = method(random_state=self.random_state).fit(X, np.maximum(y, UNKNOWN), weight)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Anomaly scores."""
        return np.asarray(self.model_.anomaly_score(X))


class AADForest(BaseEstimator):
    """The isolation forest of the package coniferest, whose leaves are weighed by the labels.

    Dense rows only. S. Das, W.-K. Wong, T. Dietterich, A. Fern, A. Emmott. Incorporating expert
    feedback into active anomaly discovery. ICDM 2016.
    """

    def __init__(self, n_trees: int = 100, *, random_state: int | None = None) -> None:
        self.n_trees = n_trees
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Grow the trees in the first fit, and weigh their leaves in every one."""
        library = importlib.import_module("coniferest.aadforest")
        if not hasattr(self, "model_"):
            self.model_ = library.AADForest(self.n_trees, n_jobs=1, random_seed=self.random_state)
        known = np.flatnonzero(y)
        self.model_.fit_known(X, X[known], -y[known])  # its anomalies are -1
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Anomaly scores: its own are lower for anomalies."""
        return -np.asarray(self.model_.score_samples(X))
