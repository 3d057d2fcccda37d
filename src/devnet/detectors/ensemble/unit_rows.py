"""Rows of millions of columns on a common footing: columns in their own unit, rows of length one.

A value is divided by the root mean square of its column's stored values, so that it does not
matter in what a column is measured, and a column of ones stays one. Then a row is divided by its
length: a long text says no more than a short one, and no single row outweighs the others.
"""

from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp

from devnet.core.model_file import edited, size_of, tensor

ENOUGH_ROWS = 2  # a column that occurs in a single training row says nothing about another one


class UnitRows:
    """What rows are divided by; a column that is not known here is left out.

    Parameters
    ----------
    columns : (c,) int64 array, ascending
        The known ones of `n_columns` columns.
    inverse_unit : (c,) float32 array
        What their values are multiplied with.
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
        rows = _without_duplicates(rows)
        d = rows.shape[1]
        count = np.bincount(rows.indices[rows.data != 0], minlength=d)
        columns = np.flatnonzero(count >= ENOUGH_ROWS)
        squares = np.bincount(rows.indices, rows.data.astype(np.float64) ** 2, minlength=d)
        unit = np.sqrt(squares[columns] / count[columns])
        finest = np.finfo(np.float32).tiny  # the inverse of less is no float32
        return cls(columns, (1 / np.maximum(unit, finest)).astype(np.float32), d)

    @cached_property
    def _position(self) -> np.ndarray:
        """Place of each column among the known ones, -1 for one that is not."""
        position = np.full(self.n_columns, -1, dtype=np.int32)
        position[self.columns] = np.arange(len(self.columns), dtype=np.int32)
        return position

    def apply(self, rows: sp.csr_array) -> sp.csr_array:
        """Rows (b, d) -> (b, c) float64 of length one, or zero; each row by itself."""
        rows = _without_duplicates(rows)
        position = self._position.take(rows.indices)
        is_known = (position >= 0) & (rows.data != 0)
        position = position[is_known]
        values = rows.data[is_known] * self._inverse_unit.take(position).astype(np.float64)
        start = np.concatenate([[0], np.cumsum(is_known)])[rows.indptr]
        shape = (rows.shape[0], len(self.columns))
        # A CSR product adds a row's values one after the other, whatever rows stand around it.
        squares = sp.csr_array((values**2, position, start), shape) @ np.ones(shape[1])
        length = np.repeat(np.sqrt(squares), np.diff(start))
        return sp.csr_array((values / length, position, start), shape)

    def widen(self, rows: sp.csr_array) -> sp.csr_array:
        """Rows (b, c) over the known columns as rows (b, d) over all of them."""
        columns = self.columns.take(rows.indices) if rows.nnz else rows.indices
        return sp.csr_array((rows.data, columns, rows.indptr), (rows.shape[0], self.n_columns))

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {"unit_column": self.columns, "unit_inverse": self._inverse_unit}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Build from the arrays of a model file, all of them checked."""
        size = size_of(tensors, "unit_column")
        columns = tensor(tensors, "unit_column", (size,), "int64")
        inverse_unit = tensor(tensors, "unit_inverse", (size,))
        is_ascending = (np.diff(columns) > 0).all()
        if size and not (is_ascending and columns[0] >= 0 and columns[-1] < n_columns):
            raise edited("the columns", f"they must be ascending numbers below {n_columns}")
        if not (inverse_unit > 0).all():
            raise edited("the columns", "their units must be positive")
        return cls(columns, inverse_unit, n_columns)


def _without_duplicates(rows: sp.csr_array) -> sp.csr_array:
    """The rows with each column stored once in a row; the caller's arrays are not touched."""
    if rows.has_canonical_format:
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    return rows
