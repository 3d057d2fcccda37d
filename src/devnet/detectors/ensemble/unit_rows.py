"""Scaling rows of millions of columns: columns to a common unit, then rows to length one.

A value is divided by the root mean square of its column's stored values, so the unit of a column
does not matter, and ones stay ones. Then a row is divided by its length: a long text says no more
than a short one, and no single row outweighs the others.
"""

from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp

from devnet.core.known_columns import KnownColumns
from devnet.core.model_file import ascends, edited, size_of, tensor
from devnet.core.sparse_matrix import without_duplicates

ENOUGH_ROWS = 2  # a column that occurs in a single training row says nothing about other rows


class UnitRows:
    """Scales rows, and drops unknown columns.

    Parameters
    ----------
    columns : (c,) int64 array, ascending
        The known columns.
    inverse_unit : (c,) float32 array
        Factors of their values.
    n_columns : int
        Width d of the rows.
    """

    def __init__(self, columns: np.ndarray, inverse_unit: np.ndarray, n_columns: int) -> None:
        self.columns = columns
        self.n_columns = n_columns
        self._inverse_unit = inverse_unit

    @classmethod
    def learn(cls, rows: sp.csr_array) -> Self:
        """Find the columns that occur in enough of the rows (n, d), and their units."""
        rows = without_duplicates(rows)
        d = rows.shape[1]
        count = np.bincount(rows.indices[rows.data != 0], minlength=d)
        columns = np.flatnonzero(count >= ENOUGH_ROWS)
        squares = np.bincount(rows.indices, rows.data.astype(np.float64) ** 2, minlength=d)
        unit = np.sqrt(squares[columns] / count[columns])
        finest = np.finfo(np.float32).tiny  # anything less has no inverse in float32
        return cls(columns, (1 / np.maximum(unit, finest)).astype(np.float32), d)

    @cached_property
    def _known_columns(self) -> KnownColumns:
        return KnownColumns(self.columns, self.n_columns)

    def apply(self, rows: sp.csr_array) -> sp.csr_array:
        """Rows (b, d) -> (b, c) float64 of length one, or zero; each row independently."""
        rows = without_duplicates(rows)
        position = self._known_columns.positions(rows.indices)
        is_known = (position >= 0) & (rows.data != 0)
        position = position[is_known]
        values = rows.data[is_known] * self._inverse_unit.take(position).astype(np.float64)
        start = np.concatenate([[0], np.cumsum(is_known)])[rows.indptr]
        shape = (rows.shape[0], len(self.columns))
        # A CSR product sums a row's values in order, whatever rows are around it.
        squares = sp.csr_array((values**2, position, start), shape) @ np.ones(shape[1])
        length = np.repeat(np.sqrt(squares), np.diff(start))
        return sp.csr_array((values / length, position, start), shape)

    def widen(self, rows: sp.csr_array) -> sp.csr_array:
        """Rows (b, c) over the known columns -> rows (b, d) over all columns."""
        columns = self.columns.take(rows.indices) if rows.nnz else rows.indices
        return sp.csr_array((rows.data, columns, rows.indptr), (rows.shape[0], self.n_columns))

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {"unit_column": self.columns, "unit_inverse": self._inverse_unit}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore from the arrays of a model file, after checking them."""
        size = size_of(tensors, "unit_column")
        columns = tensor(tensors, "unit_column", (size,), "int64")
        inverse_unit = tensor(tensors, "unit_inverse", (size,))
        if size and not (ascends(columns) and columns[0] >= 0 and columns[-1] < n_columns):
            raise edited("the columns", f"they must be ascending numbers below {n_columns}")
        if not (inverse_unit > 0).all():
            raise edited("the columns", "their units must be positive")
        return cls(columns, inverse_unit, n_columns)
