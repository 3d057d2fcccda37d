"""A first layer for rows with millions of columns: only columns that occur cost anything.

The kernel has a row for each column that occurs in the training rows. A step gathers the kernel
rows of the columns in its batch, multiplies, and updates only these. A column outside the kernel
has weight zero.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from devnet.core.known_columns import KnownColumns
from devnet.core.model_file import ModelFileError, ascends, size_of, tensor
from devnet.core.rows import has_finite_sum

SPARSE_TENSORS = ("first_kernel", "columns")  # of a model file
LARGEST_WEIGHT = 1e12  # of a network in a model file; far beyond any that training finds


class ColumnGradient(NamedTuple):
    """Gradient of the kernel rows that one member's batch touched."""

    touched: np.ndarray  # (t,) positions in the kernel, ascending
    weights: np.ndarray  # (t, h) these kernel rows
    slope: np.ndarray  # (t, h) their gradient


class _Local(NamedTuple):
    """One member's batch, restricted to the touched columns."""

    rows: sp.csr_array  # (b, t)
    touched: np.ndarray  # (t,) positions in the kernel, ascending
    weights: np.ndarray  # (t, h) these kernel rows


class SparseKernel:
    """Kernel rows of the known columns of m members.

    Parameters
    ----------
    columns : (c,) int64 array, ascending
        The columns, out of `n_columns`, that have a kernel row.
    kernel : (m, c, h) array
        Zero for a column that no batch has touched.
    n_columns : int
        Width d of the rows.
    is_penalised : bool
        Whether the L2 penalty applies to this kernel; not if it is the output unit.
    """

    def __init__(
        self, columns: np.ndarray, kernel: np.ndarray, n_columns: int, *, is_penalised: bool = True
    ) -> None:
        self.columns = columns
        self.kernel = kernel
        self.n_columns = n_columns
        self.is_penalised = is_penalised
        self._undrawn: list[_Undrawn] = []
        self._compactor: _Compactor | None = None  # only in training

    @classmethod
    def empty(cls, m: int, n_columns: int, h: int, *, is_penalised: bool) -> "SparseKernel":
        """A kernel without any column yet."""
        no_columns = np.zeros(0, dtype=np.int64)
        kernel = np.zeros((m, 0, h), dtype=np.float32)
        return cls(no_columns, kernel, n_columns, is_penalised=is_penalised)

    @classmethod
    def from_tensors(
        cls, tensors: dict[str, np.ndarray], m: int, n_columns: int, h: int, *, is_penalised: bool
    ) -> "SparseKernel":
        """Build the kernel of a model file, every shape checked."""
        n_known = size_of(tensors, "columns")
        columns = tensor(tensors, "columns", (n_known,), "int64")
        kernel = tensor(tensors, "first_kernel", (m, n_known, h), largest=LARGEST_WEIGHT)
        if n_known and not (ascends(columns) and columns[0] >= 0 and columns[-1] < n_columns):
            raise ModelFileError(
                "the columns of the model file's first kernel must ascend from 0 to "
                f"{n_columns - 1}; the file was edited or damaged."
            )
        return cls(columns, kernel, n_columns, is_penalised=is_penalised)

    def to_tensors(self) -> dict[str, np.ndarray]:
        """The kernel rows that are not zero, as the named arrays of a model file."""
        weighs = self.kernel.any((0, 2))
        return {"first_kernel": self.kernel[:, weighs], "columns": self.columns[weighs]}

    def start_training(
        self, columns: np.ndarray, generators: Sequence[np.random.Generator]
    ) -> "SparseKernel":
        """Copy with rows for further columns, whose weights are drawn when first touched."""
        known = np.union1d(self.columns, columns)
        is_new = np.isin(known, self.columns, assume_unique=True, invert=True)
        m, _, h = self.kernel.shape
        kernel = np.zeros((m, len(known), h), dtype=np.float32)
        kernel[:, ~is_new] = self.kernel
        started = SparseKernel(known, kernel, self.n_columns, is_penalised=self.is_penalised)
        limit = float(np.sqrt(6 / (self.n_columns + h)))
        started._compactor = _Compactor(len(known))
        started._undrawn = [_Undrawn(is_new.copy(), limit, generator) for generator in generators]
        return started

    def expected_square(self) -> float:
        """Expected sum of squares of a newly drawn kernel row."""
        h = int(self.kernel.shape[2])
        return 2 * h / (self.n_columns + h)

    def end_training(self) -> None:
        """Prepare for scoring: columns never touched keep their weight of zero."""
        self._compactor = None
        self._undrawn = []

    def forward(self, rows: list[sp.csr_array]) -> tuple[np.ndarray, list[_Local]]:
        """Products (m, b, h), and what `backward` needs.

        A single matrix serves all members. Outside training nothing is left for `backward` and
        nothing is written, so many threads may call this at once.
        """
        known = [self._known(member) for member in rows]
        if len(known) == 1:
            known *= len(self.kernel)
        if self._compactor is None:
            return self._finite_products(known), []
        local = self._localise(known, self._compactor)
        return np.stack([part.rows @ part.weights for part in local]), local

    def _finite_products(self, known: list[sp.csr_array]) -> np.ndarray:
        """Products in single precision; of rows that exceed it, in double precision."""
        pairs = list(zip(known, self.kernel, strict=True))
        products = np.stack([part @ kernel for part, kernel in pairs])
        if has_finite_sum(products):
            return products
        exceed = np.flatnonzero(~np.isfinite(products).all((0, 2)))
        products = products.astype(np.float64)
        wide = [part[exceed].astype(np.float64) @ kernel for part, kernel in pairs]
        products[:, exceed] = np.stack(wide)
        return products

    def backward(self, local: list[_Local], slope: np.ndarray) -> list[ColumnGradient]:
        """Gradient of sum(slope * products), slope (m, b, h), for the touched kernel rows."""
        return [
            ColumnGradient(part.touched, part.weights, part.rows.T @ member)
            for part, member in zip(local, slope, strict=True)
        ]

    @cached_property
    def _known_columns(self) -> KnownColumns:
        return KnownColumns(self.columns, self.n_columns)

    def _known(self, rows: sp.csr_array) -> sp.csr_array:
        """The rows restricted to the known columns, (b, c)."""
        shape = (rows.shape[0], len(self.columns))
        if not len(self.columns):
            return sp.csr_array(shape, dtype=np.float32)
        position = self._known_columns.positions(rows.indices)
        values = rows.data
        if position.size and position.min() < 0:
            values = np.where(position < 0, np.float32(0), values)
            position = np.maximum(position, 0)
        return sp.csr_array((values, position, rows.indptr), shape)

    def _localise(self, known: list[sp.csr_array], compactor: "_Compactor") -> list[_Local]:
        local = []
        for member, (rows, kernel) in enumerate(zip(known, self.kernel, strict=True)):
            compact, touched = compactor.compact(rows)
            if self._undrawn:
                self._undrawn[member].draw(touched, kernel)
            local.append(_Local(compact, touched, kernel.take(touched, axis=0)))
        return local


