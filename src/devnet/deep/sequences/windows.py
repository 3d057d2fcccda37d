"""Windows of a long series, with labels from intervals."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

Intervals = Sequence[tuple[int, int]]
"""Pairs (start, end) of steps; the end is not part of the interval, as in a slice."""

ENOUGH = 0.5  # share of an interval, or of a window, that makes the window an example of it


class Windows(NamedTuple):
    """Windows that a detector can learn from."""

    X: np.ndarray  # (n, length, c)
    y: np.ndarray  # (n,): 1 if the window shows a labelled interval, else 0
    start: np.ndarray  # (n,): the first step of each in the series


def windows(
    series: Any, length: int, step: int | None = None, *, intervals: Intervals = ()
) -> Windows:
    """Cut a long series into windows, and label those that show an anomaly.

    A window is labelled if it holds at least half of an interval, or if at least half of its steps
    are in intervals. A window that touches an interval, but less than that, is left out: it shows
    an anomaly too little to be an example, and must not pass for normal.

    Parameters
    ----------
    series : array of shape (t,) or (t, c)
        Missing values are NaN.
    length : int
        Steps of a window: long enough to show an anomaly with some of what is around it.
    step : int, optional
        Steps from one window to the next; by default a quarter of the length.
    intervals : list of pairs (start, end)
        Known anomalies, in steps; the end is not part of the interval, as in a slice.

    Returns
    -------
    windows : Windows
        `X`, `y` and `start`.

    Examples
    --------
    >>> from devnet.deep.sequences.windows import windows
    >>> found = windows(range(10), length=4, step=2, intervals=[(5, 6)])
    >>> found.start.tolist(), found.y.tolist()
    ([0, 2, 4, 6], [0, 1, 1, 0])
    >>> found.X[1, :, 0].tolist()
    [2, 3, 4, 5]
    """
    series = as_series(series)
    step = usual_step(length) if step is None else step
    refuse_long_windows(len(series), length, step)
    known = checked_intervals(intervals, len(series))
    start, y = labelled_starts(len(series), length, step, known)
    return Windows(take_windows(series, start, length), y, start)


def usual_step(length: int) -> int:
    """A quarter of a window's length: each step is then in four windows."""
    return max(1, int(length) // 4)


def labelled_starts(
    n_steps: int, length: int, step: int, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """First steps and labels, each (n,), of the windows that `windows` keeps."""
    start = np.arange(0, n_steps - length + 1, step)
    y, touches = _labels(start, length, known)
    kept = (y == 1) | ~touches
    return start[kept], y[kept]


def take_windows(series: np.ndarray, start: np.ndarray, length: int) -> np.ndarray:
    """Windows (n, length, c) of a series (t, c), copied."""
    view = sliding_window_view(series, length, axis=0)  # (t - length + 1, c, length)
    taken: np.ndarray = view[start].transpose(0, 2, 1)
    return taken


def as_series(series: Any) -> np.ndarray:
    """A series (t, c) of numbers, not copied if it is one already."""
    if hasattr(series, "to_numpy"):
        series = series.to_numpy()
    array = series if isinstance(series, np.ndarray) else np.asarray(series)
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise ValueError(
            f"the series has shape {array.shape}, but must be (t,) or (t, c) with at least one "
            "step and one channel."
        )
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the series has values that are no numbers: {error}.") from error
    return array[:, None] if array.ndim == 1 else array


def refuse_long_windows(n_steps: int, length: int, step: int) -> None:
    """Refuse windows that do not fit into a series, or that never move on."""
    for name, value in (("length", length), ("step", step)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
    if length > n_steps:
        raise ValueError(
            f"a window of length={length} is longer than the series, which has {n_steps} steps; "
            "give a shorter length."
        )
    if step > length:
        raise ValueError(
            f"step={step} is larger than length={length}, so steps between windows would be left "
            "out; give a step of at most the length."
        )


def checked_intervals(intervals: Intervals, n_steps: int) -> np.ndarray:
    """Intervals (k, 2) in order, if all of them lie in the series."""
    found = [_pair(number, one) for number, one in enumerate(intervals)]
    for number, (start, end) in enumerate(found):
        if start >= end:
            raise ValueError(
                f"interval {number} is ({start}, {end}), which has no steps; its end must be "
                "larger than its start."
            )
        if start < 0 or end > n_steps:
            raise ValueError(
                f"interval {number} is ({start}, {end}), which is not within the series: it has "
                f"the steps 0 to {n_steps - 1}."
            )
    return np.array(sorted(found), dtype=int).reshape(-1, 2)


def covered(n_steps: int, intervals: np.ndarray) -> np.ndarray:
    """Which steps are in an interval, (t,) bool."""
    is_in = np.zeros(n_steps, dtype=bool)
    for start, end in intervals:
        is_in[max(0, start) : max(0, end)] = True
    return is_in


def _pair(number: int, one: Any) -> tuple[int, int]:
    try:
        start, end = one
        if int(start) != start or int(end) != end:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"interval {number} is {one!r}, but must be a pair of steps (start, end)."
        ) from None
    return int(start), int(end)


def _labels(start: np.ndarray, length: int, intervals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels (n,) of windows, and whether each touches an interval."""
    y, inside = np.zeros(len(start), dtype=int), np.zeros(len(start), dtype=int)
    for first, end in intervals:
        shared = np.minimum(start + length, end) - np.maximum(start, first)
        inside += np.maximum(shared, 0)
        y[shared >= max(1, ENOUGH * (end - first))] = 1
    y[(inside >= ENOUGH * length) & (inside > 0)] = 1
    return y, inside > 0
