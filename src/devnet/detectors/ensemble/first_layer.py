"""The first layer of networks on rank-normal rows; zeros of indicator columns cost nothing."""

import numpy as np
import scipy.sparse as sp

from devnet.detectors.ensemble.rank_normal import RankNormal

MAX_KNOTS = 3  # of a constant or two-valued column, such as the indicator of a category
FEWEST = 32  # indicator columns that are worth their own path
FEW_ROWS = 64  # up to which a dense product is quicker than making a sparse matrix


class FirstLayer:
    """Biases plus encoded rows times a kernel: sums that must be exact in any order.

    The indicator of a category is mostly zero. What indicators add at zero is summed up once, and
    a one adds the difference. As sums are exact, the result equals the sum over all columns bit
    for bit. Rows in which an indicator has another value take the path of the other columns.

    Parameters
    ----------
    encoding : RankNormal
        Of d columns.
    kernel : array of shape (d, h)
        Rounded so that twice the largest sum has no more digits than its type holds.
    bias : array of shape (h,)
        Rounded in the same way.
    """

    def __init__(self, encoding: RankNormal, kernel: np.ndarray, bias: np.ndarray) -> None:
        self._encoding = encoding
        self._kernel = kernel
        self._bias = bias
        is_few = encoding.n_knots <= MAX_KNOTS
        self._has_indicators = bool(is_few.sum() >= FEWEST)
        if not self._has_indicators:
            return
        self._is_indicator = is_few
        self._indicators, self._others = np.flatnonzero(is_few), np.flatnonzero(~is_few)
        self._other_kernel = kernel[self._others]
        self._other_encoding = encoding.select(self._others) if len(self._others) else None
        ends = np.array([[0], [1]], dtype=np.float32)
        at_zero, at_one = encoding.encode(ends.repeat(len(kernel), axis=1)).astype(kernel.dtype)
        self._at_zero = bias + at_zero[is_few] @ kernel[is_few]  # (h,)
        self._step = (at_one - at_zero)[:, None] * kernel  # (d, h)
        self._indicator_step = self._step[self._indicators]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Sums of rows, (b, d) float32 -> (b, h) in the kernel's type."""
        if not self._has_indicators:
            return self._all(rows)
        sums = self._of_few(rows) if len(rows) <= FEW_ROWS else self._of_many(rows)
        if sums is None:
            return self._all(rows)
        sums += self._at_zero
        if self._other_encoding is not None:
            encoded = self._other_encoding.encode(rows.take(self._others, axis=1))
            sums += encoded.astype(self._kernel.dtype, copy=False) @ self._other_kernel
        return sums

    def _of_few(self, rows: np.ndarray) -> np.ndarray | None:
        """What the ones of indicators add; None if an indicator has another value."""
        ones = rows.take(self._indicators, axis=1)
        if ((ones != 0) & (ones != 1)).any():
            return None
        added: np.ndarray = ones.astype(self._kernel.dtype, copy=False) @ self._indicator_step
        return added

    def _of_many(self, rows: np.ndarray) -> np.ndarray | None:
        """The same, by a sparse matrix of the ones."""
        row, column = np.divmod(np.flatnonzero(rows != 0), rows.shape[1])
        is_one = self._is_indicator[column]
        row, column = row[is_one], column[is_one]
        if (rows[row, column] != 1).any():
            return None
        ends = np.searchsorted(row, np.arange(len(rows) + 1))
        ones = np.ones(len(row), dtype=self._kernel.dtype)
        added: np.ndarray = sp.csr_array((ones, column, ends), rows.shape) @ self._step
        return added

    def _all(self, rows: np.ndarray) -> np.ndarray:
        return self.of_encoded(self._encoding.encode(rows))

    def of_encoded(self, encoded: np.ndarray) -> np.ndarray:
        """Sums of encoded rows, (b, d) -> (b, h)."""
        sums: np.ndarray = encoded.astype(self._kernel.dtype, copy=False) @ self._kernel
        sums += self._bias
        return sums
