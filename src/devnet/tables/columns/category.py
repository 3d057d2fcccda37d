"""Categories: one column for each frequent value, and buckets that all others share."""

from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.model_file import field, is_count
from devnet.core.wording import cut, missing_text, share_text, shown
from devnet.tables.columns.arrow_values import SINGULAR, in_zone, kind_of
from devnet.tables.columns.column import (
    ColumnEncoding,
    Entry,
    is_empty,
    is_text,
    read_count,
    read_shared,
    read_source,
)
from devnet.tables.columns.text_values import (
    MAX_TEXT,
    MAX_VALUES,
    TextValues,
    buckets,
    rewritten,
    text_values,
)

MAX_CATEGORIES = 50
HASH_BUCKETS = 32
FREQUENT = 0.05  # share from which a value is not called rare
MIN_ROWS = 10  # that a value of its own column has in training, and
MIN_SHARE = 1000  # one row in so many
SMALL = 1000  # rows of a table for which two are enough


@final
@dataclass(frozen=True)
class CategoryColumn(ColumnEncoding):
    """One-hot columns: the frequent values, buckets for the others, missing values.

    A column with at most MAX_CATEGORIES distinct values in training has one bucket ("other").
    With more, the most frequent of them still have columns of their own, and the others are
    spread over HASH_BUCKETS buckets by a hash of their text. The column for missing values is
    there only if a value was missing in training; otherwise a missing value goes to the first
    bucket.
    """

    kind: ClassVar[str] = "category"

    values: tuple[tuple[str, int], ...]  # and their rows in training, the most frequent first
    n_own: int  # of them have a column of their own
    n_buckets: int
    n_values: int | None  # distinct ones in training; None if too many to count
    n_rows: int
    source: str  # kind of the values before they became text
    zone: str
    is_forced: bool = False  # by the caller's word, so that values of any kind are categories

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return self.n_own + self.n_buckets + (self.missing > 0)

    @property
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""
        kinds = SINGULAR if self.is_forced else ("text", self.source)
        return frozenset([*kinds, "empty"])

    @property
    def csv_type(self) -> pa.DataType:
        """As what to read the column of a CSV file."""
        return pa.string()

    @cached_property
    def _own(self) -> pa.Array:
        return pa.array([text for text, _ in self.values[: self.n_own]], pa.large_string())

    @cached_property
    def _counts(self) -> dict[str, int]:
        return dict(self.values)

    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""
        missing = self.width - 1 if self.missing else self.n_own
        if is_empty(values):
            return [Entry(missing, np.ones(len(values), dtype=np.float32))]
        texts, index = self._texts(values)
        place = pc.index_in(texts, value_set=self._own, skip_nulls=True)
        columns = pc.fill_null(place, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        is_other = columns < 0
        columns[is_other] = self.n_own + buckets(texts.filter(pa.array(is_other)), self.n_buckets)
        return [Entry(np.append(columns, missing)[index], 1.0)]

    def _texts(self, values: pa.Array) -> TextValues:
        """The values as they are called in training, whether a file has text or types."""
        kind = kind_of(values.type)
        if kind.zone:
            values = in_zone(values, self.zone)
        found = text_values(values)
        if kind.name != "text" or self.source == "text":
            return found
        return TextValues(rewritten(found.texts, self.source, self.zone), found.place)

    def phrase(self, value: pa.Array) -> str:
        """How frequent the value was in training."""
        texts, index = (None, [-1]) if is_empty(value) else self._texts(value)
        if texts is None or index[0] < 0:
            return missing_text(self.name, self.missing)
        text = texts[int(index[0])].as_py()
        share = self._counts.get(text, 0) / self.n_rows
        about = f"{shown(self.name)} {cut(text)!r}"
        if share >= FREQUENT:
            return f"{about} ({share_text(share)} of rows)"
        if share:
            return f"{about} is rare ({share_text(share)} of rows)"
        return f"{about} is new" if self.n_values == len(self.values) else f"{about} is rare or new"

    def detail(self) -> str:
        """What the training table had in the column."""
        most = ", ".join(
            f"{cut(text, 20)} {share_text(count / self.n_rows)}" for text, count in self.values[:3]
        )
        most += ", ..." if self.n_values != len(self.values[:3]) else ""
        counted = f"over {MAX_VALUES:,}" if self.n_values is None else f"{self.n_values:,}"
        n_values = f"{counted} values"
        if self.n_buckets == 1:
            return f"{n_values}: {most}"
        return f"{self.n_buckets} buckets, {n_values}" + (f": {most}" if self.n_own else "")

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        n_rows = read_count(header, "n_rows", 1)
        values = field(header, "values", lambda value: _are_values(value, n_rows))
        buckets_of = field(header, "n_buckets", lambda value: is_count(value, 1, HASH_BUCKETS))
        is_known = header.get("n_values") is not None
        return cls(
            **read_shared(header),
            values=tuple((text, count) for text, count in values),
            n_own=read_count(header, "n_own", 0, len(values)),
            n_buckets=buckets_of,
            n_values=read_count(header, "n_values", len(values)) if is_known else None,
            n_rows=n_rows,
            **read_source(header),
            is_forced=field(
                {"is_forced": False, **header}, "is_forced", lambda value: isinstance(value, bool)
            ),
        )


def _are_values(values: Any, n_rows: int) -> bool:
    is_list = isinstance(values, list) and len(values) <= MAX_CATEGORIES
    if not is_list or not all(isinstance(pair, list) and len(pair) == 2 for pair in values):
        return False
    are_texts = all(is_text(text) and len(text) <= MAX_TEXT for text, _ in values)
    are_counts = all(is_count(count, 1, n_rows) for _, count in values)
    return are_texts and are_counts and len({text for text, _ in values}) == len(values)


def choose(counts: dict[str, int], n_rows: int) -> tuple[tuple[tuple[str, int], ...], int]:
    """The values to keep, the most frequent first, and how many of them get their own columns."""
    ranked = nsmallest(MAX_CATEGORIES, counts.items(), key=lambda pair: (-pair[1], pair[0]))
    least = 2 if n_rows < SMALL else max(MIN_ROWS, n_rows / MIN_SHARE)
    return tuple(ranked), sum(count >= least for _, count in ranked)
