"""The rows of a training table to learn from, and what its columns are like.

A fit draws a limited number of rows however long the table is, so only a uniform sample of that
many unlabelled rows must stay in memory.
"""

from collections.abc import Collection
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.label_column import find_label_values, label_key
from devnet.tables.label_strata import ManyLabelsError, NamedLabels
from devnet.tables.readings.reading import BY_VALUES, Conventions
from devnet.tables.readings.table_reader import OtherReading, TableReader
from devnet.tables.reservoir import Reservoir, Sample, smallest
from devnet.tables.sources.parts import Part, Spread, first_numbers, whole
from devnet.tables.sources.source import Source
from devnet.tables.table_error import TableError, UnfitValueError
from devnet.tables.table_summary import TableSummary, known_column
from devnet.tables.training_pass import (
    OnRows,
    Stopped,
    TrainingPass,
    TrainingPlan,
    merge,
    read_part,
    try_part,
)

__all__ = ["OnRows", "TrainingRows", "read_training_rows"]

KEPT_ROWS = 1 << 18  # more than the 256,000 that the paper's training draws
KEPT_VALUES = 1 << 26  # values in them, if a table has very many columns
MIN_KEPT_ROWS = 20_000
KEPT_BYTES = 1 << 29  # bytes in them, if rows are long
MIN_UNLABELLED = 2  # rows; with fewer, nothing says what is normal


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
    needs_anomalies: bool = True,
    ignore: Collection[str] = (),
    categorical: Collection[str] = (),
    id_column: str | None = None,
    conventions: Conventions = BY_VALUES,
    also_read: Collection[str] = (),
    generator: np.random.Generator,
    spread: Spread | None = None,
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
    needs_anomalies : bool, default=True
        Whether labels that are all of normal rows are refused.
    ignore, categorical : collections of str
        Columns that are not read; columns that are categories whatever their type.
    id_column : str, optional
        A column that names rows; it is read, but not learned from.
    conventions : Conventions
        How the table writes numbers, dates and missing values, where the caller says so.
    also_read : collection of str
        Columns that are read and kept uncut even if they are not learned from.
    generator : numpy Generator
        Draws a seed that decides, with the numbers of rows, which of them are kept.
    spread : Spread, optional
        How the parts of the table are read, for example by a cluster; by default it is read here,
        from its first row to its last. The result is the same.
    on_rows : callable, optional
        Gets the number of rows read so far.
    """
    unused = {*ignore, *([id_column] if id_column else [])}
    labels = {label} if label is not None else set()
    for name in labels:
        known_column(name, source.schema)  # before anything is read: wide tables take long
    as_written = {*labels, *(unused - {*also_read}), *categorical}
    reader = _learned_reader(source, conventions, as_written)
    uncut = frozenset({*labels, *([id_column] if id_column else []), *also_read})
    named, seed = NamedLabels(anomaly, normal), int(generator.integers(2**63))
    first = None if spread is None else first_numbers(source, spread)
    while True:
        schema = reader.schema(source.schema)
        summary = TableSummary(
            schema, label=label, ignore=unused, categorical=categorical, reader=reader
        )
        plan = _planned(source, summary, named, id_column, uncut, seed)
        try:
            if spread is None or first is None:
                seen = read_part(plan, whole(source), on_rows)
            else:
                seen = _read_parts(source, plan, first, spread, on_rows)
            return _training_rows(seen, plan, source, needs_anomalies)
        except OtherReading as found:
            reader = reader.with_more({found.name: found.reading})
        except UnfitValueError as error:
            source = source.with_text(error.column)
            reading = _learned_reader(source, conventions, as_written).readings.get(error.column)
            if reading is None or error.column in reader.readings:
                raise
            reader = reader.with_more({error.column: reading})


def _planned(
    source: Source,
    summary: TableSummary,
    named: NamedLabels,
    id_column: str | None,
    uncut: frozenset[str],
    seed: int,
) -> TrainingPlan:
    needed = {*summary.needed(), *uncut}
    columns = tuple(name for name in source.schema.names if name in needed)
    return TrainingPlan(
        summary,
        named,
        columns,
        untouched=frozenset({summary.label, id_column}),
        uncut=uncut,
        size=min(KEPT_ROWS, max(KEPT_VALUES // len(columns), MIN_KEPT_ROWS)),
        n_bytes=KEPT_BYTES,
        seed=seed,
        has_doubts=not source.is_once,
    )


def _read_parts(
    source: Source, plan: TrainingPlan, first: list[int], spread: Spread, on_rows: OnRows | None
) -> TrainingPass:
    """Read the parts of a table wherever they are spread to, given the numbers of first rows."""
    sources = source.parts()
    parts = [Part(i, *one) for i, one in enumerate(zip(first, sources, strict=True))]
    seen = spread(partial(try_part, plan), merge, parts)
    try:
        if isinstance(seen, Stopped):
            raise seen.reason
        seen.strata.refuse_many_labels()
    except ManyLabelsError:  # which ones a message names is told by the first rows of the table
        seen = read_part(plan, whole(source))
    if on_rows is not None:
        on_rows(seen.strata.n_rows)
    found: TrainingPass = seen
    return found


def _training_rows(
    seen: TrainingPass, plan: TrainingPlan, source: Source, needs_anomalies: bool
) -> TrainingRows:
    """The rows to learn from, of all that a pass kept."""
    summary, strata, label = seen.summary, seen.strata, seen.summary.label
    if strata.n_rows == 0:
        raise TableError(
            f"{source.name} has no rows, only the columns {', '.join(source.schema.names[:5])}; "
            "give a table with rows to learn from."
        )
    summary.reader = summary.reader.counted(seen.unread())
    if label is None:
        rows = strata.kept[None].sample()
        nothing = _none_of(rows)
        return TrainingRows(
            summary, rows, nothing, nothing, strata.n_rows, 0, 0, "", "", None, spellings=[]
        )
    counts = strata.counts()
    value, normal = find_label_values(
        label, counts, strata.n_missing, *plan.named, needs_anomalies=needs_anomalies
    )
    n_labelled = counts.get(value, 0)
    _refuse_too_few(strata.n_rows - n_labelled, source.name)
    kept = dict(strata.kept)
    labelled, known = (
        kept.pop(label_key(one)).sample() if one in counts else None for one in (value, normal)
    )
    nothing = _none_of(next(one for one in (labelled, known) if one is not None))
    return TrainingRows(
        summary,
        reduce(Reservoir.merged, kept.values()).sample() if kept else nothing,
        nothing if known is None else known,
        nothing if labelled is None else labelled,
        strata.n_rows,
        0 if normal is None else counts[normal],
        n_labelled,
        label,
        value,
        normal,
        strata.spellings.of(value) if n_labelled else [],
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
