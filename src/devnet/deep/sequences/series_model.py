"""SeriesModel: learns from a table whose rows are the steps of a series, and finds events."""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Self

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
from devnet.core.sentence import Sentence, Setting, UserError
from devnet.deep.kept_model import KeptModel
from devnet.deep.sequences.opened_series import OpenedSeries, SeriesEvents
from devnet.deep.sequences.sequence_devnet import SequenceDevNet
from devnet.deep.sequences.series_calibration import SeriesRanks, fit_series
from devnet.deep.sequences.series_table import (
    SeriesTable,
    check_columns,
    read_series,
    series_reader,
)
from devnet.significance.policies import AlertPolicy, Budget, FalseAlarmRate
from devnet.tables.readings.reading import BY_VALUES, Conventions
from devnet.tables.readings.table_reader import TableReader
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.source import Source
from devnet.tables.table_summary import names_of

USUAL_RATE = 0.01  # of normal steps that raise an alarm, if p-values can be as small
USUAL_LENGTH = 64  # steps of a window
RANKS = ("block", "length", "step")  # fields of the ranks that are numbers


class SeriesModel(KeptModel):
    """A `SequenceDevNet` on windows of a series, with p-values for each step.

    Parameters
    ----------
    detector : SequenceDevNet, optional
        It is fitted in place; by default one with its default parameters.
    policy : FalseAlarmRate or Budget, default=FalseAlarmRate(0.01)
        Which steps raise an alarm, or how many events are shown. The rate is raised to the smallest
        p-value that a short series allows for.
    decimal_comma, day_first, missing
        As for `TableModel`, of texts that are times or numbers.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the detector, if none is given, and of which blocks are held back.
    """

    kind: ClassVar[str] = "series"

    detector_: SequenceDevNet
    calibration_: SeriesRanks
    time_: str
    channels_: tuple[str, ...]
    label_: str | None
    reader_: TableReader

    def __init__(
        self,
        detector: SequenceDevNet | None = None,
        *,
        decimal_comma: bool | None = None,
        day_first: bool | None = None,
        missing: Collection[str] | str = (),
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.detector = detector
        self.decimal_comma = decimal_comma
        self.day_first = day_first
        self.missing = missing

    @property
    def conventions(self) -> Conventions:
        """How tables write values, as far as the caller says."""
        return Conventions(self.decimal_comma, self.day_first, tuple(names_of(self.missing)))

    @property
    def notes(self) -> list[str | Sentence]:
        """What a user should know about how the training table was read."""
        return self.reader_.notes()

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
        found, source = read_labelled_series(table, time, channels, label, self.conventions)
        self.calibration_ = fit_series(
            detector, found.series, found.intervals, length, random_state=draw_seed(generator)
        )
        self.detector_ = detector
        self.time_, self.channels_, self.label_ = time, found.channels, label
        self.reader_ = found.reader
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
        return OpenedSeries(self, table).score(policy)

    def find_events(
        self, table: Any, *, policy: AlertPolicy | None = None, n_shown: int | None = 20
    ) -> SeriesEvents:
        """The events of a series, highest first; `n_shown` of them, or all if it is None."""
        return OpenedSeries(self, table).find_events(policy, n_shown=n_shown)

    def read(self, table: Any) -> SeriesTable:
        """A table as the series that it is for this model; its labels are not looked at."""
        source = open_table(
            table, missing=self.reader_.missing, decimal_comma=self.conventions.decimal_comma
        )
        columns = (self.time_, self.channels_, None)
        return _read(source, *columns, self.conventions, self.reader_)

    def _own_facts(self) -> dict[str, Any]:
        ranks = {name: getattr(self.calibration_, name) for name in RANKS}
        columns = {"time": self.time_, "channels": list(self.channels_), "label": self.label_}
        return {
            **columns,
            **ranks,
            "reading": self.reader_.to_header(),
            "decimal_comma": self.decimal_comma,
            "day_first": self.day_first,
        }

    def _own_tensors(self) -> dict[str, np.ndarray]:
        return {"scores": self.calibration_.scores}

    def _restore_own(self, kept: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.time_ = field(kept, "time", lambda value: isinstance(value, str))
        self.label_ = field(kept, "label", lambda value: isinstance(value, str))
        self.reader_ = TableReader.from_header(kept.get("reading"))
        self.missing = self.reader_.missing
        for name in ("decimal_comma", "day_first"):
            setattr(self, name, field(kept, name, lambda value: value in (None, True, False)))
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
    table: Any, time: str, channels: Sequence[str], label: str, conventions: Conventions = BY_VALUES
) -> tuple[SeriesTable, Source]:
    """The series of a table, if any of its steps is labelled as an anomaly; and the open table."""
    source = open_table(table, missing=conventions.missing, decimal_comma=conventions.decimal_comma)
    found = _read(source, time, channels, label, conventions)
    if not found.intervals:
        raise UserError(
            f"no row of {source.name} is labelled as an anomaly in {label!r}; label at least "
            "one interval, or name another column with ",
            Setting("label"),
            ".",
        )
    return found, source


def _read(
    source: Source,
    time: str,
    channels: Sequence[str],
    label: str | None,
    conventions: Conventions,
    known: TableReader | None = None,
) -> SeriesTable:
    """The series of a table, of which only the columns that matter are read."""
    wanted = [time, *channels, *([label] if label else [])] if channels else source.schema.names
    check_columns(source.schema.names, time=time, channels=channels, label=label)
    names = [one for one in source.schema.names if one in wanted]
    batches = list(source.batches(names))
    table = pa.Table.from_batches(batches, pa.schema([source.schema.field(n) for n in names]))
    if conventions.decimal_comma is None:
        conventions = conventions._replace(decimal_comma=source.decimal_comma)
    reader = series_reader(table, conventions, known)
    return read_series(table, time=time, channels=channels, label=label, reader=reader)


def _names(value: Any, n: int) -> bool:
    is_list = isinstance(value, list) and len(value) == n
    return is_list and all(isinstance(name, str) for name in value)
