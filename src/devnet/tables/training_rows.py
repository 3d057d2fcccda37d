"""One pass over a training table: what its columns are like, and the rows to learn from.

A fit draws a limited number of rows however long the table is, so only a uniform sample of that
many unlabelled rows must stay in memory.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.sentence import Setting
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.columns.ngrams import MOST_CHARACTERS
from devnet.tables.encoder import TableSummary
from devnet.tables.label_column import (
    Spellings,
    find_anomaly_value,
    find_label_values,
    label_key,
    same_label,
    written_label,
)
from devnet.tables.readings.reading import BY_VALUES, Conventions
from devnet.tables.readings.table_reader import OtherReading, TableReader, Tally
from devnet.tables.reservoir import Reservoir, Sample, smallest
from devnet.tables.sources.source import Source
from devnet.tables.table_error import TableError, UnfitValueError

KEPT_ROWS = 1 << 18  # more than the 256,000 that the paper's training draws
KEPT_VALUES = 1 << 26  # values in them, if a table has very many columns
MIN_KEPT_ROWS = 20_000
KEPT_BYTES = 1 << 29  # bytes in them, if rows are long
MIN_UNLABELLED = 2  # rows; with fewer, nothing says what is normal
MAX_LABEL_VALUES = 100  # distinct labels that are counted

OnRows = Callable[[int], None]
"""Called after each batch with the number of rows done."""


class TrainingRows(NamedTuple):
    """The rows to learn from, and what all rows are like."""

    summary: TableSummary  # of all rows
    unlabelled: Sample
    normal: Sample  # known to be normal; all of them, unless there are very many
    labelled: Sample
    n_rows: int
    n_normal: int
    n_labelled: int
    label: str  # name of the column
    anomaly: str  # its value that marks anomalies, as text
    normal_label: str | None  # its value that marks rows known to be normal, if any does
    spellings: list[str]  # of the label of anomalies, if there are several

    @property
    def n_unlabelled(self) -> int:
        """Rows of the table without a known label."""
        return self.n_rows - self.n_labelled - self.n_normal

    def others(self) -> Sample:
        """A uniform sample of all rows that are no labelled anomalies."""
        if not self.n_normal:
            return self.unlabelled
        size, n_normal = (len(sample.key) for sample in (self.unlabelled, self.normal))
        is_whole = size == self.n_unlabelled
        return smallest([self.unlabelled, self.normal], size + n_normal if is_whole else size)


def read_training_rows(
    source: Source,
    label: str | None,
    *,
    anomaly: str | None = None,
    normal: str | None = None,
    ignore: Collection[str] = (),
    categorical: Collection[str] = (),
    id_column: str | None = None,
    conventions: Conventions = BY_VALUES,
    also_read: Collection[str] = (),
    generator: np.random.Generator,
    on_rows: OnRows | None = None,
) -> TrainingRows:
    """Read a table once, or again from its beginning if a value shows how others were meant.

    Parameters
    ----------
    source : Source
    label : str or None
        The column of labels; None if no row has one.
    anomaly : str, optional
        Its value that marks anomalies, if it is not the obvious one.
    normal : str, optional
        Its value that marks rows known to be normal, if any does.
    ignore, categorical : collections of str
        Columns that are not read; columns that are categories whatever their type.
    id_column : str, optional
        A column that names rows; it is read, but not learned from.
    conventions : Conventions
        How the table writes numbers, dates and missing values, where the caller says so.
    also_read : collection of str
        Columns that are read and kept uncut even if they are not learned from.
    generator : numpy Generator
        Draws which rows are kept.
    on_rows : callable, optional
        Gets the number of rows read so far.
    """
    unused = {*ignore, *([id_column] if id_column else [])}
    labels = {label} if label is not None else set()
    as_written = {*labels, *(unused - {*also_read}), *categorical}
    reader = _learned_reader(source, conventions, as_written)
    state = generator.bit_generator.state
    uncut = {*labels, *([id_column] if id_column else []), *also_read}
    while True:
        schema = reader.schema(source.schema)
        summary = TableSummary(
            schema, label=label, ignore=unused, categorical=categorical, reader=reader
        )
        try:
            named = _Named(anomaly, normal)
            return _read(source, summary, named, id_column, uncut, generator, on_rows)
        except OtherReading as found:
            reader = reader.with_more({found.name: found.reading})
        except UnfitValueError as error:
            source = source.with_text(error.column)
            reading = _learned_reader(source, conventions, as_written).readings.get(error.column)
            if reading is None or error.column in reader.readings:
                raise
            reader = reader.with_more({error.column: reading})
        generator.bit_generator.state = state


def _read(
    source: Source,
    summary: TableSummary,
    named: "_Named",
    id_column: str | None,
    uncut: Collection[str],
    generator: np.random.Generator,
    on_rows: OnRows | None,
) -> TrainingRows:
    """Read a table from its first row to its last."""
    label, reader = summary.label, summary.reader
    kept = {label, id_column}
    tally = Tally(doubts=not source.is_once)
    needed = {*summary.needed(), *uncut}
    columns = [name for name in source.schema.names if name in needed]
    size = min(KEPT_ROWS, max(KEPT_VALUES // len(columns), MIN_KEPT_ROWS))
    strata = _Strata(label, named, size, generator)
    for batch in source.batches(columns):
        batch = reader.read(batch, tally, kept)
        summary.add(batch)
        strata.add(_with_short_texts(batch, uncut))
        if on_rows is not None:
            on_rows(strata.n_rows)
    if strata.n_rows == 0:
        raise TableError(
            f"{source.name} has no rows, only the columns {', '.join(source.schema.names[:5])}; "
            "give a table with rows to learn from."
        )
    summary.reader = reader.counted(tally)
    if label is None:
        return strata.without_labels(summary)
    counts = strata.spellings.counts()
    value, normal = find_label_values(label, counts, strata.n_missing, *named)
    _refuse_too_few(strata.n_rows - counts[value], source.name)
    labelled = strata.kept.pop(label_key(value)).sample()
    known = [] if normal is None else [strata.kept.pop(label_key(normal)).sample()]
    unlabelled = [reservoir.sample() for reservoir in strata.kept.values()]
    nothing = _none_of(labelled)
    return TrainingRows(
        summary,
        smallest(unlabelled or [nothing], size, KEPT_BYTES),
        known[0] if known else nothing,
        labelled,
        strata.n_rows,
        0 if normal is None else counts[normal],
        counts[value],
        label,
        value,
        normal,
        strata.spellings.of(value),
    )


def _none_of(sample: Sample) -> Sample:
    """A sample without rows, but with the same columns."""
    return Sample(sample.rows.slice(0, 0), sample.number[:0], sample.key[:0])


def _learned_reader(
    source: Source, conventions: Conventions, as_written: Collection[str]
) -> TableReader:
    """How numbers and dates are written in a table; some columns stay as they are."""
    if conventions.decimal_comma is None:
        conventions = conventions._replace(decimal_comma=source.decimal_comma)
    columns = [
        one.name
        for one in source.schema
        if one.name not in as_written and kind_of(one.type).name in ("text", "number")
    ]
    may_be_codes = source.as_written() is None  # otherwise they would be numbers already
    sample = source.first_rows(columns)
    return TableReader.learn(sample, conventions, may_be_codes=may_be_codes)


def _refuse_too_few(n_unlabelled: int, table: str) -> None:
    if n_unlabelled < MIN_UNLABELLED:
        raise TableError(
            f"{table} has {n_unlabelled} unlabelled row; at least {MIN_UNLABELLED} are needed, as "
            "what is normal is learned from them. Add rows with an empty label."
        )


def _with_short_texts(batch: pa.RecordBatch, uncut: Collection[str]) -> pa.RecordBatch:
    """Texts cut to what is read of them, except in columns that stay uncut."""
    columns = [
        column if field.name in uncut else _short(column)
        for field, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _short(column: pa.Array) -> pa.Array:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    if (pc.max(pc.binary_length(column)).as_py() or 0) <= MOST_CHARACTERS:
        return column
    return pc.utf8_slice_codeunits(column, 0, MOST_CHARACTERS)


class _Named(NamedTuple):
    """The labels of anomalies and of known normal rows, as far as the caller names them."""

    anomaly: str | None
    normal: str | None


class _Strata:
    """A reservoir per label: which of two labels marks anomalies is known only at the end."""

    def __init__(
        self,
        label: str | None,
        named: _Named,
        size: int,
        generator: np.random.Generator,
    ) -> None:
        self.kept: dict[str | None, Reservoir] = {}
        self.spellings = Spellings()
        self.n_missing = 0
        self.n_rows = 0
        self._label = label
        self._named = named
        self._size = size
        self._generator = generator

    def add(self, batch: pa.RecordBatch) -> None:
        """Count labels and keep rows."""
        codes = pc.dictionary_encode(self._labels(batch), null_encoding="encode")
        values = codes.dictionary.to_pylist()
        code = codes.indices.to_numpy()
        keys = [label_key(value) or None if value else None for value in values]
        self._count(values, np.bincount(code, minlength=len(values)))
        number = self.n_rows + np.arange(len(batch))
        key = self._generator.random(len(batch))
        self.n_rows += len(batch)
        strata = [key if self._may_be_known(key) else None for key in keys]
        for stratum in dict.fromkeys(strata):
            codes_of_stratum = np.flatnonzero([one == stratum for one in strata])
            rows = np.flatnonzero(np.isin(code, codes_of_stratum))
            part = batch if len(rows) == len(batch) else batch.take(rows)
            if stratum not in self.kept:
                self.kept[stratum] = Reservoir(self._size, KEPT_BYTES)
            self.kept[stratum].add(part, number[rows], key[rows])

    def without_labels(self, summary: TableSummary) -> TrainingRows:
        """The rows of a table without labels."""
        rows = self.kept[None].sample()
        nothing = _none_of(rows)
        return TrainingRows(
            summary, rows, nothing, nothing, self.n_rows, 0, 0, "", "", None, spellings=[]
        )

    def _may_be_known(self, value: str | None) -> bool:
        """Whether it may mark anomalies or known normal rows."""
        if self._named.anomaly is None or value is None:
            return True
        return any(same_label(one, [value]) is not None for one in self._named if one is not None)

    def _labels(self, batch: pa.RecordBatch) -> pa.Array:
        if self._label is None:
            return pa.nulls(len(batch), pa.string())
        try:
            return written_label(batch[self._label])
        except pa.ArrowException:
            raise TableError(
                f"the label column {self._label!r} holds values of the type "
                f"{batch[self._label].type} that are not text; labels are numbers, booleans or "
                "text, such as 1 for a labelled anomaly. Name another column with ",
                Setting("label"),
                ".",
            ) from None

    def _count(self, values: list[str | None], counts: np.ndarray) -> None:
        for value, count in zip(values, counts.tolist(), strict=True):
            if value is None or not label_key(value):
                self.n_missing += count
            elif self._may_be_known(value) or len(self.spellings) < MAX_LABEL_VALUES:
                self.spellings.add(value, count)
        if self._label is not None and self._named.anomaly is None and len(self.spellings) > 2:
            self._refuse_many_labels(self._label)

    def _refuse_many_labels(self, label: str) -> None:
        """Give up if too many labels might mark anomalies, however many rows follow."""
        counts, normal = self.spellings.counts(), self._named.normal
        found = None if normal is None else same_label(normal, counts)
        others = {value: count for value, count in counts.items() if value != found}
        if len(others) > 2 + (normal is not None and found is None):  # its rows may come later
            find_anomaly_value(label, others, self.n_missing)
