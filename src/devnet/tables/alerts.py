"""Alerts: the highest rows of a table, ranked, with reasons."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Sentence
from devnet.significance.policies import Alarm, AlertPolicy
from devnet.tables.description import policy_notes
from devnet.tables.drift import Watch
from devnet.tables.explainer import N_REASONS, Explanation
from devnet.tables.folding import fold
from devnet.tables.opened_table import OpenedTable
from devnet.tables.reservoir import Reservoir, Sample
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows

N_SHOWN = 20
N_MORE = 1000  # alerts that may be like those shown
REASON_TYPES = {"text": pa.string(), "column": pa.string(), "contribution": pa.float64()}


class Alerts(NamedTuple):
    """The alerts of a policy in a table."""

    n_rows: int  # scored
    n_known: int  # left out: the table already labels them, as anomalies or as normal
    n_alerts: int
    threshold: float
    shown: list[Explanation]  # the highest ones, the highest first; near-duplicates are folded
    notes: list[str | Sentence]  # what is odd about the table, and what has changed
    values: pa.Table | None = None  # the table's values of the rows in `unfolded`

    def unfolded(self) -> list[Explanation]:
        """All alerts that are shown, each followed by those like it."""
        return [one for leader in self.shown for one in (leader, *leader.like_it)]

    def to_table(self) -> pa.Table:
        """A row for each alert in `unfolded`: its score, its reasons and the table's values.

        `like_row` is the row of the alert that it is folded into. A column of the table whose name
        is already taken gets the prefix `table_`.
        """
        ranked = [
            (rank, None if one is leader else leader.row, one)
            for rank, leader in enumerate(self.shown, start=1)
            for one in (leader, *leader.like_it)
        ]
        table = pa.table(_columns(ranked))
        own = pa.table({}) if self.values is None else self.values
        for name, column in zip(own.column_names, own.columns, strict=True):
            taken = name in table.column_names
            table = table.append_column(f"table_{name}" if taken else name, column)
        return table


def _columns(ranked: list[tuple[int, int | None, Explanation]]) -> dict[str, pa.Array]:
    """The columns of a table of alerts that the model adds."""
    alerts = [one for _, _, one in ranked]
    columns = {
        "rank": pa.array([rank for rank, _, _ in ranked], pa.int64()),
        "id": pa.array([one.id for one in alerts], pa.string()),
        "row": pa.array([one.row for one in alerts], pa.int64()),
        "like_row": pa.array([like for _, like, _ in ranked], pa.int64()),
        "score": pa.array([one.score for one in alerts], pa.float64()),
        "p_value": pa.array([one.p_value for one in alerts], pa.float64()),
    }
    for i in range(N_REASONS):
        given = [one.reasons[i] if i < len(one.reasons) else None for one in alerts]
        for name, kind in REASON_TYPES.items():
            found = [None if reason is None else getattr(reason, name) for reason in given]
            columns[f"{'reason' if name == 'text' else name}_{i + 1}"] = pa.array(found, kind)
    nearest = pa.array([one.nearest for one in alerts], pa.string())
    return {**columns, "most_like_labelled": nearest}


def find_alerts(
    model: TableModel,
    table: Any,
    *,
    policy: AlertPolicy | None = None,
    n_shown: int | None = N_SHOWN,
    known: bool = False,
    on_rows: OnRows | None = None,
) -> Alerts:
    """Find the rows of a table that are alerts, and explain the highest.

    An alert that is nearly the same row as a higher one is folded into it, see `like_it`.

    Parameters
    ----------
    model : TableModel
    table : path, glob, frame, Arrow table or dict of columns
    policy : AlertPolicy, optional
        Used instead of the model's.
    n_shown : int, default=20
        Alerts that are explained, not counting those folded into them; None explains all. All
        alerts are counted.
    known : bool, default=False
        True also raises alerts for rows that the table's own label column marks as anomalies, or
        as known to be normal.
    on_rows : callable, optional
        Gets the number of rows scored so far.
    """
    opened = OpenedTable(model, table)
    return alerts_in(opened, policy=policy, n_shown=n_shown, known=known, on_rows=on_rows)


def alerts_in(
    opened: OpenedTable,
    *,
    policy: AlertPolicy | None = None,
    n_shown: int | None = N_SHOWN,
    known: bool = False,
    on_rows: OnRows | None = None,
) -> Alerts:
    """The alerts of a table that is open already; parameters as for `find_alerts`."""
    model = opened.model
    threshold = opened.threshold(policy, known=known, on_rows=on_rows)
    alarm, watch = Alarm(threshold), Watch(opened, policy)
    highest = Reservoir(sys.maxsize if n_shown is None else n_shown + N_MORE)
    n_rows = n_alerts = n_done = 0

    def count(done: int) -> None:
        nonlocal n_done
        n_done = done
        if on_rows is not None:
            on_rows(done)

    read = model.encoder_.read_columns()
    own = [name for name in opened.own_columns if name not in read]
    scored = opened.scored_batches(own, known=known, seen=watch.seen, on_rows=count)
    for batch, number, scores in scored:
        alerts = np.flatnonzero(alarm(scores))
        highest.add(batch.take(alerts), number[alerts], -scores[alerts])
        n_rows, n_alerts = n_rows + len(scores), n_alerts + len(alerts)
    notes = [*opened.notes, *policy_notes(model, policy), *watch.drift().in_short()]
    found = Alerts(n_rows, n_done - n_rows, n_alerts, threshold.score, [], notes)
    if not n_alerts:
        return found
    shown, values = _explain_highest(opened, model, highest.sample(), n_shown)
    return found._replace(shown=shown, values=values)


def _explain_highest(
    opened: OpenedTable, model: TableModel, kept: Sample, n_shown: int | None
) -> tuple[list[Explanation], pa.Table]:
    """The highest alerts, near-duplicates folded, and the table's values of all of them."""
    order = np.argsort(kept.key, kind="stable")
    rows, numbers, scores = kept.rows.take(order), kept.number[order], -kept.key[order]
    encoded = model.encoder_.encode_checked(opened.as_read(rows))
    groups = fold(model.encoder_, encoded, scores)[:n_shown]
    members = np.concatenate(groups)
    rows, numbers = rows.take(members), numbers[members]
    values = opened.own_values(rows, numbers)
    explained = iter(opened.explain_rows(rows, numbers, values))
    shown = []
    for group in groups:
        leader, *others = (next(explained) for _ in group)
        shown.append(leader._replace(like_it=tuple(others)))
    return shown, values
