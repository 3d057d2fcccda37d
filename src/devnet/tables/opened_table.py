"""A table opened for a model: checked once, then scored batch by batch, or explained row by row."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.read_ahead import bytes_of, map_ahead
from devnet.core.sentence import Sentence
from devnet.core.wording import shown
from devnet.detectors.base import ScoreError
from devnet.significance.policies import AlertPolicy, Threshold
from devnet.tables.chosen_rows import python_rows, row_ids, take_rows
from devnet.tables.columns.arrow_values import SINGULAR, kind_of
from devnet.tables.explainer import Explanation
from devnet.tables.label_column import has_label
from devnet.tables.readings.learned_kinds import needs_reading, readings_as_learned
from devnet.tables.readings.reading import Conventions, Reading
from devnet.tables.readings.table_reader import Tally, Unread
from devnet.tables.row_scores import RowScores, alert_threshold
from devnet.tables.seen_rows import SeenRows
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.source import Source
from devnet.tables.training_rows import OnRows

if TYPE_CHECKING:
    from devnet.tables.table_model import TableModel


class ScoredBatch(NamedTuple):
    """A batch of a table with the scores of its rows."""

    batch: pa.RecordBatch
    number: np.ndarray  # (n,) of its rows in the table, counted from 0
    scores: np.ndarray  # (n,)


class OpenedTable:
    """A table and the model that scores it.

    Parameters
    ----------
    model : TableModel
        Fitted.
    table : path, glob, frame, Arrow table or dict of columns
        Or a Source, such as a part of a table that was opened before.
    readings : mapping of str to Reading, optional
        How texts are read where the model learned plain numbers or dates, as the whole table
        decides; by default, the first rows of this one do.
    first_row : int, default=0
        The number of the first row, if the table is a part of another.

    Attributes
    ----------
    model : TableModel
    source : Source
    notes : list of str
        What is odd about the columns, and what could not be read in them. A table that cannot be
        scored raises a TableError.
    id_columns : list of str
        The column that names rows, if the table has it.
    readings : dict of str to Reading
    """

    def __init__(
        self,
        model: "TableModel",
        table: Any,
        *,
        readings: Mapping[str, Reading] | None = None,
        first_row: int = 0,
    ) -> None:
        if not hasattr(model, "fit"):
            raise TypeError(
                f"an object of the type {type(model).__name__} is not a model; the model comes "
                "first, then the table."
            )
        if not hasattr(model, "encoder_"):
            raise ValueError("this TableModel is not fitted; call fit(table, label) first.")
        self.model = model
        encoder = model.encoder_
        self._first_row = first_row
        self.source = (
            table
            if isinstance(table, Source)
            else open_table(
                table,
                types=encoder.csv_types(),
                inferred=[model.label_],
                missing=encoder.reader.missing,
                decimal_comma=model.decimal_comma,
            )
        )
        more = self.readings = dict(self._as_learned() if readings is None else readings)
        self._reader, self._tally = encoder.reader.with_more(more), Tally()
        schema = self._reader.schema(self.source.schema)
        self._notes = [
            *encoder.check(schema, self.source.name, self.source.inferred),
            *(f"{shown(name)}: {one.in_words()}" for name, one in more.items()),
        ]
        self.id_columns = [name for name in self.source.schema.names if name == model.id_column_]

    @cached_property
    def _scores(self) -> RowScores:
        return RowScores(self.model, self._reader)

    def _as_learned(self) -> dict[str, Reading]:
        """How texts are read where the model learned plain numbers or dates."""
        encoder = self.model.encoder_
        learned = {
            one.name: one.learned_from
            for one in encoder.columns
            if "text" not in one.accepts and one.name not in encoder.reader.readings
        }
        columns = needs_reading(self.source.schema, learned)
        if not columns:
            return {}
        conventions = Conventions(self.model.decimal_comma, self.model.day_first)
        return readings_as_learned(self.source.first_rows(columns), learned, conventions)

    @property
    def notes(self) -> list[str | Sentence]:
        """What is odd about the columns, and about the values that were scored last."""
        return [*self._notes, *self._reader.notes_about(self._tally)]

    @property
    def unread(self) -> dict[str, Unread]:
        """What could not be read in the rows that were scored last, by column."""
        return self._tally.unread

    def add_unread(self, unread: Mapping[str, Unread]) -> None:
        """Add what could not be read in a part of the table that was scored elsewhere."""
        self._tally.merge(unread)

    def scored_batches(
        self,
        columns: Collection[str] = (),
        *,
        known: bool = True,
        seen: SeenRows | None = None,
        on_rows: OnRows | None = None,
        n_threads: int | None = None,
    ) -> Iterator[ScoredBatch]:
        """Score the rows in their order.

        Parameters
        ----------
        columns : collection of str
            Columns that batches should have besides those that are needed.
        known : bool, default=True
            False leaves out rows that the table's own label column marks as anomalies, or as
            known to be normal.
        seen : SeenRows, optional
            Gets all rows but those.
        on_rows : callable, optional
            Gets the number of rows scored so far.
        n_threads : int, optional
            By default, one per core.
        """
        model, schema = self.model, self.source.schema
        needs_label = model.label_ in schema.names and not (known and seen is None)
        label = model.label_ if needs_label else None
        read = model.encoder_.read_columns()
        needed = [*read, *columns, *([label] if label else [])]
        source = self.source.with_codes({*read} - {*columns, label})
        batches = source.batches(list(dict.fromkeys(needed)))

        def unknown(batch: pa.RecordBatch) -> np.ndarray:
            named = [model.anomaly_, *([model.normal_] if model.normal_ is not None else [])]
            return np.flatnonzero(~np.any([has_label(batch[label], one) for one in named], axis=0))

        keep = None if known or label is None else unknown
        self._tally = Tally()
        score = partial(self._scores, tally=self._tally)
        n_threads = n_threads if model.detector_.is_thread_safe else 1
        numbered = _numbered(batches, self._first_row)
        for done, one in _score_batches(numbered, score, keep, n_threads):
            if seen is not None:
                seen.add(*one, unknown(one.batch) if label and known else None)
            yield one
            if on_rows is not None:
                on_rows(done)

    def threshold(
        self,
        policy: AlertPolicy | None = None,
        *,
        known: bool = True,
        on_rows: OnRows | None = None,
    ) -> Threshold:
        """The score above which rows are alerts, by a policy or by the model's own.

        Budgets and false discovery rates depend on all rows, so the table is scored for them.
        """
        scored = self.scored_batches(known=known, on_rows=on_rows)
        return alert_threshold(self.model, policy, (one.scores for one in scored))

    def explain(self, numbers: Sequence[int]) -> list[Explanation]:
        """Why rows have their scores, given their numbers, counted from 0."""
        columns = dict.fromkeys([*self.model.encoder_.read_columns(), *self.own_columns])
        rows = take_rows(self.source, numbers, list(columns))
        number = np.asarray(numbers, dtype=np.int64)
        return self.explain_rows(rows, number, self.own_values(rows, number))

    def explain_rows(
        self, rows: pa.Table, number: np.ndarray, values: pa.Table
    ) -> list[Explanation]:
        """Why rows that were read have their scores.

        Takes their numbers in the table, and their values from `own_values`.
        """
        model = self.model
        ids, written = (row_ids(one, model.id_column_, number) for one in (rows, values))
        rows, ranks = self.as_read(rows), model.calibration_.ranks()
        explained = model.explainer_.explain(rows, number, ids, ranks)
        return [
            one._replace(id=name, values=own)
            for one, name, own in zip(explained, written, python_rows(values), strict=True)
        ]

    def as_read(self, rows: pa.Table) -> pa.Table:
        """Rows with their values read as the model learned them, except what names rows."""
        parts = [self._reader.read(part, Tally(), self.id_columns) for part in rows.to_batches()]
        return pa.Table.from_batches(parts, parts[0].schema) if parts else rows

    @cached_property
    def own_columns(self) -> list[str]:
        """Columns that rows must be read with for `own_values`; nested ones are left out."""
        if self._written is not None:
            return self.id_columns
        fields = self.source.schema
        return [one.name for one in fields if kind_of(one.type).name in SINGULAR]

    @cached_property
    def _written(self) -> Source | None:
        return self.source.as_written()

    def own_values(self, rows: pa.Table, number: np.ndarray) -> pa.Table:
        """All values of rows that were read, as they are written if the table is text.

        A text file is read once more for them. Vectors and other nested values are left out.
        """
        if self._written is not None:
            return take_rows(self._written, number.tolist(), self._written.schema.names)
        return rows.select(self.own_columns)


def _score_batches(
    numbered: Iterator[tuple[int, pa.RecordBatch]],
    score: Callable[[pa.RecordBatch], np.ndarray],
    keep: Callable[[pa.RecordBatch], np.ndarray] | None,
    n_threads: int | None,
) -> Iterator[tuple[int, ScoredBatch]]:
    """Scored batches in order, each with the number of rows done, by several threads at once.

    `keep` picks the positions of a batch's rows that are scored; None keeps all.
    """

    def scored(one: tuple[int, pa.RecordBatch]) -> tuple[int, ScoredBatch]:
        start, batch = one
        done = start + len(batch)
        number = np.arange(start, done)
        if keep is not None:
            kept = keep(batch)
            batch, number = batch.take(kept), number[kept]
        try:
            scores = score(batch)
        except ScoreError as error:
            raise error.at(int(number[error.row])) from None
        return done, ScoredBatch(batch, number, scores)

    return map_ahead(scored, numbered, n_threads, size=lambda one: bytes_of(one[1]))


def _numbered(
    batches: Iterator[pa.RecordBatch], start: int
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches, each with the number of its first row."""
    for batch in batches:
        yield start, batch
        start += len(batch)
