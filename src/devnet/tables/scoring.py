"""Scoring from file to file, batch by batch: a table of any length in the memory of a batch."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.alert_policies import Alarm, AlertPolicy, Threshold
from devnet.tables.output import open_output
from devnet.tables.source import Source
from devnet.tables.table_error import TableError
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows
from devnet.whole_file import check_target

ROW = "row"  # the column that numbers rows which have no names
DISTINCT = ("anomaly_score", "nominal_p_value")  # columns whose values nearly all differ


class ScoredFile(NamedTuple):
    """What was written."""

    n_rows: int
    n_alerts: int
    threshold: float
    policy: str  # which rows are alerts, in words
    notes: list[str]  # what was odd about the table's columns


def score_table(
    model: TableModel,
    table: Any,
    output: str | Path,
    *,
    only_id: bool = False,
    policy: AlertPolicy | None = None,
    on_rows: OnRows | None = None,
) -> ScoredFile:
    """Write a table with its scores, p-values and alerts to a Parquet, CSV or Arrow file.

    The file appears under its name only when it is whole. Policies that depend on the whole
    table (a budget, a false discovery rate) take a pass of their own first.

    Parameters
    ----------
    model : TableModel
    table : path, glob, frame, Arrow table or dict of columns
    output : str or path
    only_id : bool, default=False
        Leave out the table's columns but for the one that names rows; where there is none, rows
        are numbered from 0.
    policy : AlertPolicy, optional
        Instead of the model's.
    on_rows : callable, optional
        Is told the number of rows that are done.
    """
    source, notes = model.open(table)
    _refuse_overwriting(table, output)
    check_target(Path(output))
    kept = model.id_columns(source) if only_id else list(source.schema.names)
    chosen = policy or model.policy
    threshold = model.threshold(source, chosen, on_rows=on_rows)
    alarm = Alarm(threshold)
    n_rows = n_alerts = 0
    distinct = [ROW, *model.id_columns(source), *DISTINCT]
    with open_output(output, _schema(model, source, kept), distinct) as write:
        for batch, number, scores in model.scored_batches(source, kept, on_rows=on_rows):
            columns = {name: batch[name] for name in kept} or {ROW: number}
            columns |= model.columns_of(scores, alarm)
            write(pa.RecordBatch.from_pydict(columns))
            n_rows += len(batch)
            n_alerts += int(columns["is_alert"].sum())
    warning = model.policy_warning(chosen)
    notes = [*notes, *([warning] if warning else [])]
    return ScoredFile(n_rows, n_alerts, threshold.score, chosen.in_words(), notes)


def _schema(model: TableModel, source: Source, kept: list[str]) -> pa.Schema:
    """Columns of the output: those that are kept, or the row's number, and what is added."""
    nothing: np.ndarray = np.empty(0)
    added = pa.RecordBatch.from_pydict(model.columns_of(nothing, Alarm(Threshold(0.0)))).schema
    _refuse_double_names(source.name, kept, added.names)
    fields = [source.schema.field(name) for name in kept] or [pa.field(ROW, pa.int64())]
    return pa.schema([*fields, *added])


def _refuse_double_names(table: str, kept: list[str], added: list[str]) -> None:
    double = [name for name in added if name in kept]
    if double:
        raise TableError(
            f"{table} has a column {double[0]!r} already, was it scored before? Score the table "
            "that it was made from, or leave the table's columns out with --only-id."
        )


def _refuse_overwriting(table: Any, output: str | Path) -> None:
    is_path = isinstance(table, str | Path) and Path(table).exists()
    if is_path and Path(output).exists() and Path(output).samefile(table):
        raise TableError(f"the output {output} is the table itself; give another name.")
