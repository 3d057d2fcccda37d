"""What a column of a table is like, compared with the same column in training."""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.wording import share_text, shown
from devnet.significance.changed_counts import chance, spread_chance, stability_index
from devnet.tables.columns.column import ColumnEncoding
from devnet.tables.columns.spread import Spread
from devnet.tables.columns.whole import Part, Whole
from devnet.tables.table_matrix import fill_dense, to_sparse

LEAST_SHARE = 0.01  # of values that are new, and
LEAST_MISSING = 0.05  # by which the share of missing values differs, and
LEAST_INDEX = 0.2  # of the population stability index, from which a change matters
WHOLE_ROWS = 2_000  # of which vectors and texts are compared, as these have many entries
N_CHECKS = 3  # of a column: missing values, new values, their spread


class Cause(StrEnum):
    """What has changed."""

    MISSING = "missing values"
    UNSEEN = "new values"
    SPREAD = "other values"
    ALERTS = "share of alerts"
    SCORES = "scores"


class Change(NamedTuple):
    """A difference from training that matters and is unlikely to be chance."""

    column: str | None  # None for alerts and scores
    cause: Cause
    found: float  # share of rows, or the population stability index
    learned: float  # the same in training
    text: str  # "country: 31% of values were never seen in training; fit again"


class Counts(NamedTuple):
    """Rows of training and of a table by cell."""

    spread: Spread
    found: np.ndarray
    stability_index: float  # less what chance adds
    p_value: float
    part: Part | None = None  # what was measured, of vectors and texts


class ColumnDrift(NamedTuple):
    """A column compared with training; None where that is not possible."""

    name: str
    kind: str
    missing: float  # share of rows
    learned_missing: float
    unseen: float | None  # share of values that are new, or outside the range of training
    stability_index: float | None  # population stability index, less what chance adds
    changes: list[Change]
    counts: Counts | None  # of the values that the index is about
    passes_by: bool = False  # whether its dates are of another time than those of training


class ColumnComparison(NamedTuple):
    """A column and what was learned about it.

    `most` is the p-value up to which a difference is no chance.
    """

    column: ColumnEncoding
    n_learned: int  # training rows
    spread: Spread | None
    whole: Whole | None
    most: float

    def drift(self, values: pa.Array) -> ColumnDrift:
        """Compare the values of a sample of rows."""
        column, is_missing = self.column, self.column.is_missing(values)
        known = values.filter(pa.array(~is_missing))
        unseen, counts = self._unseen(known), self._counts(known)
        missing = float(is_missing.mean()) if len(values) else 0.0
        value_changes = [*unseen[1], *self._spread_changes(known, counts)]
        return ColumnDrift(
            column.name,
            column.kind,
            missing,
            column.missing,
            unseen[0],
            None if counts is None else counts.stability_index,
            [*self._missing_changes(is_missing), *value_changes[:1]],
            counts,
            column.passes_by(known),
        )

    def _missing_changes(self, is_missing: np.ndarray) -> list[Change]:
        n, learned = len(is_missing), self.column.missing
        n_missing = int(is_missing.sum())
        p_value = chance(n_missing, n, round(learned * self.n_learned), self.n_learned)
        if p_value > self.most or abs(n_missing / n - learned) < LEAST_MISSING:
            return []
        share = n_missing / n
        words = f"missing in {share_text(share)} of rows, {share_text(learned)} in training"
        advice = "look where it went, or " if share > learned else ""
        return [self._change(Cause.MISSING, share, learned, words, advice)]

    def _unseen(self, known: pa.Array) -> tuple[float | None, list[Change]]:
        """The share of values that are new, and whether that is a change."""
        found = self.column.unseen(known) if len(known) else None
        if found is None:
            return None, []
        n_unseen = int(found.is_unseen.sum())
        share = n_unseen / len(known)
        p_value = chance(n_unseen, len(known), found.n_learned, self.n_learned)
        if p_value > self.most or share < LEAST_SHARE:
            return share, []
        return share, [self._change(Cause.UNSEEN, share, 0.0, f"{share_text(share)} {found.text}")]

    def _spread_changes(self, known: pa.Array, counts: Counts | None) -> list[Change]:
        if counts is None or counts.p_value > self.most or counts.stability_index < LEAST_INDEX:
            return []
        if counts.part is not None:
            words = counts.part.change()
        else:
            words = self.column.change(known, counts.spread, counts.found)
        return [self._change(Cause.SPREAD, counts.stability_index, 0.0, words)]

    def _change(
        self, cause: Cause, found: float, learned: float, words: str, advice: str = ""
    ) -> Change:
        text = f"{shown(self.column.name)}: {words}; {advice}fit again"
        return Change(self.column.name, cause, found, learned, text)

    def _counts(self, known: pa.Array) -> Counts | None:
        """Known values by cell; of vectors and texts, the measure that has changed most."""
        if not len(known) or not self.column.is_comparable(known):
            return None
        if self.whole is not None:
            return self._whole_counts(known, self.whole)
        if self.spread is None:
            return None
        block = np.zeros((len(known), self.column.width), dtype=np.float32)
        fill_dense(block, [(0, entry) for entry in self.column.entries(known)])
        places = self.column.places(block)
        return None if places is None else _counted(self.spread, places.at)

    def _whole_counts(self, known: pa.Array, whole: Whole) -> Counts:
        known = known.take(pa.array(np.arange(0, len(known), -(-len(known) // WHOLE_ROWS))))
        entries = [(0, entry) for entry in self.column.entries(known)]
        parts = whole.parts(to_sparse(entries, (len(known), self.column.width)))
        found = [_counted(part.spread, part.at)._replace(part=part) for part in parts]
        most = max(found, key=lambda one: one.stability_index if one.p_value <= self.most else -1.0)
        return most._replace(p_value=min(1.0, len(parts) * most.p_value))


def _counted(spread: Spread, at: np.ndarray) -> Counts:
    found, learned = spread.counts(at), spread.learned_counts()
    p_value = spread_chance(found, learned, is_ordered=bool(spread.ends))
    return Counts(spread, found, stability_index(found, learned), p_value)
