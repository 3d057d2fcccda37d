"""Alerts: the highest rows of a table, ranked, with reasons."""

from typing import Any, NamedTuple

import numpy as np

from devnet.core.sentence import Sentence
from devnet.significance.policies import Alarm, AlertPolicy
from devnet.tables.description import policy_notes
from devnet.tables.explainer import Explanation
from devnet.tables.opened_table import OpenedTable
from devnet.tables.reservoir import Reservoir
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows

N_SHOWN = 20


class Alerts(NamedTuple):
    """The alerts of a policy in a table."""

    n_rows: int  # scored
    n_known: int  # left out: the table already labels them as anomalies
    n_alerts: int
    threshold: float
    shown: list[Explanation]  # the highest ones, the highest first
    notes: list[str | Sentence]  # what is odd about the table's columns


def find_alerts(
    model: TableModel,
    table: Any,
    *,
    policy: AlertPolicy | None = None,
    n_shown: int = N_SHOWN,
    known: bool = False,
    on_rows: OnRows | None = None,
) -> Alerts:
    """Find the rows of a table that are alerts, and explain the highest.

    Parameters
    ----------
    model : TableModel
    table : path, glob, frame, Arrow table or dict of columns
    policy : AlertPolicy, optional
        Used instead of the model's.
    n_shown : int, default=20
        Alerts that are explained; all of them are counted.
    known : bool, default=False
        True also raises alerts for rows that the table's own label column marks as anomalies.
    on_rows : callable, optional
        Gets the number of rows scored so far.
    """
    opened = OpenedTable(model, table)
    threshold = opened.threshold(policy, known=known, on_rows=on_rows)
    alarm, highest = Alarm(threshold), Reservoir(n_shown)
    n_rows = n_alerts = n_done = 0

    def count(done: int) -> None:
        nonlocal n_done
        n_done = done
        if on_rows is not None:
            on_rows(done)

    scored = opened.scored_batches(opened.id_columns, known=known, on_rows=count)
    for batch, number, scores in scored:
        alerts = np.flatnonzero(alarm(scores))
        highest.add(batch.take(alerts), number[alerts], -scores[alerts])
        n_rows, n_alerts = n_rows + len(scores), n_alerts + len(alerts)
    shown: list[Explanation] = []
    if n_alerts:
        rows, numbers, key = highest.sample()
        order = np.argsort(key, kind="stable")
        shown = opened.explain_rows(rows.take(order), numbers[order])
    notes = [*opened.notes, *policy_notes(model, policy)]
    return Alerts(n_rows, n_done - n_rows, n_alerts, threshold.score, shown, notes)
