"""Scoring from file to file, batch by batch: a table of any length in the memory of a batch."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Sentence, Setting
from devnet.significance.policies import Alarm, AlertPolicy, Threshold
from devnet.tables.description import policy_notes
from devnet.tables.drift import Watch
from devnet.tables.opened_table import OpenedTable, ScoredBatch
from devnet.tables.output import check_output, is_text_file, open_output
from devnet.tables.overwriting import refuse_overwriting
from devnet.tables.row_scores import scored_columns
from devnet.tables.score_columns import NOMINAL, SCORE
from devnet.tables.sources.source import Source
from devnet.tables.sources.table_file import changed
from devnet.tables.table_error import TableError
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows

ROW = "row"  # the column that numbers rows without names
DISTINCT = (SCORE, NOMINAL)  # columns with nearly all values distinct


class ScoredFile(NamedTuple):
    """What was written."""

    n_rows: int
    n_alerts: int
    threshold: float
    policy: str  # which rows are alerts, in words
    notes: list[str | Sentence]  # what is odd about the table, and what has changed


def score_table(
    model: TableModel,
    table: Any,
    output: str | Path,
    *,
    only_id: bool = False,
    policy: AlertPolicy | None = None,
    spreadsheet_safe: bool = False,
    on_rows: OnRows | None = None,
) -> ScoredFile:
    """Write a table with its scores, p-values and alerts to a Parquet, CSV or Arrow file.

    The file appears only when it is complete; it never replaces the table or the model's file.
    Policies that depend on all rows (a budget, a false discovery rate) take an extra pass first.
    Values of a text file are written as they are in it, except that columns used by the model
    have types if the output has any.

    Parameters
    ----------
    model : TableModel
    table : path, glob, frame, Arrow table or dict of columns
    output : str or path
    only_id : bool, default=False
        Leave out the table's columns except the one that names rows; without one, rows are
        numbered from 0.
    policy : AlertPolicy, optional
        Used instead of the model's.
    spreadsheet_safe : bool, default=False
        True puts an apostrophe before texts of a CSV file that begin with = + - or @, which a
        spreadsheet would run as formulas.
    on_rows : callable, optional
        Gets the number of rows scored so far.
    """
    opened = OpenedTable(model, table)
    source = opened.source
    refuse_overwriting(table, output, model=model.file)
    names = opened.id_columns if only_id else list(source.schema.names)
    kept = _PassedColumns.choose(model, source, names, is_text=is_text_file(output))
    schema = _schema(model, source.name, kept)
    check_output(output, schema, spreadsheet_safe=spreadsheet_safe)
    chosen = policy or model.policy
    threshold = opened.threshold(chosen, on_rows=on_rows)
    alarm, watch = Alarm(threshold), Watch(opened, chosen)
    n_rows = n_alerts = 0
    distinct = [ROW, *opened.id_columns, *DISTINCT]
    with open_output(output, schema, distinct, spreadsheet_safe=spreadsheet_safe) as write:
        scored = opened.scored_batches(kept.typed, seen=watch.seen, on_rows=on_rows)
        for (batch, number, scores), passed in kept.with_texts(scored, source.name):
            columns = kept.columns(batch, passed) or {ROW: number}
            columns |= scored_columns(model, scores, alarm)
            write(pa.RecordBatch.from_pydict(columns, schema))
            n_rows += len(batch)
            n_alerts += int(columns["is_alert"].sum())
    notes = [
        *opened.notes,
        *_learned_rows(model, source),
        *policy_notes(model, chosen),
        *watch.drift().in_short(),
    ]
    return ScoredFile(n_rows, n_alerts, threshold.score, chosen.in_words(), notes)


class _PassedColumns(NamedTuple):
    """Columns of the table that are written, and where they come from."""

    fields: list[pa.Field]
    typed: list[str]  # those written as the model reads them
    texts: Source | None  # of the others, as a text file has them

    @classmethod
    def choose(
        cls, model: TableModel, source: Source, names: list[str], is_text: bool
    ) -> "_PassedColumns":
        """Take text as written for all columns, or for those that the model does not use."""
        used = [] if is_text else model.encoder_.read_columns()
        texts = source.as_written()
        typed = [name for name in names if texts is None or name in used]
        if texts is None or len(typed) == len(names):
            return cls([source.schema.field(name) for name in names], typed, None)
        found = [(source if name in used else texts).schema.field(name) for name in names]
        return cls(found, typed, texts)

    def with_texts(
        self, scored: Iterator[ScoredBatch], table: str
    ) -> Iterator[tuple[ScoredBatch, pa.RecordBatch | None]]:
        """Scored batches, each with the texts of its rows."""
        if self.texts is None:
            yield from ((one, None) for one in scored)
            return
        names = [field.name for field in self.fields if field.name not in self.typed]
        texts = self.texts.batches(names)
        for one in scored:
            passed = next(texts, None)
            if passed is None or len(passed) != len(one.batch):
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


def _schema(model: TableModel, table: str, kept: _PassedColumns) -> pa.Schema:
    """Columns of the output: those that are kept, or the row's number, and what is added."""
    nothing: np.ndarray = np.empty(0)
    columns = scored_columns(model, nothing, Alarm(Threshold(0.0)))
    added = pa.RecordBatch.from_pydict(columns).schema
    _refuse_double_names(table, [field.name for field in kept.fields], added.names)
    return pa.schema([*(kept.fields or [pa.field(ROW, pa.int64())]), *added])


def _learned_rows(model: TableModel, source: Source) -> list[str]:
    """A note if training rows may be among the scored ones."""
    if model.label_ not in source.schema.names:
        return []
    return [
        f"rows with {model.label_} = {model.anomaly_} that were learned from score higher than new "
        "ones would; the report of the fit shows how many are found unseen."
    ]


def _refuse_double_names(table: str, kept: list[str], added: list[str]) -> None:
    double = [name for name in added if name in kept]
    if double:
        raise TableError(
            f"{table} has a column {double[0]!r} already; was it scored before? Score the "
            "original table, or leave the table's columns out with ",
            Setting("only_id", True),
            ".",
        )
