"""SeriesModel: learns from a table whose rows are the steps of a series, and finds events."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa

from devnet.core.model_file import (
    ascends,
    edited,
    field,
    is_count,
    refuse_unknown,
    size_of,
    tensor,
)
from devnet.core.seeds import as_generator, draw_seed
from devnet.core.sentence import Setting, UserError
from devnet.deep.kept_model import KeptModel
from devnet.deep.sequences.score_series import ScoredSeries, find_events, score_series
from devnet.deep.sequences.sequence_devnet import SequenceDevNet
from devnet.deep.sequences.series_calibration import SeriesRanks, fit_series
from devnet.deep.sequences.series_table import SeriesTable, check_columns, read_series
from devnet.significance.policies import AlertPolicy, Budget, FalseAlarmRate
from devnet.tables.score_columns import ALERT, P_VALUE, SCORE
from devnet.tables.sources.opening import open_table

USUAL_RATE = 0.01  # of normal steps that raise an alarm, if p-values can be as small
MOST_RATE = 0.5  # of steps that a budget of events may be looked for among
USUAL_LENGTH = 64  # steps of a window
RANKS = ("block", "length", "step")  # fields of the ranks that are numbers


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


class SeriesModel(KeptModel):
    """A `SequenceDevNet` on windows of a series, with p-values for each step.

    Parameters
    ----------
    detector : SequenceDevNet, optional
        It is fitted in place; by default one with its default parameters.
    policy : FalseAlarmRate or Budget, default=FalseAlarmRate(0.01)
        Which steps raise an alarm, or how many events are shown. The rate is raised to the smallest
        p-value that a short series allows for.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the detector, if none is given, and of which blocks are held back.
    """

    kind: ClassVar[str] = "series"

    detector_: SequenceDevNet
    calibration_: SeriesRanks
    time_: str
    channels_: tuple[str, ...]
    label_: str | None

    def __init__(self, detector: SequenceDevNet | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.detector = detector

    def fit(
        self,
        table: Any,
        *,
        time: str,
        label: str,
        channels: Sequence[str] = (),
        length: int = USUAL_LENGTH,
    ) -> Self:
        """Learn from a table whose rows are in the order of time.

        Parameters
        ----------
        table : path, glob, frame, Arrow table or dict of columns
        time, label : str
            The columns of times, and of labels: 1 in rows of known anomalies.
        channels : list of str, optional
            Columns of numbers; by default all but those two.
        length : int, default=64
            Steps of a window: long enough to show an anomaly with some of what is around it.
        """
        generator = as_generator(self.random_state)
        detector = self.detector or SequenceDevNet(random_state=draw_seed(generator))
        source = open_table(table)
        found = read_labelled_series(source, time, channels, label)
        self.calibration_ = fit_series(
            detector, found.series, found.intervals, length, random_state=draw_seed(generator)
        )
        self.detector_ = detector
        self.time_, self.channels_, self.label_ = time, found.channels, label
        self.n_rows_, self.n_labelled_, self.n_normal_ = (
            len(found.series),
            len(found.intervals),
            0,
        )
        self._learned_from = tuple(path.resolve() for path in source.paths)
        return self

    def rate(self, policy: AlertPolicy | None = None) -> float:
        """The p-value at which a step raises an alarm."""
        return max(self.rate_or_refuse(policy), self.calibration_.smallest)

    def rate_or_refuse(self, policy: AlertPolicy | None = None) -> float:
        """The rate that a policy asks for, if it is one that a series can have."""
        policy = policy or self.policy
        if isinstance(policy, FalseAlarmRate):
            return float(policy.rate)
        if isinstance(policy, Budget):
            return USUAL_RATE
        raise UserError(
            "the steps of a series depend on each other, so alarms are chosen by a false alarm "
            f"rate, or by a budget of events, not as {policy.in_words()}."
        )

    def score(self, table: Any, policy: AlertPolicy | None = None) -> pa.Table:
        """Time, score, p-value and alarm of each row of a table."""
        found, scored = self._scored(table)
        columns = {SCORE: scored.score, P_VALUE: scored.p_value}
        alarms = scored.p_value <= np.float32(self.rate(policy))
        return pa.table({self.time_: found.times, **columns, ALERT: alarms})

    def find_events(
        self, table: Any, *, policy: AlertPolicy | None = None, n_shown: int | None = 20
    ) -> SeriesEvents:
        """The events of a series, highest first; `n_shown` of them, or all if it is None."""
        found, scored = self._scored(table)
        chosen = policy or self.policy
        rate = self.rate(chosen)
        events = find_events(scored, rate, gap=self.calibration_.step)
        while isinstance(chosen, Budget) and len(events) < chosen.n and 2 * rate < MOST_RATE:
            rate *= 2  # a budget is used up, however common its last events are
            events = find_events(scored, rate, gap=self.calibration_.step)
        events.sort(key=lambda event: -event.score)
        if isinstance(chosen, Budget):
            events = events[: chosen.n]
        shown = [_event(one, found.times) for one in events[:n_shown]]
        return SeriesEvents(len(found.series), len(events), rate, shown)

    def profile(self, table: Any, row: int, around: int) -> tuple[SeriesTable, ScoredSeries, int]:
        """Values and scores of the steps around a row, and the number of the first of them."""
        found, scored = self._scored(table)
        if not 0 <= row < len(found.series):
            raise UserError(
                f"there is no row {row}: the series has {len(found.series):,} steps, counted from "
                "0. Give another number with ",
                Setting("rows"),
                ".",
            )
        start = max(0, row - around)
        part = slice(start, row + around + 1)
        series = found._replace(series=found.series[part], times=found.times[part])
        return series, ScoredSeries(scored.score[part], scored.p_value[part]), start

    def _scored(self, table: Any) -> tuple[SeriesTable, ScoredSeries]:
        found = _read(open_table(table), self.time_, self.channels_, None)
        return found, score_series(self.detector_, found.series, self.calibration_)

    def _own_facts(self) -> dict[str, Any]:
        ranks = {name: getattr(self.calibration_, name) for name in RANKS}
        columns = {"time": self.time_, "channels": list(self.channels_), "label": self.label_}
        return {**columns, **ranks}

    def _own_tensors(self) -> dict[str, np.ndarray]:
        return {"scores": self.calibration_.scores}

    def _restore_own(self, kept: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.time_ = field(kept, "time", lambda value: isinstance(value, str))
        self.label_ = field(kept, "label", lambda value: isinstance(value, str))
        n_channels = self.detector_.n_features_in_
        self.channels_ = tuple(field(kept, "channels", lambda value: _names(value, n_channels)))
        scores = tensor(tensors, "scores", (size_of(tensors, "scores"),), "float64")
        refuse_unknown(tensors, ("scores",))
        if not len(scores) or not ascends(scores, strictly=False):
            raise edited("the calibration", "its scores must ascend")
        block, length, step = (field(kept, name, is_count) for name in RANKS)
        if not step <= length <= block:
            raise edited("the calibration", "a step is at most a window, and a window a block")
        self.calibration_ = SeriesRanks(scores, block, length, step)


def read_labelled_series(
    source: Any, time: str, channels: Sequence[str], label: str
) -> SeriesTable:
    """The series of an open table, if any of its steps is labelled as an anomaly."""
    found = _read(source, time, channels, label)
    if not found.intervals:
        raise UserError(
            f"no row of {source.name} is labelled as an anomaly in {label!r}; label at least "
            "one interval, or name another column with ",
            Setting("label"),
            ".",
        )
    return found


def _read(source: Any, time: str, channels: Sequence[str], label: str | None) -> SeriesTable:
    """The series of a table, of which only the columns that matter are read."""
    wanted = [time, *channels, *([label] if label else [])] if channels else source.schema.names
    check_columns(source.schema.names, time=time, channels=channels, label=label)
    names = [one for one in source.schema.names if one in wanted]
    batches = list(source.batches(names))
    table = pa.Table.from_batches(batches, pa.schema([source.schema.field(n) for n in names]))
    return read_series(table, time=time, channels=channels, label=label)


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


def _event(one: Any, times: np.ndarray) -> SeriesEvent:
    moments = (one.start, one.end - 1, one.peak)
    first, last, peak = (time_text(times[row]) for row in moments)
    facts = (one.start, one.end, one.peak, one.score, one.p_value)
    return SeriesEvent(*facts, (first, last, peak))


def _names(value: Any, n: int) -> bool:
    is_list = isinstance(value, list) and len(value) == n
    return is_list and all(isinstance(name, str) for name in value)
