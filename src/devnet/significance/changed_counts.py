"""Whether rows of two tables are spread differently: by more than chance, and by how much."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc

SMOOTHING = 0.5  # rows added to each cell, so that an empty one has a logarithm


def chance(found: ArrayLike, n_found: float, learned: ArrayLike, n_learned: float) -> np.ndarray:
    """Two-sided p-values: how likely shares of two tables alike differ by as much.

    If all rows are alike, those with a property are a draw without replacement: given how many
    there are in both tables, the number in one of them is hypergeometric. Its tails are bounded by
    those of the binomial, of which the rarer of the property and its absence is taken. That holds
    for any number of rows, and costs power rather than false positives.

    Parameters
    ----------
    found, learned : arrays of the same shape
        Rows with the property.
    n_found, n_learned : float
        All rows, with or without it.

    Examples
    --------
    >>> from devnet.significance.changed_counts import chance
    >>> chance([0, 3, 10], 10, [100, 300, 0], 1000).round(6).tolist()
    [0.739422, 1.0, 0.0]
    """
    found, learned = np.asarray(found, dtype=np.float64), np.asarray(learned, dtype=np.float64)
    total, n_rows = found + learned, n_found + n_learned
    is_half = total == n_rows / 2  # either may be taken, so that it makes no difference which
    is_common = (total > n_rows / 2) | (is_half & (found > n_found / 2))
    found = np.where(is_common, n_found - found, found)
    total = np.where(is_common, n_rows - total, total)
    share = n_found / n_rows
    rest = total - found
    as_many = np.where(found > 0, betainc(np.maximum(found, 1e-300), rest + 1, share), 1.0)
    as_few = np.where(rest > 0, betainc(np.maximum(rest, 1e-300), found + 1, 1 - share), 1.0)
    p_value: np.ndarray = np.minimum(1.0, 2 * np.minimum(as_many, as_few))
    return p_value


def spread_chance(found: np.ndarray, learned: np.ndarray, *, is_ordered: bool) -> float:
    """A p-value for counts by cell, (k,) each: the smallest of its cells, times their number.

    Cells in order are taken from the first up to each of them, which notices small shifts.
    """
    n_found, n_learned = float(np.sum(found)), float(np.sum(learned))
    if is_ordered:
        found, learned = np.cumsum(found)[:-1], np.cumsum(learned)[:-1]
    if not n_found or not n_learned or not len(found):
        return 1.0
    p_values = chance(found, n_found, learned, n_learned)
    return float(min(1.0, len(p_values) * p_values.min()))


def stability_index(found: ArrayLike, learned: ArrayLike) -> float:
    """The population stability index of counts by cell, less what chance adds to it.

    Chance adds about (1/n + 1/m) for each cell but one (Yurdakul and Naranjo, Statistical
    properties of the population stability index, Journal of Risk Model Validation, 2020). Cells
    that are empty in both tables do not count.

    Examples
    --------
    >>> from devnet.significance.changed_counts import stability_index
    >>> round(stability_index([200, 800], [500, 500]), 2)
    0.41
    """
    counts = np.array([found, learned], dtype=np.float64)
    counts = counts[:, counts.any(axis=0)]  # (2, k)
    n_rows = counts.sum(axis=1)
    if not n_rows.all():
        return 0.0
    by_chance = (counts.shape[1] - 1) * (1 / n_rows).sum()
    here, there = (counts + SMOOTHING) / (counts + SMOOTHING).sum(axis=1, keepdims=True)
    return max(0.0, float(((here - there) * np.log(here / there)).sum() - by_chance))