class _Compactor:
    """Drops the columns that have no value in a batch."""

    def __init__(self, n_columns: int) -> None:
        self._is_touched = np.zeros(n_columns, dtype=bool)
        self._position = np.zeros(n_columns, dtype=np.int32)

    def compact(self, rows: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
        """The rows restricted to the touched columns (b, t), and these columns (t,), ascending.

        Like `numpy.unique` with its inverse, without sorting.
        """
        self._is_touched[rows.indices] = True
        touched = np.flatnonzero(self._is_touched)
        self._is_touched[touched] = False
        self._position[touched] = np.arange(len(touched), dtype=np.int32)
        position = self._position.take(rows.indices) if len(touched) else rows.indices
        shape = (rows.shape[0], len(touched))
        return sp.csr_array((rows.data, position, rows.indptr), shape), touched


class _Undrawn:
    """Columns of one member whose weights are yet to be drawn."""

    def __init__(self, mask: np.ndarray, limit: float, generator: np.random.Generator) -> None:
        self._mask = mask  # (c,) bool
        self._limit = limit  # Glorot
        self._generator = generator

    def draw(self, touched: np.ndarray, kernel: np.ndarray) -> None:
        new = touched[self._mask.take(touched)]
        if len(new):
            draws = self._generator.random((len(new), kernel.shape[1]), dtype=np.float32)
            draws *= 2  # in place: with a thousand units a batch has a hundred million weights
            draws -= 1
            draws *= self._limit
            kernel[new] = draws
            self._mask[new] = False
