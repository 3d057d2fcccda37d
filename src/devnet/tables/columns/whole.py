"""Sparse vectors and texts as a whole: how many entries rows have, and what these are like."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from devnet.core.model_file import ascends, edited, field, is_count, is_finite_number
from devnet.core.wording import number_text, share_text
from devnet.tables.columns.spread import Places, Spread

MOST_FREQUENT = 1000  # entries that are known by their columns
WORDS = {
    "entries": "entries of a typical row:",
    "frequent entries": "share of a typical row's entries that are frequent in training:",
    "size": "typical size of an entry:",
}
PARTS = tuple(WORDS)


class Part(NamedTuple):
    """One measure of another table's vectors or texts, by row, and what it was in training."""

    name: str  # one of PARTS
    at: np.ndarray  # (n,) NaN where a row has no entries
    spread: Spread  # in training
    typical: float  # the median of training

    def change(self) -> str:
        """How typical rows differ from those of training."""
        here = float(np.nanmedian(self.at))
        write = share_text if self.name == "frequent entries" else number_text
        both = f"{write(here)}, {write(self.typical)} in training"
        if write(here) == write(self.typical):
            return self.spread.change(self.spread.counts(self.at))
        return f"{WORDS[self.name]} {both}"


@dataclass(frozen=True)
class Whole:
    """How many entries rows have, the share of them that is frequent in training, their mean size.

    Vectors of another vocabulary have few frequent entries; vectors in other units differ in size.
    """

    frequent: tuple[int, ...]  # matrix columns of the most frequent entries, ascending
    spreads: tuple[Spread, ...]  # by PARTS
    typical: tuple[float, ...]  # medians of unlabelled rows, by PARTS

    @classmethod
    def learn(cls, others: sp.csr_array, anomalies: sp.csr_array) -> Self | None:
        """Look at encoded unlabelled and labelled rows, (n, width); None if these are empty.

        What is frequent is learned from every second row and measured on the others: rows that it
        was learned from have more of it than any later ones.
        """
        columns, count = np.unique(others[::2].indices, return_counts=True)
        often = np.argsort(-count, kind="stable")[:MOST_FREQUENT]
        frequent = tuple(np.sort(columns[often]).tolist())
        places = [
            [Places(at, of=of) for of, at in _measures(rows, frequent)]
            for rows in (others[1::2], anomalies)
        ]
        found = [Spread.learn(*pair) for pair in zip(*places, strict=True)]
        spreads = tuple(spread for spread in found if spread is not None)
        if len(spreads) < len(PARTS):
            return None
        return cls(frequent, spreads, tuple(float(np.nanmedian(one.at)) for one in places[0]))

    def parts(self, rows: sp.csr_array) -> list[Part]:
        """The measures of other rows."""
        measured = _measures(rows, self.frequent)
        learned = zip(self.spreads, self.typical, strict=True)
        return [Part(*one, *known) for one, known in zip(measured, learned, strict=True)]

    def to_header(self) -> dict[str, Any]:
        """What was learned as JSON values."""
        return {
            "frequent": list(self.frequent),
            "spreads": [spread.to_header() for spread in self.spreads],
            "typical": list(self.typical),
        }

    @classmethod
    def from_header(cls, header: Any, width: int) -> Self:
        """Invert `to_header`, with everything checked."""
        if not isinstance(header, dict):
            raise edited("a column as a whole", "it is not a list of named values")
        frequent = field(header, "frequent", lambda value: _are_columns(value, width))
        spreads = field(header, "spreads", lambda v: isinstance(v, list) and len(v) == len(PARTS))
        typical = field(header, "typical", lambda value: _are_numbers(value, len(PARTS)))
        return cls(tuple(frequent), tuple(map(Spread.from_header, spreads)), tuple(typical))


def _measures(rows: sp.csr_array, frequent: Sequence[int]) -> list[tuple[str, np.ndarray]]:
    """Each of PARTS by row, NaN where a row has no entries."""
    n_entries = np.diff(rows.indptr).astype(np.float64)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    is_frequent = np.isin(rows.indices, np.asarray(frequent))
    sums = (np.bincount(row, part, rows.shape[0]) for part in (is_frequent, np.abs(rows.data)))
    with np.errstate(invalid="ignore"):
        means = [np.where(n_entries > 0, one / n_entries, np.nan) for one in sums]
    return list(zip(PARTS, [n_entries, *means], strict=True))


def _are_numbers(value: Any, size: int) -> bool:
    return isinstance(value, list) and len(value) == size and all(map(is_finite_number, value))


def _are_columns(value: Any, width: int) -> bool:
    is_list = isinstance(value, list) and len(value) <= MOST_FREQUENT
    if not is_list or not all(is_count(one, 0, width - 1) for one in value):
        return False
    return ascends(np.array(value, dtype=np.int64))
