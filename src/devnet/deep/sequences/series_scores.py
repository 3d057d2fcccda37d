"""A score for each time step of a long series, from overlapping windows, block by block."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from devnet.deep.sequences.windows import (
    as_series,
    refuse_long_windows,
    take_windows,
    usual_step,
)

BLOCK_VALUES = 1 << 19  # values of windows that are scored together

ScoreWindows = Callable[[np.ndarray], np.ndarray]
"""Windows (n, length, c) -> a score per window (n,), or per step (n, length)."""


class StepScores(NamedTuple):
    """Scores of consecutive steps of a series."""

    start: int  # the first of these steps
    score: np.ndarray  # (b,): NaN for steps of which no window has a value


def scorer_of(detector: Any) -> ScoreWindows:
    """How a detector scores windows: each as a whole and, if it can, step by step.

    The steps of a fault need not all be conspicuous, such as those in the middle of a level that is
    kept too long. So half of a step's score is its own, and half that of the window.

    A pipeline that ends in a detector has no anomaly scores, but they differ from its
    decision function by a constant.
    """
    score: ScoreWindows = getattr(detector, "anomaly_score", None) or detector.decision_function
    if getattr(detector, "head", None) != "steps":
        return score

    def by_step(windows: np.ndarray) -> np.ndarray:
        both: np.ndarray = detector.anomaly_profile(windows) + score(windows)[:, None]
        return both / 2

    return by_step


def step_scores(
    detector: Any, series: Any, length: int, step: int | None = None
) -> Iterator[StepScores]:
    """Score all steps, block by block, in order; memory is bounded by a block of windows.

    The score of a step is the mean over the windows that hold it, of what `scorer_of` says. The
    last window ends with the series.
    """
    series = as_series(series)
    step = usual_step(length) if step is None else step
    refuse_long_windows(len(series), length, step)
    score = scorer_of(detector)
    starts = window_starts(len(series), length, step)
    height = max(1, BLOCK_VALUES // (length * series.shape[1]))
    total, count, first = np.zeros(0), np.zeros(0), 0
    for position in range(0, len(starts), height):
        some = starts[position : position + height]
        end = int(some[-1]) + length
        total, count = (_longer(part, end - first) for part in (total, count))
        _add(score, series, some, length, total, count, first)
        is_last = position + height >= len(starts)
        n_done = len(total) if is_last else int(starts[position + height]) - first
        yield StepScores(first, _means(total[:n_done], count[:n_done]))
        total, count, first = total[n_done:], count[n_done:], first + n_done


def window_starts(n_steps: int, length: int, step: int) -> np.ndarray:
    """First steps of windows that hold every step of a series; the last ends with it."""
    starts = np.arange(0, n_steps - length + 1, step)
    last = n_steps - length
    return starts if starts[-1] == last else np.append(starts, last)


def has_values(X: np.ndarray) -> np.ndarray:
    """Which windows have any value at all, (n,) bool."""
    if X.dtype.kind != "f":
        return np.ones(len(X), dtype=bool)
    observed: np.ndarray = ~np.isnan(X).all(axis=(1, 2))
    return observed


def _longer(part: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([part, np.zeros(max(0, size - len(part)))])


def _add(
    score: ScoreWindows,
    series: np.ndarray,
    starts: np.ndarray,
    length: int,
    total: np.ndarray,
    count: np.ndarray,
    first: int,
) -> None:
    """Add the scores of windows to the steps that they hold."""
    part = series[int(starts[0]) : int(starts[-1]) + length]
    found = take_windows(part, starts - starts[0], length)
    is_observed = has_values(found)
    if not is_observed.all():
        starts, found = starts[is_observed], found[is_observed]
    if not len(starts):
        return
    scores = np.asarray(score(found), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.broadcast_to(scores[:, None], (len(scores), length))
    places = (starts - first)[:, None] + np.arange(length)
    np.add.at(total, places.ravel(), scores.ravel())
    np.add.at(count, places.ravel(), 1.0)


def _means(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        means: np.ndarray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means
