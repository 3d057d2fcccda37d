"""A weighted sum of millions of columns, learned in closed form from a few labelled anomalies.

A few anomalies cannot determine weights for a million columns. But each column can be tested
separately (`column_tests.py`), and a row of length one combines the tests of its columns as
Stouffer's method combines independent tests: their sum over the root of their number. Nothing is
drawn at random, and leave-one-out scores of training rows need no second fit. These scores also
decide between the two kinds of test.
"""

from typing import Self

import numpy as np
import scipy.sparse as sp

from devnet.core.model_file import tensor
from devnet.detectors.ensemble.column_tests import NULL_TEST, ColumnTests
from devnet.detectors.ensemble.combination import rank_error
from devnet.detectors.ensemble.learners import OutOfBag
from devnet.detectors.ensemble.pool import Pool
from devnet.detectors.ensemble.unit_rows import UnitRows


class SparseLearner:
    """Scores wide rows by the tests of their columns; a row without known columns scores 0.

    Parameters
    ----------
    units : UnitRows
        Scales rows to length one over c known columns.
    weight : (c,) float32 array
        What a value of one is worth in each of these columns.
    """

    def __init__(self, units: UnitRows, weight: np.ndarray) -> None:
        self._units = units
        self._weight = weight

    @property
    def n_columns(self) -> int:
        """Width d of the rows."""
        return self._units.n_columns

    def scores(self, rows: sp.csr_array) -> np.ndarray:
        """Scores of rows (b, d) -> (b,) float64; a row has the same score in any batch."""
        scores: np.ndarray = self._units.apply(rows) @ self._weight.astype(np.float64)
        return scores

    def contributions(self, rows: sp.csr_array) -> sp.csr_array:
        """What each value of the rows (b, d) adds to the score; they sum to it exactly."""
        unit = self._units.apply(rows)
        unit.data *= self._weight.take(unit.indices)
        return self._units.widen(unit)

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {**self._units.to_tensors(), "test_weight": self._weight}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore the learner from the arrays of a model file, after checking them."""
        units = UnitRows.from_tensors(tensors, n_columns)
        return cls(units, tensor(tensors, "test_weight", (len(units.columns),)))


def learn_sparse(pool: Pool) -> tuple[SparseLearner, OutOfBag]:
    """Learn from a pool of CSR rows, and give leave-one-out scores of these rows.

    A sole labelled anomaly keeps its ordinary score, as nothing can be learned without it.
    """
    units = UnitRows.learn(sp.vstack([pool.anomalies, pool.rows], format="csr"))
    anomalies, unlabelled = units.apply(pool.anomalies), units.apply(pool.rows)
    tests = ColumnTests(anomalies, pool.anomaly_weight, unlabelled, pool.learning_weight())
    statistics = tests.statistics()
    labelled_scores = anomalies @ statistics
    if anomalies.shape[0] > 1:
        labelled_scores = tests.scores_without(labelled=True)
    by_test = zip(tests.scores_without(labelled=False).T, labelled_scores.T, strict=True)
    votes = [OutOfBag(*scores) for scores in by_test]
    chosen = NULL_TEST
    if anomalies.shape[0] > 1:
        chosen = int(np.argmin([rank_error(vote, pool.weight) for vote in votes]))
    return SparseLearner(units, statistics[:, chosen].astype(np.float32)), votes[chosen]
