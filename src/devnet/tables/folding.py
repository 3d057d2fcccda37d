"""Alerts that are nearly the same row, folded into one."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.explanation import sum_groups
from devnet.tables.encoder import TableEncoder

SAME = 0.01  # relative difference up to which two values of a column are the same, or
EQUAL = 1e-6  # in tables of few columns
CLOSE_SCORE = 0.5  # relative difference up to which scores of nearly the same rows are expected
DIFFERENT = 10  # one in this many columns may differ, and
FEW_COLUMNS = 5  # at least one, unless there are fewer columns than this
LOOK_BACK = 100  # alerts before it that one is compared with


def fold(encoder: TableEncoder, matrix: Any, scores: np.ndarray) -> list[list[int]]:
    """Groups of positions of encoded rows (n, d), sorted by score, the highest first.

    A row joins the first group whose first row it is like: the values of nearly all table columns
    are the same, and what differs does not decide the score.
    """
    groups: list[list[int]] = []
    starts = np.array([block.start for block in encoder.blocks()])
    if sp.issparse(matrix):
        matrix, starts = _used_columns(matrix, starts)
    is_small = len(starts) < FEW_COLUMNS
    most = 0 if is_small else max(1, len(starts) // DIFFERENT)
    tolerance = EQUAL if is_small else SAME
    for i in range(len(scores)):
        first = max(0, len(groups) - LOOK_BACK)
        leaders = np.array([group[0] for group in groups[first:]], dtype=np.int64)
        is_near = np.abs(scores[leaders] - scores[i]) <= CLOSE_SCORE * np.abs(scores[leaders])
        near = np.flatnonzero(is_near)
        is_like = _differences(matrix, leaders[near], i, starts, tolerance) <= most
        if is_like.any():
            groups[first + int(near[is_like.argmax()])].append(i)
        else:
            groups.append([i])
    return groups


def _differences(
    matrix: Any, leaders: np.ndarray, row: int, starts: np.ndarray, tolerance: float
) -> np.ndarray:
    """In how many table columns each leader differs from a row, (k,)."""
    if not len(leaders):
        return np.zeros(0, dtype=np.int64)
    there, here = matrix[leaders], matrix[[row]]
    if sp.issparse(matrix):
        here = sp.csr_array(np.ones((len(leaders), 1), matrix.dtype)) @ here
    distance, size, own = (_by_column(abs(part), starts) for part in (there - here, there, here))
    count: np.ndarray = (distance > tolerance * np.maximum(size, own)).sum(axis=1)
    return count


def _used_columns(matrix: sp.csr_array, starts: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Without the millions of columns of n-grams that none of the rows has."""
    used, index = np.unique(matrix.indices, return_inverse=True)
    shape = (matrix.shape[0], max(1, len(used)))
    narrow = sp.csr_array((matrix.data, index, matrix.indptr), shape=shape)
    return narrow, np.searchsorted(used, starts)


def _by_column(matrix: Any, starts: np.ndarray) -> np.ndarray:
    """Sums over the matrix columns of each table column, (k, d) -> (k, c)."""
    if not sp.issparse(matrix):
        sums: np.ndarray = np.add.reduceat(matrix, starts, axis=1)
        return sums
    owner = np.repeat(np.arange(len(starts)), np.diff(starts, append=matrix.shape[1]))
    summed: np.ndarray = sum_groups(matrix, owner).toarray()
    return summed
