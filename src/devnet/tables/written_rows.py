"""The rows of a scored table as they are written: its own columns, and what the model adds."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar, final

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Setting
from devnet.significance.policies import Alarm, Threshold
from devnet.tables.opened_table import OpenedTable
from devnet.tables.row_scores import scored_columns
from devnet.tables.score_columns import NOMINAL, SCORE
from devnet.tables.seen_rows import SeenRows
from devnet.tables.sources.source import Source
from devnet.tables.sources.table_file import changed
from devnet.tables.table_error import TableError
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows

Batch = TypeVar("Batch")
ROW = "row"  # the column that numbers rows without names
DISTINCT = (SCORE, NOMINAL)  # columns with nearly all values distinct


@final
class WrittenRows:
    """The rows of a table with their scores, batch by batch.

    Parameters
    ----------
    opened : OpenedTable
    only_id : bool
        Leave out the table's columns except the one that names rows, or number rows.
    is_text : bool, default=False
        Whether they are written to a text file, with values as they are in the table.

    Attributes
    ----------
    schema : pyarrow.Schema
    distinct : list of str
        Columns with nearly all values distinct.
    """

    def __init__(self, opened: OpenedTable, *, only_id: bool, is_text: bool = False) -> None:
        model, source = opened.model, opened.source
        names = opened.id_columns if only_id else list(source.schema.names)
        self._opened = opened
        self._kept = PassedColumns.choose(model, source, names, is_text=is_text)
        nothing: np.ndarray = np.empty(0)
        columns = scored_columns(model, nothing, Alarm(Threshold(0.0)))
        added = pa.RecordBatch.from_pydict(columns).schema
        self.schema = self._kept.schema(source.name, added)
        self.distinct = [ROW, *opened.id_columns, *DISTINCT]

    def batches(
        self,
        alarm: Alarm,
        *,
        seen: SeenRows | None = None,
        on_rows: OnRows | None = None,
        n_threads: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Score the rows in their order; see `OpenedTable.scored_batches`."""
        opened, kept = self._opened, self._kept
        scored = opened.scored_batches(kept.typed, seen=seen, on_rows=on_rows, n_threads=n_threads)
        with_texts = kept.with_texts(scored, opened.source.name, lambda one: len(one.batch))
        for (batch, number, scores), passed in with_texts:
            columns = kept.columns(batch, passed) or {ROW: number}
            columns |= scored_columns(opened.model, scores, alarm)
            yield pa.RecordBatch.from_pydict(columns, self.schema)


class PassedColumns(NamedTuple):
    """Columns of the table that are written, and where they come from."""

    fields: list[pa.Field]
    typed: list[str]  # those written as the model reads them
    texts: Source | None  # of the others, as a text file has them

    @classmethod
    def choose(
        cls, model: TableModel, source: Source, names: list[str], is_text: bool
    ) -> "PassedColumns":
        """Take text as written for all columns, or for those that the model does not use."""
        used = [] if is_text else model.encoder_.read_columns()
        texts = source.as_written()
        typed = [name for name in names if texts is None or name in used]
        if texts is None or len(typed) == len(names):
            return cls([source.schema.field(name) for name in names], typed, None)
        found = [(source if name in used else texts).schema.field(name) for name in names]
        return cls(found, typed, texts)

    def schema(self, table: str, added: pa.Schema) -> pa.Schema:
        """What is written: these columns, or the row's number, and what a model adds."""
        names = [field.name for field in self.fields]
        double = [name for name in added.names if name in names]
        if double:
            raise TableError(
                f"{table} has a column {double[0]!r} already; was it scored before? Score the "
                "original table, or leave the table's columns out with ",
                Setting("only_id", True),
                ".",
            )
        return pa.schema([*(self.fields or [pa.field(ROW, pa.int64())]), *added])

    def with_texts(
        self, batches: Iterator[Batch], table: str, n_rows: Callable[[Batch], int]
    ) -> Iterator[tuple[Batch, pa.RecordBatch | None]]:
        """Batches, each with the texts of its rows; `n_rows` tells how many they are."""
        if self.texts is None:
            yield from ((one, None) for one in batches)
            return
        names = [field.name for field in self.fields if field.name not in self.typed]
        texts = self.texts.batches(names)
        for one in batches:
            passed = next(texts, None)
            if passed is None or len(passed) != n_rows(one):
                raise changed(table)
            yield one, passed

    def columns(self, batch: pa.RecordBatch, passed: pa.RecordBatch | None) -> dict[str, Any]:
        """The columns of a batch to write."""
        return {
            field.name: batch[field.name]
            if passed is None or field.name in self.typed
            else passed[field.name]
            for field in self.fields
        }
