"""From a caller's matrix to float32 rows: gathering, tiling, checks for finite values.

Nothing here copies the whole matrix: rows become float32 when they are drawn.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from devnet.core.cores import n_cores

WIDE = 4096  # from this many columns on, sparse rows are never made dense, not even in batches
CHECKED_VALUES = 1 << 18  # values per step of a check for finite values
SPAN_ROWS = 1 << 15  # rows that are worth their own thread
SPARSE = 0.2  # share of stored values below which CSR products are faster than dense ones
BLOCK_VALUES = 1 << 24  # values in a block of rows that are explained together
TILE_VALUES = 1 << 18  # values in a tile of rows that are scored together
MADE_VALUES = 1 << 24  # values that a scorer may make of a tile, such as those of all hidden units


class DenseRows:
    """Rows of a NumPy array of any layout and numeric type."""

    is_sparse = False

    def __init__(self, X: np.ndarray, names: np.ndarray | None = None) -> None:
        self.shape: tuple[int, int] = X.shape
        self._names = names
        self._array = X

    def dense(self, selection: slice | np.ndarray) -> np.ndarray:
        """Rows (b, d) as float32; a slice of a float32 matrix is not copied."""
        if isinstance(selection, slice):
            rows = self._array[selection]
        else:
            rows = self._array.take(selection, axis=0)
        if rows.dtype == np.float32:
            return rows
        with np.errstate(
            over="ignore"
        ):  # a value beyond float32 becomes infinite: see check_finite
            return rows.astype(np.float32)

    def sparse(self, selection: slice | np.ndarray) -> sp.csr_array:
        """Rows (b, d) as float32 CSR."""
        return sp.csr_array(self.dense(selection))

    def select(self, selection: np.ndarray) -> "DenseRows":
        """A copy of these rows."""
        return DenseRows(self._array.take(selection, axis=0), self._names)

    def columns(self) -> np.ndarray:
        """Columns that may have values other than zero, ascending."""
        return np.arange(self.shape[1])

    def check_finite(self, rows: slice = slice(None)) -> None:
        """Refuse a missing or infinite value or one beyond float32, and say where it is."""
        if self._array.dtype.kind != "f":
            return
        start, stop, _ = rows.indices(self.shape[0])
        step = max(1, CHECKED_VALUES // self.shape[1])
        for first in range(start, stop, step):
            values = self.dense(slice(first, min(first + step, stop)))
            if has_finite_sum(values):
                continue
            bad = np.argwhere(~np.isfinite(values))
            if len(bad):
                row, column = bad[0]
                value = self._array[first + row, column]
                raise ValueError(_not_finite(value, first + row, column, self._names))


class SparseRows:
    """Rows of a CSR matrix."""

    is_sparse = True

    def __init__(self, X: Any, names: np.ndarray | None = None) -> None:
        self.shape: tuple[int, int] = X.shape
        self._names = names
        self._csr = X

    def dense(self, selection: slice | np.ndarray) -> np.ndarray:
        """Rows (b, d) as float32."""
        rows: np.ndarray = self.sparse(selection).toarray()
        return rows

    def sparse(self, selection: slice | np.ndarray) -> sp.csr_array:
        """Rows (b, d) as float32 CSR."""
        rows = self._csr[selection]
        with np.errstate(over="ignore"):
            data = rows.data.astype(np.float32, copy=False)
        return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)

    def select(self, selection: np.ndarray) -> "SparseRows":
        """A copy of these rows."""
        return SparseRows(self._csr[selection], self._names)

    @property
    def density(self) -> float:
        """Share of stored values."""
        return float(self._csr.nnz / max(1, self.shape[0] * self.shape[1]))

    def columns(self) -> np.ndarray:
        """Columns with at least one stored value, ascending."""
        stored = np.zeros(self.shape[1], dtype=bool)
        stored[self._csr.indices] = True
        return np.flatnonzero(stored)

    def check_finite(self, rows: slice = slice(None)) -> None:
        """Refuse a missing or infinite value or one beyond float32, and say where it is."""
        start, stop, _ = rows.indices(self.shape[0])
        first, last = self._csr.indptr[start], self._csr.indptr[stop]
        with np.errstate(over="ignore"):
            values = self._csr.data[first:last].astype(np.float32, copy=False)
        if has_finite_sum(values):
            return
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            position = first + bad[0]
            row = int(np.searchsorted(self._csr.indptr, position, side="right")) - 1
            column = self._csr.indices[position]
            raise ValueError(_not_finite(self._csr.data[position], row, column, self._names))


Rows = DenseRows | SparseRows


class Tileable(Protocol):
    """Rows that can be made dense part by part."""

    shape: tuple[int, int]

    def dense(self, selection: slice | np.ndarray) -> np.ndarray:
        """Rows (b, d) as float32."""

    def check_finite(self, rows: slice = slice(None)) -> None:
        """Refuse a value that is not finite."""


def as_rows(X: Any, names: np.ndarray | None = None) -> Rows:
    """Wrap a validated matrix; the `names` of columns appear in errors."""
    return SparseRows(X, names) if sp.issparse(X) else DenseRows(X, names)


def dense_tiles(
    rows: Tileable, span: slice, dtype: type = np.float64, made: int = 1
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the rows of a span in order, in tiles; refuse a value that is not finite.

    A tile is lower if the scorer makes very many values of a row, `made`, so that its memory is
    bounded however many units or members a model file has.

    How a matrix product rounds a row depends on its position among other rows. In double precision
    that stays far below the single precision of the scores, so a row has the same score alone, in
    any batch and in any order. A tile is overwritten by the next one.
    """
    n_columns = rows.shape[1]
    height = min(_tile_height(n_columns, made), max(1, span.stop - span.start))
    tile: np.ndarray = np.empty((height, n_columns), dtype)
    for start in range(span.start, span.stop, len(tile)):
        selection = slice(start, min(start + len(tile), span.stop))
        part = tile[: selection.stop - start]
        part[:] = rows.dense(selection)
        if not has_finite_sum(part):
            rows.check_finite(selection)
        yield selection, part


