"""Calibrated p-values for the steps of a series, whose neighbours are anything but independent."""

from typing import Any, NamedTuple

import numpy as np

from devnet.core.seeds import as_generator
from devnet.deep.sequences.series_scores import has_values, step_scores
from devnet.deep.sequences.windows import (
    Intervals,
    as_series,
    checked_intervals,
    labelled_starts,
    refuse_long_windows,
    take_windows,
    usual_step,
)

HELD_BACK = 0.3  # share of the blocks that are ranked among
BLOCK = 4  # windows' lengths in a block
FEWEST_BLOCKS = 4
MOST_WINDOWS = 50_000  # without a label, to train on


class SeriesRanks(NamedTuple):
    """Ranks of step scores among those of blocks that the detector did not learn from.

    The promise is about blocks, not about steps: if the blocks of a new series and those ranked
    among are exchangeable while all is normal, then at most a share `a` of a new block's steps is
    expected to have a p-value of at most `a`, however the steps of a block depend on each other.
    To hold for any dependence, a p-value counts the step's own block as if all of its steps scored
    as high: p = (L + steps that score as high) / (L + all steps), with L steps in a block. So none
    is below 1 / (1 + number of blocks).

    Nothing is promised for a series that drifts away from the one ranked among, nor for how many
    steps in a row are hit: alarms come in bursts, within one block. Blocks that follow each other
    depend on each other a little, which makes the share vary more than that of independent blocks;
    it does not move its mean. Hidden anomalies among the blocks make p-values larger.
    """

    scores: np.ndarray  # (n,) ascending
    block: int  # steps of a block
    length: int  # of the windows that the scores come from
    step: int  # from one window to the next

    @property
    def smallest(self) -> float:
        """No p-value is below this."""
        return self.block / (self.block + len(self.scores))

    def p_value(self, scores: np.ndarray) -> np.ndarray:
        """P-values of step scores; NaN for those that are NaN."""
        above = len(self.scores) - np.searchsorted(self.scores, scores, side="left")
        found = (self.block + above) / (self.block + len(self.scores))
        p_value: np.ndarray = np.where(np.isnan(scores), np.nan, found)
        return p_value


def fit_series(
    detector: Any,
    series: Any,
    intervals: Intervals,
    length: int,
    step: int | None = None,
    *,
    block: int | None = None,
    random_state: Any = None,
) -> SeriesRanks:
    """Fit a detector on windows of a series, and rank among blocks that no such window overlaps.

    The series is cut into blocks. Of those away from labelled intervals, a random 30% are held
    back. After the fit, their steps are scored as `score_series` scores the steps of a series; no
    window that is trained on shares a step with a window that scores them. Of very many windows
    without a label, 50,000 are trained on.

    Parameters
    ----------
    detector : detector, or pipeline that ends in one
        It is fitted in place, on windows (n, length, c).
    series : array of shape (t,) or (t, c)
    intervals : list of pairs (start, end)
        Known anomalies, at least one.
    length, step : int
        As of `windows`.
    block : int, optional
        Steps of a block, by default four windows' lengths. A longer one makes blocks less
        dependent on each other, a shorter one allows for smaller p-values.
    random_state : int, numpy RandomState or Generator, optional
        Seed that decides which blocks are held back.

    Returns
    -------
    ranks : SeriesRanks
        For `score_series`.
    """
    series = as_series(series)
    step = usual_step(length) if step is None else step
    block = BLOCK * length if block is None else block
    refuse_long_windows(len(series), length, step)
    _refuse_short_block(block, length)
    known = checked_intervals(intervals, len(series))
    if not len(known):
        raise ValueError("there are no intervals; give at least one known anomaly (start, end).")
    generator = as_generator(random_state)
    held = _held_back(len(series), block, length, known, generator)
    start, y = labelled_starts(len(series), length, step, known)
    usable = _some(_apart(start, length, held, block, len(series)), y, generator)
    X, y = take_windows(series, start[usable], length), y[usable]
    is_observed = has_values(X)
    detector.fit(X[is_observed], y[is_observed])
    found = [_block_scores(detector, series, first, block, length, step) for first in held.tolist()]
    scores = np.concatenate(found)
    return SeriesRanks(np.sort(scores[~np.isnan(scores)]), block, length, step)


def _held_back(
    n_steps: int, block: int, length: int, known: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """First steps of the blocks to rank among, ascending: no labelled window is near them."""
    starts = length + np.arange(max(0, (n_steps - 2 * length) // block)) * block
    near = 2 * length  # as far as windows of the block and of an interval reach
    is_near = (known[:, 0] < starts[:, None] + block + near) & (
        known[:, 1] > starts[:, None] - near
    )
    free = starts[~is_near.any(axis=1)]
    size = round(HELD_BACK * len(free))
    if size < FEWEST_BLOCKS:
        raise ValueError(
            f"the series has {len(free)} blocks of {block} steps away from labelled intervals; at "
            f"least {round(FEWEST_BLOCKS / HELD_BACK)} are needed to hold some of them back. Give "
            "a longer series, or a shorter length, of which a block has four by default."
        )
    return np.sort(generator.choice(free, size, replace=False))


def _apart(
    start: np.ndarray, length: int, held: np.ndarray, block: int, n_steps: int
) -> np.ndarray:
    """Which windows share no step with a window that scores a block held back, (n,) bool."""
    is_held = np.zeros(n_steps, dtype=bool)
    for first in held.tolist():
        is_held[first - length : first + block + length] = True
    before = np.append(0, np.cumsum(is_held))
    apart: np.ndarray = before[start + length] == before[start]
    return apart


def _some(usable: np.ndarray, y: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Indices of windows to train on: all labelled ones, and at most so many others."""
    labelled, others = (np.flatnonzero(usable & (y == label)) for label in (1, 0))
    if len(others) > MOST_WINDOWS:
        others = generator.choice(others, MOST_WINDOWS, replace=False)
    return np.sort(np.append(labelled, others))


def _block_scores(
    detector: Any, series: np.ndarray, first: int, block: int, length: int, step: int
) -> np.ndarray:
    """Step scores of a block, from windows that may reach beyond it, as in any series."""
    start = first - length
    around = series[start : first + block + length]
    parts = [part.score for part in step_scores(detector, around, length, step)]
    scores: np.ndarray = np.concatenate(parts)[length : length + block]
    return scores


def _refuse_short_block(block: int, length: int) -> None:
    if isinstance(block, bool) or not isinstance(block, int | np.integer) or block < length:
        raise ValueError(
            f"block={block!r} must be a whole number of at least the windows' length, {length}."
        )
