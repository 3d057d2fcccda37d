"""A series beside a model: its scores, its events, and what is around a step."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Setting, UserError
from devnet.deep.sequences.score_series import Event, ScoredSeries, find_events, score_series
from devnet.deep.sequences.series_table import SeriesTable
from devnet.significance.policies import AlertPolicy, Budget
from devnet.tables.score_columns import ALERT, P_VALUE, SCORE

if TYPE_CHECKING:
    from devnet.deep.sequences.series_model import SeriesModel

MOST_RATE = 0.5  # of steps that a budget of events may be looked for among


class SeriesEvent(NamedTuple):
    """A part of a series that stands out."""

    start: int  # first step
    end: int  # step after the last one
    peak: int  # step with the highest score
    score: float  # of the peak
    p_value: float  # of the peak
    times: tuple[str, str, str]  # of the first, the last and the highest step


class SeriesEvents(NamedTuple):
    """The events of a series, highest first."""

    n_steps: int
    n_events: int
    rate: float  # steps with a p-value of at most this raise an alarm
    shown: list[SeriesEvent]


class OpenedSeries:
    """A table that is read and scored once, whatever is asked about it.

    Parameters
    ----------
    model : SeriesModel
        Fitted.
    table : path, glob, frame, Arrow table or dict of columns
    """

    def __init__(self, model: "SeriesModel", table: Any) -> None:
        self.model = model
        self.found: SeriesTable = model.read(table)
        self.scored: ScoredSeries = score_series(
            model.detector_, self.found.series, model.calibration_
        )

    @property
    def notes(self) -> list[str]:
        """What could not be read."""
        reader = self.found.reader
        return [one.note(name, reader.readings[name]) for name, one in reader.unread.items()]

    def score(self, policy: AlertPolicy | None = None) -> pa.Table:
        """Time, score, p-value and alarm of each row."""
        columns = {SCORE: self.scored.score, P_VALUE: self.scored.p_value}
        alarms = self.scored.p_value <= np.float32(self.model.rate(policy))
        return pa.table({self.model.time_: self.found.times, **columns, ALERT: alarms})

    def find_events(
        self, policy: AlertPolicy | None = None, *, n_shown: int | None = 20
    ) -> SeriesEvents:
        """The events, highest first; `n_shown` of them, or all if it is None."""
        chosen = policy or self.model.policy
        rate = self.model.rate(chosen)
        events = self._events(rate)
        while isinstance(chosen, Budget) and len(events) < chosen.n and 2 * rate < MOST_RATE:
            rate *= 2  # a budget is used up, however common its last events are
            events = self._events(rate)
        events.sort(key=lambda event: -event.score)
        if isinstance(chosen, Budget):
            events = events[: chosen.n]
        shown = [_event(one, self.found.times) for one in events[:n_shown]]
        return SeriesEvents(len(self.found.series), len(events), rate, shown)

    def profile(self, row: int, around: int) -> tuple[SeriesTable, ScoredSeries, int]:
        """Values and scores of the steps around a row, and the number of the first of them."""
        n_steps = len(self.found.series)
        if not 0 <= row < n_steps:
            raise UserError(
                f"there is no row {row}: the series has {n_steps:,} steps, counted from 0. Give "
                "another number with ",
                Setting("rows"),
                ".",
            )
        start = max(0, row - around)
        part = slice(start, row + around + 1)
        series = self.found._replace(series=self.found.series[part], times=self.found.times[part])
        scored = ScoredSeries(self.scored.score[part], self.scored.p_value[part])
        return series, scored, start

    def _events(self, rate: float) -> list[Event]:
        return find_events(self.scored, rate, gap=self.model.calibration_.step)


def time_text(time: Any) -> str:
    """A time of a table as people write it, without zeros at its end.

    >>> time_text(np.datetime64("2026-01-01T00:56:32.000")), time_text(3.5)
    ('2026-01-01 00:56:32', '3.5')
    """
    if not isinstance(time, np.datetime64):
        return str(time)
    day, _, clock = str(time).partition("T")
    whole, dot, part = clock.partition(".")
    part = part.rstrip("0")
    return f"{day} {whole}{dot if part else ''}{part}".rstrip()


def _event(one: Event, times: np.ndarray) -> SeriesEvent:
    moments = (one.start, one.end - 1, one.peak)
    first, last, peak = (time_text(times[row]) for row in moments)
    return SeriesEvent(*one, (first, last, peak))
