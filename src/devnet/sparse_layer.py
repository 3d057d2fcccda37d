"""A first layer for rows of millions of columns: only columns that occur cost anything.

The kernel has a row for each column that occurs in the training rows. A step gathers the kernel
rows of the columns in its batch, multiplies, and updates just these. A column outside the kernel
weighs nothing. Everything here stays in main memory, wherever the other layers compute.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from devnet.arrays import Array, namespace, to_numpy


class ColumnGradient(NamedTuple):
    """Gradient of the kernel rows that one member's batch touched."""

    touched: np.ndarray  # (t,) positions in the kernel, ascending
    weights: np.ndarray  # (t, h) the kernel rows there
    slope: np.ndarray  # (t, h) their gradient


class _Local(NamedTuple):
    """One member's batch over the touched columns alone."""

    rows: sp.csr_array  # (b, t)
    touched: np.ndarray  # (t,) positions in the kernel, ascending
    weights: np.ndarray  # (t, h) the kernel rows there


class SparseKernel:
    """Kernel rows of the known columns of m members.

    Parameters
    ----------
    columns : (c,) int64 array, ascending
        Which of the `n_columns` columns have a kernel row.
    kernel : (m, c, h) array
        Zero for a column that no batch has touched.
    n_columns : int
        Width d of the rows.
    is_penalised : bool
        Whether the L2 penalty falls on this kernel; not so for an output unit.
    """

    def __init__(
        self, columns: np.ndarray, kernel: np.ndarray, n_columns: int, *, is_penalised: bool = True
    ) -> None:
        self.columns = columns
        self.kernel = kernel
        self.n_columns = n_columns
        self.is_penalised = is_penalised
        self._unborn: list[_Unborn] = []
        self._position = np.full(n_columns, -1, dtype=np.int32)
        self._position[columns] = np.arange(len(columns), dtype=np.int32)
        self._is_touched = np.zeros(len(columns), dtype=bool)  # scratch
        self._place = np.zeros(len(columns), dtype=np.int32)  # scratch

    @classmethod
    def empty(cls, m: int, n_columns: int, h: int, *, is_penalised: bool) -> "SparseKernel":
        """A kernel that knows no column yet."""
        no_columns = np.zeros(0, dtype=np.int64)
        kernel = np.zeros((m, 0, h), dtype=np.float32)
        return cls(no_columns, kernel, n_columns, is_penalised=is_penalised)

    def start_training(
        self, columns: np.ndarray, generators: Sequence[np.random.Generator]
    ) -> "SparseKernel":
        """Copy with room for further columns, whose weights are drawn when first touched."""
        known = np.union1d(self.columns, columns)
        is_new = np.isin(known, self.columns, assume_unique=True, invert=True)
        m, _, h = self.kernel.shape
        kernel = np.zeros((m, len(known), h), dtype=np.float32)
        kernel[:, ~is_new] = self.kernel
        started = SparseKernel(known, kernel, self.n_columns, is_penalised=self.is_penalised)
        limit = float(np.sqrt(6 / (self.n_columns + h)))
        started._unborn = [_Unborn(is_new.copy(), limit, generator) for generator in generators]
        return started

    def end_training(self) -> None:
        """From here on an untouched column keeps its weight of zero."""
        self._unborn = []

    def forward(self, rows: list[sp.csr_array], *, like: Array) -> tuple[Array, list[_Local]]:
        """Products (m, b, h) of the type and at the place of `like`, and what `backward` needs.

        A single matrix serves all members.
        """
        compact = [self._compact(member) for member in rows]
        if len(compact) == 1:
            compact *= len(self.kernel)
        for unborn, (_, touched), kernel in zip(self._unborn, compact, self.kernel, strict=False):
            unborn.draw(touched, kernel)
        local = [
            _Local(part, touched, kernel.take(touched, axis=0))
            for (part, touched), kernel in zip(compact, self.kernel, strict=True)
        ]
        products = np.stack([part.rows @ part.weights for part in local])
        if isinstance(like, np.ndarray):
            return products.astype(like.dtype, copy=False), local
        return namespace(like).from_numpy(products).to(like), local

    def backward(self, local: list[_Local], slope: Array) -> list[ColumnGradient]:
        """Gradient of sum(slope * products), slope (m, b, h), by the touched kernel rows."""
        return [
            ColumnGradient(part.touched, part.weights, part.rows.T @ member)
            for part, member in zip(local, to_numpy(slope), strict=True)
        ]

    def _compact(self, rows: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
        """The rows over the touched columns alone (b, t), and the positions of these (t,)."""
        if not len(self.columns):
            return sp.csr_array((rows.shape[0], 0), dtype=np.float32), self.columns
        position = self._position.take(rows.indices)
        values = rows.data
        if position.size and position.min() < 0:  # columns that the kernel does not know
            values = np.where(position < 0, np.float32(0), values)
            position = np.maximum(position, 0)
        # As numpy.unique with its inverse, without sorting.
        self._is_touched[position] = True
        touched = np.flatnonzero(self._is_touched)
        self._is_touched[touched] = False
        self._place[touched] = np.arange(len(touched), dtype=np.int32)
        place = self._place.take(position)
        return sp.csr_array((values, place, rows.indptr), (rows.shape[0], len(touched))), touched


class _Unborn:
    """Columns of one member whose weights are still to be drawn."""

    def __init__(self, mask: np.ndarray, limit: float, generator: np.random.Generator) -> None:
        self._mask = mask  # (c,) bool
        self._limit = limit  # Glorot
        self._generator = generator

    def draw(self, touched: np.ndarray, kernel: np.ndarray) -> None:
        new = touched[self._mask.take(touched)]
        if len(new):
            draws = self._generator.random((len(new), kernel.shape[1]), dtype=np.float32)
            kernel[new] = self._limit * (2 * draws - 1)
            self._mask[new] = False
