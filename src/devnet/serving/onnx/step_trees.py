"""Step functions as balanced trees: encoded columns, and p-values of scores.

A tree finds the step of a value in as many comparisons as its number of steps has digits, and its
leaves are exactly the values of the steps.
"""

import numpy as np

from devnet.detectors.ensemble.rank_normal import RESOLUTION, RankNormal
from devnet.engine.forest import NO_CHILD, Tree
from devnet.significance.ranks import ConformalRanks

BITS = 32  # of a float32, which bisection decides one by one
_SIGN = np.int64(1) << 31


def step_tree(thresholds: np.ndarray, values: np.ndarray, column: int = 0) -> Tree:
    """A tree of minimal depth for steps: the first value up to the first threshold, and so on.

    Parameters
    ----------
    thresholds : array of shape (n,)
        Ascending.
    values : array of shape (n + 1,)
        Of the steps between them.
    column : int
        That is compared.
    """
    nodes: list[list[float]] = []  # left, right, threshold, value
    spans = [(0, len(thresholds), -1, 0)]  # first and last step, parent, and its side
    while spans:
        first, last, parent, side = spans.pop()
        if parent >= 0:
            nodes[parent][side] = len(nodes)
        middle = (first + last) // 2
        if first == last:
            nodes.append([NO_CHILD, NO_CHILD, 0.0, float(values[first])])
            continue
        spans += [(middle + 1, last, len(nodes), 1), (first, middle, len(nodes), 0)]
        nodes.append([0, 0, float(thresholds[middle]), 0.0])
    left, right, threshold, value = np.array(nodes).T
    columns = np.full(len(left), column, dtype=np.int32)
    return Tree(left.astype(np.int32), right.astype(np.int32), columns, threshold, value)


def rank_tree(ranks: ConformalRanks) -> Tree:
    """P-values of scores."""
    thresholds, first = np.unique(ranks.scores, return_index=True)
    above = np.append(first[1:], len(ranks.scores))  # rank of a score between two of them
    p_values = ranks.p_value_of_rank[np.append(0, above)]
    is_step = np.flatnonzero(np.diff(p_values) != 0)
    return step_tree(thresholds[is_step], p_values[np.append(is_step, len(p_values) - 1)])


def encoding_trees(encoding: RankNormal) -> list[Tree]:
    """The normal scores of each column, which are rounded, so that they rise in steps."""
    thresholds, values = _breaks(encoding)
    trees = []
    for column, (ends, steps) in enumerate(zip(thresholds.T, values.T, strict=True)):
        is_step = np.flatnonzero(np.diff(steps) != 0)
        kept = np.append(is_step, len(steps) - 1)
        below = np.nextafter(ends[is_step + 1], np.float32(-np.inf))
        trees.append(step_tree(below, steps[kept], column))
    return trees


def _breaks(encoding: RankNormal) -> tuple[np.ndarray, np.ndarray]:
    """Where the score of a column may change, ascending, and the scores there, (k, d) each.

    The first is the lowest knot, below which the score stays as it is.
    """
    knots, _ = encoding.padded()  # (k, d)
    last = np.maximum(knots[:-1], np.nextafter(knots[1:], np.float32(-np.inf)))
    at_knot, at_last = (_level(encoding, part) for part in (knots[:-1], last))
    rises = at_last - at_knot  # levels that begin between two knots, (k - 1, d)
    n_levels = rises.sum(axis=0)
    segment = [np.repeat(np.arange(len(rises)), column) for column in rises.T]
    before = [np.cumsum(column) - column for column in rises.T]
    size = int(n_levels.max(initial=0))
    shape = (size, knots.shape[1])
    low, high = np.tile(_ordered(knots[:1]), (size, 1)), np.tile(_ordered(knots[:1]), (size, 1))
    level = np.full(shape, np.iinfo(np.int64).min)
    for column, (found, earlier) in enumerate(zip(segment, before, strict=True)):
        rows = slice(len(found))
        low[rows, column] = _ordered(knots[found, column])
        high[rows, column] = _ordered(last[found, column])
        level[rows, column] = at_knot[found, column] + 1 + np.arange(len(found)) - earlier[found]
    starts = np.concatenate([_ordered(knots), _first_at(encoding, level, low, high)])
    ends = _float(np.sort(starts, axis=0))
    return ends, encoding.encode(ends)


def _level(encoding: RankNormal, values: np.ndarray) -> np.ndarray:
    """Scores of values (b, d) as whole numbers of steps."""
    levels: np.ndarray = np.rint(encoding.encode(values) * RESOLUTION).astype(np.int64)
    return levels


def _first_at(
    encoding: RankNormal, level: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """The lowest float32, as an ordered integer, with at least a level: above low, up to high."""
    for _ in range(BITS):
        middle = (low + high) // 2
        is_there = _level(encoding, _float(middle)) >= level
        low, high = np.where(is_there, low, middle), np.where(is_there, middle, high)
    return high


def _ordered(values: np.ndarray) -> np.ndarray:
    """Integers in the order of float32 values, neighbours for neighbours."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    ordered: np.ndarray = np.where(bits < 0, -(bits + _SIGN), bits)
    return ordered


def _float(ordered: np.ndarray) -> np.ndarray:
    """Invert `_ordered`."""
    bits = np.where(ordered < 0, -ordered - _SIGN, ordered)
    return bits.astype(np.int32).view(np.float32)
