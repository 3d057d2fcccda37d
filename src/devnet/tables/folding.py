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
DENSE_VALUES = 4_000_000  # up to which rows are compared without sparse operations, which are slow


def fold(encoder: TableEncoder, matrix: Any, scores: np.ndarray) -> list[list[int]]:
    """Groups of positions of encoded rows (n, d), sorted by score, the highest first.

    A row joins the first group whose first row it is like: the values of nearly all table columns
    are the same, what differs does not decide the score, and no number or text is another one
    altogether, as the leeway of its column says.
    """
    groups: list[list[int]] = []
    starts = np.array([block.start for block in encoder.blocks()])
    if sp.issparse(matrix):
        matrix, starts = _used_columns(matrix, starts)
        if np.prod(matrix.shape, dtype=np.int64) <= DENSE_VALUES:
            matrix = matrix.toarray()
    is_small = len(starts) < FEW_COLUMNS
    most = 0 if is_small else max(1, len(starts) // DIFFERENT)
    tolerance = EQUAL if is_small else SAME
    leeway = np.array([column.leeway for column in encoder.columns]).T  # (2, c)
    for i in range(len(scores)):
        first = max(0, len(groups) - LOOK_BACK)
        leaders = np.array([group[0] for group in groups[first:]], dtype=np.int64)
        is_near = np.abs(scores[leaders] - scores[i]) <= CLOSE_SCORE * np.abs(scores[leaders])
        near = np.flatnonzero(is_near)
        apart, size = _distances(matrix, leaders[near], i, starts)
        is_other = apart > tolerance * size
        is_far = is_other & (apart > leeway[0] + leeway[1] * size)
        is_like = (is_other.sum(axis=1) <= most) & ~is_far.any(axis=1)
        if is_like.any():
            groups[first + int(near[is_like.argmax()])].append(i)
        else:
            groups.append([i])
    return groups


def _distances(
    matrix: Any, leaders: np.ndarray, row: int, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far each leader is from a row in each table column, and the larger of their sizes."""
    if not len(leaders):
        return np.zeros((0, len(starts))), np.zeros((0, len(starts)))
    there, here = matrix[leaders], matrix[[row]]
    if sp.issparse(matrix):
        here = sp.csr_array(np.ones((len(leaders), 1), matrix.dtype)) @ here
    distance, size, own = (_by_column(abs(part), starts) for part in (there - here, there, here))
    return distance, np.maximum(size, own)  # (k, c) both


def _used_columns(matrix: sp.csr_array, starts: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Without the millions of columns of n-grams that none of the rows has.

    The first matrix column of each table column stays, so that none is lost.
    """
    used = np.union1d(matrix.indices, starts)
    index = np.searchsorted(used, matrix.indices)
    narrow = sp.csr_array((matrix.data, index, matrix.indptr), (matrix.shape[0], len(used)))
    return narrow, np.searchsorted(used, starts)


def _by_column(matrix: Any, starts: np.ndarray) -> np.ndarray:
    """Sums over the matrix columns of each table column, (k, d) -> (k, c)."""
    if not sp.issparse(matrix):
        sums: np.ndarray = np.add.reduceat(matrix, starts, axis=1)
        return sums
    owner = np.repeat(np.arange(len(starts)), np.diff(starts, append=matrix.shape[1]))
    summed: np.ndarray = sum_groups(matrix, owner).toarray()
    return summed
