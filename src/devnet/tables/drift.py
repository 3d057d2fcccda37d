"""When the data change: a table compared with what a model learned."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Sentence
from devnet.core.wording import count_text, share_text
from devnet.significance.changed_counts import chance, spread_chance, stability_index
from devnet.significance.policies import AlertPolicy
from devnet.tables.column_drift import (
    LEAST_INDEX,
    N_CHECKS,
    Cause,
    Change,
    ColumnComparison,
    ColumnDrift,
)
from devnet.tables.opened_table import OpenedTable
from devnet.tables.row_scores import alert_threshold
from devnet.tables.seen_rows import SeenRows, learned_scores
from devnet.tables.training_rows import OnRows

if TYPE_CHECKING:
    from devnet.tables.table_model import TableModel

ERROR = 0.01  # chance that a table like that of training has any change
TIMES_ALERTS = 2.0  # as many alerts as expected, or as few, or
TIMES_HIGH = 1.5  # as many rows with high scores as expected, and
LEAST_SHARE = 0.005  # by which their share differs, from which that matters
LATER = "scores are spread otherwise than in training, as dates are; nothing else has changed"
MORE = "there are more anomalies, or the data have changed; fit again"
N_NOTES = 3  # changes that are told beside scores


class ScoreDrift(NamedTuple):
    """Scores compared with those of unlabelled training rows."""

    alerts: float | None  # share of rows that are alerts; None if a policy depends on the table
    learned_alerts: float | None
    high: float  # share of rows with a high score
    learned_high: float
    stability_index: float
    changes: list[Change]


class Drift(NamedTuple):
    """How a table differs from training."""

    n_rows: int  # without labelled anomalies
    n_compared: int  # of them, a uniform sample
    columns: list[ColumnDrift]
    scores: ScoreDrift | None  # None without rows
    notes: list[str | Sentence]  # what is odd about the table, and what cannot be compared

    @property
    def changes(self) -> list[Change]:
        """What has changed, by column, then alerts and scores."""
        of_scores = [] if self.scores is None else self.scores.changes
        return [*(change for one in self.columns for change in one.changes), *of_scores]

    def in_short(self) -> list[str]:
        """The first changes in words, and how many more there are."""
        texts = [change.text for change in self.changes]
        n_more = len(texts) - N_NOTES
        if n_more < 2:
            return texts
        more = count_text(n_more, "other change", "other changes")
        return [*texts[:N_NOTES], f"{more} since training; devnet drift MODEL TABLE lists all"]


def find_drift(
    model: "TableModel",
    table: Any,
    *,
    labelled: np.ndarray | None = None,
    on_rows: OnRows | None = None,
) -> Drift:
    """Compare a table with what a model learned: its columns, its alerts and its scores.

    A change is reported if it matters and is unlikely to be chance: a table whose rows are drawn
    like those of training has any change with a probability of about 1% at most.

    Parameters
    ----------
    model : TableModel
    table : path, glob, frame, Arrow table or dict of columns
        Rows that its own label column marks as anomalies are left out.
    labelled : array of int, optional
        Numbers of rows that are labelled elsewhere, to be left out too: a model that learned from
        them expects as many alerts as among the other rows.
    on_rows : callable, optional
        Gets the number of rows scored so far.

    Returns
    -------
    drift : Drift
        `changes` is empty if there are none.
    """
    opened = OpenedTable(model, table)
    watch = Watch(opened, labelled=labelled)
    for _ in opened.scored_batches(known=False, seen=watch.seen, on_rows=on_rows):
        pass
    return watch.drift()


class Watch:
    """Compares a table with what its model learned, while it is scored.

    Parameters
    ----------
    opened : OpenedTable
    policy : AlertPolicy, optional
        Used instead of the model's.
    labelled : array of int, optional
        As for `find_drift`.

    Attributes
    ----------
    seen : SeenRows
        To be filled by `opened.scored_batches`, or merged from those of parts of the table.
    """

    def __init__(
        self,
        opened: OpenedTable,
        policy: AlertPolicy | None = None,
        *,
        labelled: np.ndarray | None = None,
    ) -> None:
        self._opened, self._model = opened, opened.model
        policy = policy or self._model.policy
        threshold = np.inf if policy.needs_scores else alert_threshold(self._model, policy).score
        self._threshold = threshold if np.isfinite(threshold) else None
        thresholds = [] if self._threshold is None else [self._threshold]
        self._learned = learned_scores(self._model.calibration_, *thresholds)
        columns, n_rows = self._model.encoder_.read_columns(), opened.source.n_rows
        self.seen = SeenRows(columns, self._learned.ends, n_rows, labelled)
        has_labels = self._model.label_ in opened.source.schema.names
        self._leaves_out_labelled = has_labels or labelled is not None
        n_checks = N_CHECKS * len(self._model.encoder_.columns) + 3
        self._most = ERROR / n_checks  # p-value of each (Bonferroni)

    def drift(self) -> Drift:
        """What has changed in the rows that were seen."""
        sample, n_rows = self.seen.sample(), self.seen.n_rows
        notes = [*self._opened.notes, *self._not_compared()]
        if sample is None or not n_rows:
            return Drift(n_rows, 0, [], None, notes)
        columns = self._columns(self._opened.as_read(sample.rows))
        scores = self._scores()
        if any(one.passes_by for one in columns) and not any(one.changes for one in columns):
            every, scores = scores, self._scores(only_rises=True)
            notes += [LATER] * (not {*every.changes} <= {*scores.changes})
        return Drift(n_rows, len(sample.rows), columns, scores, notes)

    def _columns(self, rows: pa.Table) -> list[ColumnDrift]:
        model, spreads = self._model, self._model.explainer_.spreads
        compared = (
            (column, model.n_rows_, spreads.get(column.name), model.wholes_.get(column.name))
            for column in model.encoder_.columns
        )
        return [
            ColumnComparison(*one, self._most).drift(_one_array(rows[one[0].name]))
            for one in compared
        ]

    def _scores(self, *, only_rises: bool = False) -> ScoreDrift:
        """How alerts and scores compare, or only whether more rows score high."""
        seen, learned = self.seen, self._learned
        alerts = None if self._threshold is None else self._shares(self._threshold)
        high = self._shares(learned.high)
        index = stability_index(seen.scores, learned.counts)
        p_value = spread_chance(seen.scores, learned.counts, is_ordered=True)
        changes = [] if alerts is None else self._alert_changes(alerts, only_rises=only_rises)
        if p_value <= self._most and index >= LEAST_INDEX and not only_rises:
            text = f"scores have changed (population stability index {index:.2f}); fit again"
            changes.append(Change(None, Cause.SCORES, index, 0.0, text))
        elif not changes and high.p_value <= self._most and high.differ(TIMES_HIGH, rise=True):
            top = share_text(high.learned)
            text = f"{share_text(high.found)} of rows score as high as the top {top} in training"
            changes.append(Change(None, Cause.SCORES, high.found, high.learned, f"{text}; {MORE}"))
        found, expected = (None, None) if alerts is None else alerts[:2]
        return ScoreDrift(found, expected, high.found, high.learned, index, changes)

    def _shares(self, score: float) -> "_Shares":
        """Rows above a score."""
        seen, learned = self.seen, self._learned
        found, expected = (learned.n_above(score, one) for one in (seen.scores, learned.counts))
        p_value = float(chance(found, seen.n_rows, expected, learned.n_rows))
        return _Shares(found / seen.n_rows, expected / learned.n_rows, p_value)

    def _alert_changes(self, alerts: "_Shares", *, only_rises: bool) -> list[Change]:
        """More alerts; or fewer, unless those that are labelled have been left out."""
        found, learned, p_value = alerts
        rise = only_rises or self._leaves_out_labelled
        if p_value > self._most or not alerts.differ(TIMES_ALERTS, rise=rise):
            return []
        text = f"{share_text(found)} of rows are alerts, where {share_text(learned)} are expected"
        why = MORE if found > learned else "the data have changed; fit again"
        return [Change(None, Cause.ALERTS, found, learned, f"{text}: {why}")]

    def _not_compared(self) -> list[str]:
        model = self._model
        known = {*model.explainer_.spreads, *model.wholes_}
        if known or not model.encoder_.columns:
            return []
        return [
            "the model does not know how the values of its columns were spread in training, so "
            "only missing and new values are compared; fit again to compare all"
        ]


class _Shares(NamedTuple):
    """The share of rows above a score."""

    found: float
    learned: float
    p_value: float

    def differ(self, times: float, *, rise: bool) -> bool:
        """Whether one is so many times the other that it matters; or only a rise, if asked."""
        low, high = sorted([self.found, self.learned])
        is_much = high >= times * low and high - low >= LEAST_SHARE
        return is_much and (self.found > self.learned or not rise)


def _one_array(chunks: pa.ChunkedArray) -> pa.Array:
    return chunks.chunk(0) if chunks.num_chunks == 1 else pa.concat_arrays(chunks.chunks)
