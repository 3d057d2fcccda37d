"""Each column as a test: by how many standard errors labelled anomalies deviate in it.

Two tests differ in their measure of spread. The null test divides the difference between the means
of labelled anomalies and unlabelled rows by the spread of unlabelled rows, as if anomalies spread
equally: it trusts a rare column that a few anomalies have. Welch's test adds the spread of the
anomalies: it trusts a column in which most anomalies agree. Which is better depends on the data:
the first for texts, the second for web addresses.

Both add a typical spread to the denominator; otherwise columns that hardly vary would dominate. (V.
Tusher, R. Tibshirani, G. Chu. Significance analysis of microarrays applied to the ionizing
radiation response. PNAS 2001.)

Leave-one-out scores need no second pass: the tests of a row's columns are recomputed without the
row, columns that would then be unknown are dropped, and the row is scaled back to its length. The
units of columns and the typical spread are those of all rows.
"""

from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from devnet.detectors.ensemble.unit_rows import ENOUGH_ROWS

N_TESTS = 2
NULL_TEST = 0  # Welch's is 1
LEAST_VARIANCE = 1e-60  # less counts as none; a quotient by its root still fits float32
TILE_ROWS = 1024  # rows whose leave-one-out scores are computed together


class Moments(NamedTuple):
    """Weighted sums over one kind of rows, for each of c columns."""

    weight: np.ndarray  # sum of weights, () or (c,)
    total: np.ndarray  # (c,) weighted sum of values
    squares: np.ndarray  # (c,) weighted sum of squared values

    @classmethod
    def of(cls, rows: sp.csr_array, weight: np.ndarray) -> Self:
        """Sum over the rows (n, c), each with its weight (n,)."""
        squared = sp.csr_array((rows.data**2, rows.indices, rows.indptr), rows.shape)
        return cls(weight.sum(), rows.T @ weight, squared.T @ weight)

    def at(self, columns: np.ndarray) -> "Moments":
        """The moments of some columns."""
        return Moments(self.weight, self.total.take(columns), self.squares.take(columns))

    def without(self, values: np.ndarray, weight: np.ndarray) -> "Moments":
        """The moments after removing one value, (c,) with its weight (c,), from each column."""
        total = self.total - weight * values
        return Moments(self.weight - weight, total, self.squares - weight * values**2)

    def mean(self) -> np.ndarray:
        """Mean of each column, zero where no weight is left."""
        mean: np.ndarray = self.total / np.where(self.weight > 0, self.weight, np.inf)
        return mean

    def variance(self) -> np.ndarray:
        """Variance of each column, zero where no weight is left."""
        squares = self.squares / np.where(self.weight > 0, self.weight, np.inf)
        variance: np.ndarray = np.maximum(squares - self.mean() ** 2, 0)
        return variance


class ColumnTests:
    """Null test and Welch's test of every column.

    Parameters
    ----------
    labelled, unlabelled : CSR rows (K, c) and (n, c)
        At least one of each.
    labelled_weight, unlabelled_weight : arrays of shape (K,) and (n,)
        Weights of these rows.
    """

    def __init__(
        self,
        labelled: sp.csr_array,
        labelled_weight: np.ndarray,
        unlabelled: sp.csr_array,
        unlabelled_weight: np.ndarray,
    ) -> None:
        self._rows = {True: labelled, False: unlabelled}  # keyed by whether labelled
        self._weight = {True: labelled_weight, False: unlabelled_weight}
        self._moments = {
            is_labelled: Moments.of(rows, self._weight[is_labelled])
            for is_labelled, rows in self._rows.items()
        }
        counts = [np.bincount(r.indices, minlength=r.shape[1]) for r in (labelled, unlabelled)]
        self._is_shared: np.ndarray = (
            counts[0] + counts[1] > ENOUGH_ROWS
        )  # still known if any one row is left out
        # If unlabelled rows do not vary, any deviation counts: values are at most one.
        typical = float(self._moments[False].variance().sum() / max(1, labelled.shape[1]))
        self._typical = typical if typical > LEAST_VARIANCE else 1.0

    def statistics(self) -> np.ndarray:
        """What a value of one is worth in each column by each test, (c, N_TESTS)."""
        return self._compare(self._moments[True], self._moments[False])

    def scores_without(self, *, labelled: bool) -> np.ndarray:
        """Leave-one-out scores (n, N_TESTS) of labelled or unlabelled rows.

        NaN for a sole labelled anomaly.
        """
        rows, weight = self._rows[labelled], self._weight[labelled]
        n_rows = rows.shape[0]
        if labelled and n_rows == 1:
            return np.full((1, N_TESTS), np.nan)
        scores = np.empty((n_rows, N_TESTS))
        for start in range(0, n_rows, TILE_ROWS):
            tile = slice(start, min(start + TILE_ROWS, n_rows))
            scores[tile] = self._score_without(rows[tile], weight[tile], labelled=labelled)
        return scores

    def _score_without(
        self, rows: sp.csr_array, weight: np.ndarray, *, labelled: bool
    ) -> np.ndarray:
        n_rows = rows.shape[0]
        row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))  # of each stored value
        moments = {kind: found.at(rows.indices) for kind, found in self._moments.items()}
        moments[labelled] = moments[labelled].without(rows.data, weight.take(row))
        statistics = self._compare(moments[True], moments[False])
        values = rows.data * self._is_shared.take(rows.indices)
        length, left = (np.sqrt(np.bincount(row, v**2, n_rows)) for v in (rows.data, values))
        values *= (length / np.where(left > 0, left, 1)).take(row)
        products = values[:, None] * statistics
        return np.stack([np.bincount(row, part, n_rows) for part in products.T], axis=1)

    def _compare(self, labelled: Moments, unlabelled: Moments) -> np.ndarray:
        """Both statistics of each column, up to a factor common to all columns, (c, N_TESTS)."""
        deviation = labelled.mean() - unlabelled.mean()
        null, typical = unlabelled.variance(), self._typical
        spreads = (
            np.sqrt(null) + np.sqrt(typical),
            np.sqrt(null + labelled.variance() + typical),
        )
        return np.stack([deviation / spread for spread in spreads], axis=-1)
