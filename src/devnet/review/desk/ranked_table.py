"""A table as a model ranks it: the scores of all rows, and the rows themselves on request."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from devnet.tables.chosen_rows import take_rows
from devnet.tables.drift import Watch
from devnet.tables.folding import fold
from devnet.tables.opened_table import OpenedTable
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows


class Standing(NamedTuple):
    """A row, and where a model ranks it."""

    row: int  # its number in the table
    score: float
    rank: int  # 1 is the highest of all rows


@dataclass(frozen=True)
class RankedTable:
    """A table, the model that ranks it, and its rows' scores."""

    opened: OpenedTable
    scores: np.ndarray  # (n,)
    model: int  # its number in the store
    changes: tuple[str, ...] = ()  # of the table since that model learned, in words
    _folded: dict[int, list[list[int]]] = field(default_factory=dict)  # by the first row

    @cached_property
    def _sorted(self) -> np.ndarray:
        return np.sort(self.scores)

    def standing(self, row: int) -> Standing:
        """Score and rank of a row; equal scores share the best rank."""
        score = self.scores[row]
        n_not_above = int(np.searchsorted(self._sorted, score, side="right"))
        return Standing(row, float(score), 1 + len(self._sorted) - n_not_above)

    def fold(self, numbers: np.ndarray) -> list[list[int]]:
        """Groups of positions of rows, the highest first, that are nearly the same."""
        first = int(numbers[0])
        if first not in self._folded:
            self._folded[first] = self._fold(numbers)
        return self._folded[first]

    def _fold(self, numbers: np.ndarray) -> list[list[int]]:
        opened, encoder = self.opened, self.opened.model.encoder_
        rows = take_rows(opened.source, numbers.tolist(), encoder.read_columns())
        encoded = encoder.encode_checked(opened.as_read(rows))
        return fold(encoder, encoded, self.scores[numbers])


def rank(model: TableModel, table: Any, number: int, judged: np.ndarray) -> RankedTable:
    """Rank a table by a model, and see how it differs from the one that was learned from.

    Rows that were judged do not count in that: their alerts are what the model learned from.
    """
    opened = OpenedTable(model, table)
    watch = Watch(opened, labelled=judged)
    scored = opened.scored_batches(seen=watch.seen)
    scores = np.concatenate([np.empty(0), *(one.scores for one in scored)])
    return RankedTable(opened, scores, number, tuple(watch.drift().in_short()))


def score_rows(model: TableModel, table: Any, on_rows: OnRows | None = None) -> np.ndarray:
    """The scores of all rows (n,), in the memory of a batch and eight bytes per row."""
    scored = OpenedTable(model, table).scored_batches(on_rows=on_rows)
    return np.concatenate([np.empty(0), *(one.scores for one in scored)])
