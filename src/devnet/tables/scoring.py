"""Scoring from file to file, batch by batch: a table of any length in the memory of a batch."""

from pathlib import Path
from typing import Any, NamedTuple

from devnet.core.sentence import Sentence
from devnet.significance.policies import Alarm, AlertPolicy
from devnet.tables.description import policy_notes
from devnet.tables.drift import Watch
from devnet.tables.opened_table import OpenedTable
from devnet.tables.output import check_output, is_text_file, open_output
from devnet.tables.overwriting import refuse_overwriting
from devnet.tables.score_columns import ALERT
from devnet.tables.sources.source import Source
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows
from devnet.tables.written_rows import WrittenRows


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
    refuse_overwriting(table, output, model=model.file)
    rows = WrittenRows(opened, only_id=only_id, is_text=is_text_file(output))
    check_output(output, rows.schema, spreadsheet_safe=spreadsheet_safe)
    chosen = policy or model.policy
    threshold = opened.threshold(chosen, on_rows=on_rows)
    alarm, watch = Alarm(threshold), Watch(opened, chosen)
    n_rows = n_alerts = 0
    with open_output(
        output, rows.schema, rows.distinct, spreadsheet_safe=spreadsheet_safe
    ) as write:
        for batch in rows.batches(alarm, seen=watch.seen, on_rows=on_rows):
            write(batch)
            n_rows += len(batch)
            n_alerts += batch[ALERT].true_count
    notes = scoring_notes(opened, chosen, watch)
    return ScoredFile(n_rows, n_alerts, threshold.score, chosen.in_words(), notes)


def scoring_notes(opened: OpenedTable, policy: AlertPolicy, watch: Watch) -> list[str | Sentence]:
    """What is odd about a table that was scored, and what has changed."""
    return [
        *opened.notes,
        *_learned_rows(opened.model, opened.source),
        *policy_notes(opened.model, policy),
        *watch.drift().in_short(),
    ]


def _learned_rows(model: TableModel, source: Source) -> list[str]:
    """A note if training rows may be among the scored ones."""
    if model.label_ not in source.schema.names:
        return []
    return [
        f"rows with {model.label_} = {model.anomaly_} that were learned from score higher than new "
        "ones would; the report of the fit shows how many are found unseen."
    ]
