"""A pass over some rows of a training table; passes over its parts become one over all of it.

What a pass keeps does not depend on batches, on how a table is cut into parts, or on the order in
which parts are read and merged: sums are exact, and numbers of rows decide what must be decided.
"""

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.columns.ngrams import MOST_CHARACTERS
from devnet.tables.label_strata import LabelStrata, NamedLabels
from devnet.tables.readings.table_reader import OtherReading, Tally, Unread
from devnet.tables.sources.parts import Part
from devnet.tables.table_error import TableError
from devnet.tables.table_summary import TableSummary

OnRows = Callable[[int], None]
"""Called after each batch with the number of rows done."""


@dataclass(frozen=True)
class TrainingPlan:
    """How rows are read, the same for all parts of a table."""

    summary: TableSummary  # of no rows yet
    named: NamedLabels
    columns: tuple[str, ...]  # that are read
    untouched: frozenset[str | None]  # columns whose values are taken as they are
    uncut: frozenset[str]  # columns whose texts are kept whole
    size: int  # rows to keep of each label
    n_bytes: float  # in them
    seed: int  # decides, with their numbers, which rows are kept
    has_doubts: bool  # whether a value may show that others should be read in another way


class TrainingPass:
    """What rows of a table are like, and the rows to learn from.

    Attributes
    ----------
    summary : TableSummary
    strata : LabelStrata
    """

    def __init__(self, plan: TrainingPlan) -> None:
        self.summary = deepcopy(plan.summary)
        self.strata = LabelStrata(
            plan.summary.label, plan.named, plan.size, plan.n_bytes, plan.seed
        )
        self._unread: dict[str, tuple[int, Unread]] = {}  # by column, and the part's first row

    def read(self, plan: TrainingPlan, part: Part, on_rows: OnRows | None) -> None:
        """Read all rows of a part."""
        tally, first = Tally(doubts=plan.has_doubts), part.first
        for batch in part.source.batches(plan.columns):
            batch = self.summary.reader.read(batch, tally, plan.untouched)
            self.summary.add(batch)
            self.strata.add(_with_short_texts(batch, plan.uncut), first)
            first += len(batch)
            if on_rows is not None:
                on_rows(self.strata.n_rows)
        self._unread = {name: (part.first, one) for name, one in tally.unread.items()}

    def merged(self, other: "TrainingPass") -> "TrainingPass":
        """What is known of the rows of both."""
        found = copy(self)
        found.summary = self.summary.merged(other.summary)
        found.strata = self.strata.merged(other.strata)
        found._unread = dict(self._unread)
        for name, (first, unread) in other._unread.items():
            known_first, known = self._unread.get(name, (first, unread._replace(n_values=0)))
            example = known.example if known_first < first else unread.example
            n_values = known.n_values + unread.n_values
            found._unread[name] = min(first, known_first), Unread(n_values, example)
        return found

    def unread(self) -> dict[str, Unread]:
        """What could not be read, by column."""
        return {name: one for name, (_, one) in self._unread.items()}


def read_part(plan: TrainingPlan, part: Part, on_rows: OnRows | None = None) -> TrainingPass:
    """A pass over a part of a table."""
    found = TrainingPass(plan)
    found.read(plan, part, on_rows)
    return found


class Stopped(NamedTuple):
    """Why a part was not read to its end."""

    number: int  # of the part
    reason: Exception


def try_part(plan: TrainingPlan, part: Part) -> TrainingPass | Stopped:
    """A pass over a part of a table, to be sent to another process; or why there is none."""
    try:
        found = read_part(plan, part)
    except (TableError, OSError, OtherReading) as reason:
        return Stopped(part.number, reason)
    found.strata.shrink()
    return found


def merge(one: TrainingPass | Stopped, other: TrainingPass | Stopped) -> TrainingPass | Stopped:
    """Both as one; the earliest part that was not read decides, as if all were read in order."""
    if isinstance(one, Stopped) and isinstance(other, Stopped):
        return one if one.number < other.number else other
    if isinstance(one, Stopped):
        return one
    if isinstance(other, Stopped):
        return other
    found = one.merged(other)
    found.strata.shrink()
    return found


def _with_short_texts(batch: pa.RecordBatch, uncut: frozenset[str]) -> pa.RecordBatch:
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
