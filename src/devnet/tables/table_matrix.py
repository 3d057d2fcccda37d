"""Encoded columns as one float32 matrix, dense or sparse."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from devnet.tables.columns.column import Entry

TILE = 2048  # rows


def fill_dense(out: np.ndarray, entries: Sequence[tuple[int, Entry]]) -> None:
    """Write entries into a matrix of zeros, each from its first column on."""
    for start, (column, value, row) in entries:
        if row is not None:
            out[row, start + column] = value
    by_row = [(start, entry) for start, entry in entries if entry.row is None]
    for first in range(0, len(out), TILE):  # a few rows stay in the processor's cache
        _fill_tile(out[first : first + TILE], by_row, slice(first, first + TILE))


def _fill_tile(out: np.ndarray, entries: Sequence[tuple[int, Entry]], tile: slice) -> None:
    every = np.arange(len(out))
    for start, (column, value, _) in entries:
        part = value if isinstance(value, float) else value[tile]
        if isinstance(column, int):
            out[:, start + column] = part
        else:
            out[every, start + column[tile]] = part


def to_sparse(entries: Sequence[tuple[int, Entry]], shape: tuple[int, int]) -> sp.csr_array:
    """A CSR matrix of the nonzero entries."""
    by_row = [(start, entry) for start, entry in entries if entry.row is None]
    matrix = _regular(by_row, shape)
    for start, (column, value, row) in entries:
        if row is not None:
            ends = np.searchsorted(row, np.arange(shape[0] + 1)).astype(np.int32)
            columns = (start + np.asarray(column)).astype(np.int32, copy=False)
            part = sp.csr_array((value, columns, ends), shape=shape)
            matrix = matrix + part if matrix.nnz else part
    return matrix


def _regular(entries: Sequence[tuple[int, Entry]], shape: tuple[int, int]) -> sp.csr_array:
    """A CSR matrix of entries with at most one value per row."""
    tiles = [slice(first, min(first + TILE, shape[0])) for first in range(0, shape[0], TILE)]
    parts = [_regular_tile(entries, tile) for tile in tiles]
    none = _regular_tile([], slice(0, 0))
    values, columns, counts = (np.concatenate(part) for part in zip(none, *parts, strict=True))
    ends = np.append(0, np.cumsum(counts)).astype(np.int32)
    return sp.csr_array((values, columns, ends), shape=shape)


def _regular_tile(
    entries: Sequence[tuple[int, Entry]], tile: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nonzero values, their columns, and the number in each row."""
    columns = np.empty((tile.stop - tile.start, len(entries)), dtype=np.int32)
    values = np.empty(columns.shape, dtype=np.float32)
    for i, (start, (column, value, _)) in enumerate(entries):
        columns[:, i] = start + (column if isinstance(column, int) else column[tile])
        values[:, i] = value if isinstance(value, float) else value[tile]
    is_there = values != 0
    return values[is_there], columns[is_there], np.count_nonzero(is_there, axis=1)


def is_smaller_sparse(matrix: sp.csr_array) -> bool:
    """Whether a CSR matrix, with four bytes of index per value, is smaller than a dense one."""
    n, n_columns = matrix.shape
    return bool(2 * matrix.nnz + n < n * n_columns)
