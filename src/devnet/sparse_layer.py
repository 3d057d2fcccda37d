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

    touched: np.ndarray  # (t,) positions in the kernel
    kernel: np.ndarray  # (t, h)


class _Local(NamedTuple):
    """One member's batch over the touched columns alone."""

    touched: np.ndarray  # (t,) positions in the kernel
    rows: sp.csr_array  # (b, t)


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
        self._mark = np.zeros(len(columns), dtype=np.int32)

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
        limit = np.sqrt(6 / (self.n_columns + h))
        started._unborn = [_Unborn(is_new.copy(), limit, generator) for generator in generators]
        return started

    def end_training(self) -> None:
        """From here on an untouched column keeps its weight of zero."""
        self._unborn = []

    def forward(self, rows: list[sp.csr_array], *, like: Array) -> tuple[Array, list[_Local]]:
        """Products (m, b, h) beside `like`, and what `backward` needs.

        A single matrix serves all members.
        """
        local = [self._localise(member) for member in rows]
        if len(local) == 1:
            local *= len(self.kernel)
        for unborn, part, kernel in zip(self._unborn, local, self.kernel, strict=False):
            unborn.draw(part.touched, kernel)
        products = np.stack(
            [part.rows @ k[part.touched] for part, k in zip(local, self.kernel, strict=True)]
        )
        if isinstance(like, np.ndarray):
            return products, local
        return namespace(like).from_numpy(products).to(like.device), local

    def backward(self, local: list[_Local], slope: Array) -> list[ColumnGradient]:
        """Gradient of sum(slope * products), slope (m, b, h), by the touched kernel rows."""
        return [
            ColumnGradient(part.touched, part.rows.T @ member)
            for part, member in zip(local, to_numpy(slope), strict=True)
        ]

    def _localise(self, rows: sp.csr_array) -> _Local:
        position = self._position[rows.indices]
        values = rows.data
        unknown = position < 0
        if unknown.any():
            values = np.where(unknown, np.float32(0), values)
            position[unknown] = 0
        if not len(self.columns):
            return _Local(np.zeros(0, dtype=np.int32), sp.csr_array((rows.shape[0], 0)))
        touched, place = self._distinct(position)
        local = sp.csr_array((values, place, rows.indptr), shape=(rows.shape[0], len(touched)))
        return _Local(touched, local)

    def _distinct(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distinct positions, and where each of the given ones is among them.

        As `numpy.unique` with its inverse, in linear time: every value leaves its number at its
        position, the last one stays, and those that find their own number there are the distinct
        ones.
        """
        numbers = np.arange(len(position), dtype=np.int32)
        self._mark[position] = numbers
        touched = position[self._mark[position] == numbers]
        self._mark[touched] = numbers[: len(touched)]
        return touched, self._mark[position]


class _Unborn:
    """Columns of one member whose weights are still to be drawn."""

    def __init__(self, mask: np.ndarray, limit: float, generator: np.random.Generator) -> None:
        self._mask = mask  # (c,) bool
        self._limit = limit  # Glorot
        self._generator = generator

    def draw(self, touched: np.ndarray, kernel: np.ndarray) -> None:
        new = touched[self._mask[touched]]
        if len(new):
            shape = (len(new), kernel.shape[1])
            kernel[new] = self._generator.uniform(-self._limit, self._limit, shape)
            self._mask[new] = False
