"""Ranking quality from a table with a column of raw text to scores."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from devnet.datasets.raw_texts import RawTexts
from devnet.experiments.outcome import Outcome, auc, fit_and_score
from devnet.experiments.protocol import make_task

if TYPE_CHECKING:
    import pyarrow as pa

WIDTH = 1 << 22  # columns of the rival's matrix


def text(
    detector: Any,
    dataset: RawTexts,
    seed: int,
    *,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Outcome:
    """Ranking quality on the test texts.

    The task is the paper's. If there are too few anomalies, hidden ones occur twice.
    """
    import pyarrow as pa  # an extra, which other measures do without

    rows = np.array(dataset.texts, dtype=object)[:, None]
    task = make_task(
        rows, dataset.is_anomaly, seed=seed, n_labelled=n_labelled, contamination=contamination
    )
    train, test = (pa.table({dataset.name: part[:, 0]}) for part in (task.train, task.test))
    scores, seconds = fit_and_score(detector, task._replace(train=train, test=test))
    return Outcome(auc(task.is_anomaly, scores), seconds)


class NGramLogistic(BaseEstimator):
    """Logistic regression with balanced classes on hashed n-grams, rows of length one."""

    def __init__(self, *, has_runs: bool = True, C: float = 10.0) -> None:
        self.has_runs = has_runs
        self.C = C

    def fit(self, X: "pa.Table", y: np.ndarray) -> Self:
        """Learn from the only column of a table."""
        self.model_ = LogisticRegression(C=self.C, class_weight="balanced", solver="liblinear")
        self.model_.fit(self._matrix(X), y)
        return self

    def decision_function(self, X: "pa.Table") -> np.ndarray:
        """Log-odds."""
        return np.asarray(self.model_.decision_function(self._matrix(X)))

    def _matrix(self, X: "pa.Table") -> Any:
        from devnet.tables.columns.ngrams import matrix_of

        (column,) = X.columns
        return normalize(matrix_of(column.combine_chunks(), WIDTH, has_runs=self.has_runs))
