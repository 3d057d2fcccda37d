"""What each column adds to any score: Shapley values sampled by walks from a baseline to a row.

A walk starts at the baseline and sets one group of columns after another to the row's values, in
random order. The change of the score at each step is credited to its group, so the credits of a
walk add up to the score of the row minus that of the baseline, and so does their mean over walks.
Every order is also walked in reverse, which balances early and late groups. All rows share the same
orders, so a row's credits do not depend on other rows.

E. Strumbelj, I. Kononenko. Explaining prediction models and individual predictions with feature
contributions. Knowledge and Information Systems 41, 2014.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.core.seeds import as_generator

N_ORDERS = 4  # each walked in both directions
BLOCK_VALUES = 1 << 22  # of rows along the walks, scored together

Score = Callable[[Any], np.ndarray]


def dense_walks(
    score: Score,
    rows: np.ndarray,
    baseline: np.ndarray,
    groups: np.ndarray,
    n_groups: int,
    *,
    random_state: Any = 0,
) -> np.ndarray:
    """Mean credits (b, n_groups) for rows (b, d), given the group of each column (d,)."""
    members = sp.csr_array((np.ones(len(groups)), (np.arange(len(groups)), groups)))
    members.resize((len(groups), n_groups))
    differs = ((rows != baseline) @ members) > 0  # (b, n_groups): steps that change the row
    first_score = score(baseline[None])[0]
    credit = np.zeros((len(rows), n_groups))
    for order in _orders(n_groups, random_state):
        step_of_column = np.argsort(order)[groups]
        row, step = np.nonzero(differs[:, order])

        def rows_of_steps(
            steps: slice,
            row: np.ndarray = row,
            step: np.ndarray = step,
            step_of_column: np.ndarray = step_of_column,
        ) -> np.ndarray:
            is_taken = step_of_column <= step[steps, None]
            return np.where(is_taken, rows[row[steps]], baseline)

        height = max(1, BLOCK_VALUES // len(groups))
        edges = np.append(np.arange(0, len(row), height), len(row))
        scores = _score_blocks(score, rows_of_steps, edges)
        credit[row, order[step]] += _rises(scores, row, first_score)
    return credit / (2 * N_ORDERS)


def sparse_walks(
    score: Score, rows: sp.csr_array, groups: np.ndarray, n_groups: int, *, random_state: Any = 0
) -> sp.csr_array:
    """Mean credits (b, n_groups) for CSR rows (b, d), starting from the empty row."""
    rows = sp.csr_array(rows)
    group = groups[rows.indices]
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    first_score = score(sp.csr_array((1, rows.shape[1]), dtype=rows.dtype))[0]
    credit = sp.csr_array((rows.shape[0], n_groups))
    for order in _orders(n_groups, random_state):
        sorting = np.lexsort((np.argsort(order)[group], row))  # values in step order
        values, columns, group_of = rows.data[sorting], rows.indices[sorting], group[sorting]
        is_last = np.ones(len(row), dtype=bool)  # value of its step
        is_last[:-1] = (np.diff(group_of) != 0) | (np.diff(row) != 0)
        last = np.flatnonzero(is_last)
        start = rows.indptr[row[last]]
        length = last + 1 - start  # values of the row after each step

        def rows_of_steps(
            steps: slice,
            values: np.ndarray = values,
            columns: np.ndarray = columns,
            start: np.ndarray = start,
            length: np.ndarray = length,
        ) -> sp.csr_array:
            ends = np.append(0, np.cumsum(length[steps]))
            chosen = np.arange(ends[-1]) + np.repeat(start[steps] - ends[:-1], length[steps])
            parts = (values[chosen], columns[chosen], ends)
            made = sp.csr_array(parts, shape=(len(ends) - 1, rows.shape[1]))
            made.sort_indices()
            return made

        block = np.cumsum(length) // BLOCK_VALUES
        edges = np.r_[0, np.flatnonzero(np.diff(block)) + 1, len(last)]
        scores = _score_blocks(score, rows_of_steps, edges)
        rises = _rises(scores, row[last], first_score)
        credit += sp.csr_array((rises, (row[last], group_of[last])), shape=credit.shape)
    return credit / (2 * N_ORDERS)


def _orders(n_groups: int, random_state: Any) -> Iterator[np.ndarray]:
    generator = as_generator(random_state)
    for _ in range(N_ORDERS):
        order = generator.permutation(n_groups)
        yield order
        yield order[::-1]


def _score_blocks(
    score: Score, rows_of_steps: Callable[[slice], Any], edges: np.ndarray
) -> np.ndarray:
    """Scores of the rows of all steps, made block by block."""
    blocks = [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if a < b]
    return np.concatenate([np.empty(0), *(score(rows_of_steps(block)) for block in blocks)])


def _rises(scores: np.ndarray, row: np.ndarray, first_score: float) -> np.ndarray:
    """How much each score exceeds that of the step before, or of the baseline."""
    before = np.append(first_score, scores[:-1])
    before[1:][np.diff(row) != 0] = first_score
    rises: np.ndarray = scores - before[: len(scores)]
    return rises