def sparse_tiles(rows: Rows, span: slice, made: int = 1) -> Iterator[tuple[slice, sp.csr_array]]:
    """Yield the rows of a span in order, in CSR tiles; refuse a value that is not finite."""
    height = _tile_height(1, made)
    for start in range(span.start, span.stop, height):
        selection = slice(start, min(start + height, span.stop))
        rows.check_finite(selection)
        yield selection, rows.sparse(selection)


def is_mostly_zero(rows: Rows) -> bool:
    """Whether products are faster with CSR rows than with dense ones."""
    return isinstance(rows, SparseRows) and rows.density < SPARSE


def spans(n_rows: int, n_spans: int, at_least: int = SPAN_ROWS) -> list[slice]:
    """Cut rows into this many spans, or fewer if they would be short."""
    n_spans = max(1, min(n_spans, n_rows // at_least))
    edges = np.linspace(0, n_rows, n_spans + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def in_threads(n_rows: int, do: Callable[[slice], None], at_least: int = SPAN_ROWS) -> None:
    """Process all rows in threads, each with a span of `at_least` this many rows."""
    if n_rows < 2 * at_least:
        do(slice(0, n_rows))
        return
    cut = spans(n_rows, n_cores(), at_least)
    if len(cut) == 1:
        do(cut[0])
        return
    with ThreadPoolExecutor(len(cut)) as pool:
        list(pool.map(do, cut))


def blockwise(rows: Rows, make: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Apply `make` to dense float32 rows, block by block, and join the results."""
    n, d = rows.shape
    step = max(1, BLOCK_VALUES // d)
    blocks = [slice(start, start + step) for start in range(0, n, step)]
    return np.concatenate([make(rows.dense(block)) for block in blocks])


def has_finite_sum(values: np.ndarray) -> bool:
    """Whether the sum of squares is finite, a quick proof that every value is finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        flat = values.ravel()
        return bool(np.isfinite(flat @ flat))


def to_single(values: np.ndarray) -> np.ndarray:
    """Values as float32; finite ones beyond its range become the largest that it has."""
    with np.errstate(over="ignore"):
        single: np.ndarray = values.astype(np.float32)
    if not has_finite_sum(single):
        is_beyond = np.isinf(single) & np.isfinite(values)
        single[is_beyond] = np.copysign(np.finfo(np.float32).max, single[is_beyond])
    return single


def _tile_height(n_columns: int, made: int) -> int:
    return min(max(16, min(4096, TILE_VALUES // n_columns)), max(1, MADE_VALUES // made))


def _not_finite(value: Any, row: int, column: int, names: np.ndarray | None) -> str:
    name = f"column {column}" if names is None else f"column {column} ({str(names[column])!r})"
    if np.isnan(value):
        return (
            f"Input X contains NaN: row {row}, {name}. Fill missing values first, for example "
            "with sklearn.impute.SimpleImputer()."
        )
    return (
        f"Input X contains infinity or a value too large for float32: {value} at row {row}, "
        f"{name}. Clip or rescale this column first."
    )
