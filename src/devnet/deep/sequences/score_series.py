"""Score a long series: a score and a p-value per time step, and events."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from devnet.deep.sequences.series_calibration import SeriesRanks
from devnet.deep.sequences.series_scores import step_scores
from devnet.deep.sequences.windows import as_series


class SeriesBlock(NamedTuple):
    """Consecutive steps of a scored series."""

    start: int
    score: np.ndarray  # (b,) float32; NaN where nothing was observed
    p_value: np.ndarray  # (b,) float32
    smallest: float = 0.0  # no p-value can be below this


class ScoredSeries(NamedTuple):
    """All steps of a series."""

    score: np.ndarray  # (t,) float32; NaN where nothing was observed
    p_value: np.ndarray  # (t,) float32
    smallest: float = 0.0  # no p-value can be below this


class Event(NamedTuple):
    """Alarms that belong together."""

    start: int  # first step
    end: int  # step after the last one
    peak: int  # step with the highest score
    score: float  # of the peak
    p_value: float  # of the peak


def score_blocks(detector: Any, series: Any, ranks: SeriesRanks) -> Iterator[SeriesBlock]:
    """Score a series block by block, in order; memory does not grow with the series.

    Parameters
    ----------
    detector : fitted detector
        As `fit_series` left it.
    series : array of shape (t,) or (t, c)
        A memory map is read block by block.
    ranks : SeriesRanks
        What `fit_series` returned.
    """
    for part in step_scores(detector, series, ranks.length, ranks.step):
        score, p_value = part.score, ranks.p_value(part.score)
        yield SeriesBlock(
            part.start, score.astype(np.float32), p_value.astype(np.float32), ranks.smallest
        )


def score_series(detector: Any, series: Any, ranks: SeriesRanks) -> ScoredSeries:
    """Score each time step of a series, from overlapping windows.

    A step's score is the mean over the windows that hold it. Its p-value is a rank among blocks of
    normal steps that the detector did not learn from; `SeriesRanks` says what that promises.

    Parameters
    ----------
    detector, series, ranks
        As of `score_blocks`, which does not keep the scores of all steps.

    Returns
    -------
    scored : ScoredSeries
        `score` and `p_value` of each step.
    """
    series = as_series(series)
    score, p_value = (np.empty(len(series), np.float32) for _ in range(2))
    for part in score_blocks(detector, series, ranks):
        chosen = slice(part.start, part.start + len(part.score))
        score[chosen], p_value[chosen] = part.score, part.p_value
    return ScoredSeries(score, p_value, ranks.smallest)


def find_events(
    blocks: Any, false_alarm_rate: float = 0.01, *, gap: int | None = None
) -> list[Event]:
    """Merge the steps with small p-values into events, in the order of time.

    Parameters
    ----------
    blocks : ScoredSeries, or iterable of SeriesBlock
    false_alarm_rate : float, default=0.01
        A step raises an alarm if its p-value is at most this.
    gap : int, optional
        Alarms that are at most this many steps apart are one event; by default only neighbours.
    """
    if not 0 < false_alarm_rate < 1:
        raise ValueError(f"false_alarm_rate={false_alarm_rate!r} must be between 0 and 1.")
    if isinstance(blocks, ScoredSeries):
        blocks = [SeriesBlock(0, *blocks)]
    events: list[Event] = []
    for block in blocks:
        _refuse_low_rate(false_alarm_rate, block.smallest)
        for event in _events_of(block, false_alarm_rate):
            if events and event.start - events[-1].end <= (gap or 0):
                event = _joined(events.pop(), event)
            events.append(event)
    return events


def _refuse_low_rate(false_alarm_rate: float, smallest: float) -> None:
    if false_alarm_rate < smallest:
        raise ValueError(
            f"false_alarm_rate={false_alarm_rate} raises no alarm: ranks among so few blocks give "
            f"no p-value below {smallest:.3g}. Give a higher rate, or to fit_series a longer "
            "series or a shorter block."
        )


def _events_of(block: SeriesBlock, false_alarm_rate: float) -> Iterator[Event]:
    # A p-value is stored in single precision, so the rate is too.
    is_alarm = block.p_value <= np.float32(false_alarm_rate)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_alarm, [False]])))
    for start, end in edges.reshape(-1, 2).tolist():
        peak = start + int(np.argmax(block.score[start:end]))
        yield Event(
            block.start + start,
            block.start + end,
            block.start + peak,
            float(block.score[peak]),
            float(block.p_value[peak]),
        )


def _joined(earlier: Event, later: Event) -> Event:
    top = later if later.score > earlier.score else earlier
    return Event(earlier.start, later.end, *top[2:])
