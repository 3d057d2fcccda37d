"""Categories: one column for each frequent value, and one that all others share."""

import dataclasses
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.model_file import field, is_count, is_text
from devnet.core.wording import cut, is_number, missing_text, share_text, shown
from devnet.tables.columns.arrow_values import SINGULAR, in_zone, kind_of
from devnet.tables.columns.column import (
    ColumnEncoding,
    ColumnSummary,
    Entry,
    Unseen,
    is_empty,
    read_count,
    read_shared,
    read_source,
    without_missing,
)
from devnet.tables.columns.identifiers import are_distinct, is_named_text, unique
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.columns.spread import Places, Spread
from devnet.tables.columns.text import TextColumn, is_free_text, text_column
from devnet.tables.columns.text_values import (
    MAX_TEXT,
    MAX_VALUES,
    TextValues,
    buckets,
    rewritten,
    stands_for,
    text_values,
)

MAX_CATEGORIES = 50  # values that are known by name, and
MAX_OWN = 30  # that have their own columns; with more, few labels are lost among them
MOST_BUCKETS = 32  # of a model file; version 0.1.0 spread the other values over so many
OTHERS = "other values"
FEW_ROWS = 64  # up to which texts are looked up one by one
LOOKED_AT = 1000  # texts that tell codes from words
FREQUENT = 0.05  # share from which a value is not called rare
GONE = 20  # rows to expect of a value that is told to be gone
MIN_ROWS = 10  # training rows that a value needs for its own column, and
MIN_SHARE = 1000  # at least one row in this many
SMALL = 1000  # in tables with fewer rows, two rows with a value are enough


@final
@dataclass
class CategorySummary(ColumnSummary):
    """How often each value occurs, unless there are too many."""

    counts: dict[str, int] | None = dataclasses.field(default_factory=dict)

    def add(self, values: pa.Array) -> None:
        """Add more rows."""
        found = text_values(values)
        self.n_missing += int((found.position < 0).sum())
        if self.counts is None:
            return
        counts = found.counts()
        seen = np.flatnonzero(counts)
        texts = found.texts.take(pa.array(seen))
        if len(seen) > MAX_VALUES and len(texts.unique()) > MAX_VALUES:  # long ones may be the same
            self.counts = None
            return
        for text, count in zip(texts.to_pylist(), counts[seen].tolist(), strict=True):
            self.counts[text] = self.counts.get(text, 0) + count
        self._give_up_many()

    def merged(self, other: Self) -> Self:
        """What is known of the rows of both."""
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = dict(Counter(self.counts) + Counter(other.counts))
        found = dataclasses.replace(self, n_missing=self.n_missing + other.n_missing, counts=counts)
        found._give_up_many()
        return found

    def _give_up_many(self) -> None:
        if self.counts is not None and len(self.counts) > MAX_VALUES:
            self.counts = None

    def learn(self, n_rows: int, sample: pa.Array) -> "CategoryColumn | TextColumn | LeftOut":
        """Return the encoding, or why there is none."""
        found = text_values(sample)
        if self._is_free_text(sample):
            return text_column(self.name, self.n_missing / n_rows, sample)
        counts = self.counts
        if counts is not None and len(counts) == 1 and not self.n_missing:
            return self._constant(next(iter(counts)))
        in_sample = found.counts()
        are_codes = not _have_blanks(found.texts)
        if are_distinct(in_sample, are_codes=are_codes) and not self.is_forced:
            return self._distinct(in_sample, are_codes)
        n_values, n_counted = None if counts is None else len(counts), n_rows
        if counts is None:
            counts, n_counted = _counts_by_text(found.texts, in_sample), len(sample)
        source = self.kind.name
        if self.is_forced and source == "text":
            source = stands_for(found.texts if n_values is None else pa.array(list(counts)))
            counts = _counts_by_spelling(counts, source)
            n_values = n_values and len(counts)
        values, n_own = choose(counts, n_counted)
        if not self.is_forced and self.kind.name == "text":
            n_frequent = sum(count for _, count in values[:n_own])
            n_distinct = int((in_sample > 0).sum()) if n_values is None else n_values
            if is_named_text(self.name, n_distinct, n_frequent, n_counted):
                return LeftOut(self.name, Why.NAMED, "identifier by its name")
        return CategoryColumn(
            self.name,
            self.n_missing / n_rows,
            values=values,
            n_own=n_own,
            n_buckets=1,
            n_values=n_values,
            n_rows=max(n_counted, 1),
            source=source,
            zone=self.kind.zone,
            is_forced=self.is_forced,
        )

    def _is_free_text(self, sample: pa.Array) -> bool:
        if self.is_forced or self.kind.name != "text":
            return False
        known = sample.drop_null()
        texts = pc.unique(known)  # uncut
        return len(texts) > MAX_CATEGORIES and is_free_text(texts, len(known))

    def _constant(self, text: str) -> LeftOut:
        if len(text) == MAX_TEXT:
            always = f"text: the first {MAX_TEXT} characters are always the same"
            return LeftOut(self.name, Why.TEXT, always)
        return LeftOut(self.name, Why.CONSTANT, f"constant: always {cut(text)!r}")

    def _distinct(self, counts: np.ndarray, are_codes: bool) -> LeftOut:
        is_nearly = bool((counts > 1).any())
        if not are_codes:
            every = "nearly every" if is_nearly else "every"
            return LeftOut(self.name, Why.TEXT, f"text: {every} value occurs once")
        return unique(self.name, nearly=is_nearly)


def _have_blanks(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring(texts.slice(0, LOOKED_AT), " ")).as_py())


def _counts_by_spelling(counts: dict[str, int], kind: str) -> dict[str, int]:
    """Counts of texts that stand for values of a kind, each spelled as such values are."""
    spelled = rewritten(pa.array(list(counts), pa.large_string()), kind).to_pylist()
    found: dict[str, int] = {}
    for text, count in zip(spelled, counts.values(), strict=True):
        found[text] = found.get(text, 0) + count
    return found


def _counts_by_text(texts: pa.Array, counts: np.ndarray) -> dict[str, int]:
    """Counts of the texts that occur more than once."""
    found: dict[str, int] = {}
    often = np.flatnonzero(counts > 1)
    pairs = zip(texts.take(pa.array(often)).to_pylist(), counts[often].tolist(), strict=True)
    for text, count in pairs:
        found[text] = found.get(text, 0) + count
    return found


def choose(counts: dict[str, int], n_rows: int) -> tuple[tuple[tuple[str, int], ...], int]:
    """The values to keep, the most frequent first, and how many of them get their own columns."""
    ranked = nsmallest(MAX_CATEGORIES, counts.items(), key=lambda pair: (-pair[1], pair[0]))
    least = 2 if n_rows < SMALL else max(MIN_ROWS, n_rows / MIN_SHARE)
    return tuple(ranked), sum(count >= least for _, count in ranked[:MAX_OWN])


@final
@dataclass(frozen=True)
class CategoryColumn(ColumnEncoding):
    """One-hot columns: the frequent values, a bucket for the others, missing values.

    Models of version 0.1.0 may have several buckets, told apart by a hash of the text. The column
    for missing values exists only if a value was missing in training; otherwise a missing value
    goes to the first bucket.
    """

    kind: ClassVar[str] = "category"
    sources: ClassVar[tuple[str, ...]] = ("text",)  # and whatever the caller or the type says
    summary: ClassVar[type[ColumnSummary]] = CategorySummary

    values: tuple[tuple[str, int], ...]  # with their training rows, the most frequent first
    n_own: int  # how many of them have their own columns
    n_buckets: int
    n_values: int | None  # distinct ones in training; None if too many to count
    n_rows: int
    source: str  # kind of the values before they became text
    zone: str
    is_forced: bool = False  # by the caller, so that values of any kind are categories

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return self.n_own + self.n_buckets + (self.missing > 0)

    @property
    def is_crowded(self) -> bool:
        """Whether most values are in the column of the others: even frequent ones are rare."""
        n_own = sum(count for _, count in self.values[: self.n_own])
        return 2 * n_own < self.n_rows * (1 - self.missing)

    @property
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""
        kinds = SINGULAR if self.is_forced else ("text", self.source)
        return frozenset([*kinds, "empty"])

    @property
    def csv_type(self) -> pa.DataType:
        """Arrow type to read from a CSV file."""
        return pa.string()

    @property
    def learned_from(self) -> str:
        """Kind of the training values."""
        return self.source

    def is_unlike(self, looks_like: str) -> bool:
        """Whether all texts are numbers, while no training text was one."""
        if self.is_forced or self.source != "text" or looks_like != "number":
            return False
        spelled = (text.replace(",", ".") for text, _ in self.values)  # 1,5 may be a number
        return not any(map(is_number, spelled))

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
        if len(values) <= FEW_ROWS and self._is_plain_text(values.type):
            return [Entry(self._columns_of_few(values.to_pylist(), missing), 1.0)]
        texts, position = self.spelled(values)
        own = pc.index_in(texts, value_set=self._own, skip_nulls=True)
        columns = pc.fill_null(own, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        is_other = columns < 0
        columns[is_other] = self.n_own + buckets(texts.filter(pa.array(is_other)), self.n_buckets)
        return [Entry(np.append(columns, missing)[position], 1.0)]

    def _is_plain_text(self, kind: pa.DataType) -> bool:
        """Whether values of an Arrow type are looked up as they are."""
        is_text = kind in (pa.string(), pa.large_string())
        return is_text and self.source == "text" and self.n_buckets == 1

    def _columns_of_few(self, texts: list[str | None], missing: int) -> np.ndarray:
        """The column of each text, without Arrow's overhead."""
        own, other = self._own_columns, self.n_own
        columns = [missing if one is None else own.get(one[:MAX_TEXT], other) for one in texts]
        return np.array(columns, dtype=np.int64)

    @cached_property
    def _own_columns(self) -> dict[str, int]:
        return {text: column for column, (text, _) in enumerate(self.values[: self.n_own])}

    def spelled(self, values: pa.Array) -> TextValues:
        """The values as they were spelled in training, whether a file has text or types."""
        kind = kind_of(values.type)
        if kind.zone:
            values = in_zone(values, self.zone)
        found = text_values(values)
        if kind.name != "text" or self.source == "text":
            return found
        return TextValues(rewritten(found.texts, self.source, self.zone), found.position)

    def _text(self, value: pa.Array) -> str | None:
        """The value of one row as text."""
        texts, position = (None, [-1]) if is_empty(value) else self.spelled(value)
        return None if texts is None or position[0] < 0 else texts[int(position[0])].as_py()

    def is_missing(self, values: pa.Array) -> np.ndarray:
        """Which values are missing."""
        if is_empty(values):
            return super().is_missing(values)
        missing: np.ndarray = self.spelled(values).position < 0
        return missing

    def unseen(self, values: pa.Array) -> Unseen | None:
        """Values that no training row had, if all that occurred are known by name."""
        if self.n_values != len(self.values) or is_empty(values):
            return None
        texts, position = self.spelled(values)
        rows = np.bincount(position[position >= 0], minlength=len(texts))
        is_new = np.array([text not in self._counts for text in texts.to_pylist()], dtype=bool)
        text = "of values were never seen in training"
        if rows[is_new].any():
            most = int(np.where(is_new, rows, 0).argmax())
            text += f", such as {cut(texts[most].as_py())!r}{self._gone(texts, rows)}"
        n_once = sum(count == 1 for _, count in self.values)
        return Unseen(np.append(is_new, False)[position], n_once, text)

    def _gone(self, texts: pa.Array, rows: np.ndarray) -> str:
        """The most frequent value that does not occur any more, if it was not rare."""
        here = set(texts.filter(pa.array(rows > 0)).to_pylist())
        for text, count in self.values:
            is_rare = count * rows.sum() < GONE * self.n_rows
            if text not in here and not is_rare:
                share = share_text(count / self.n_rows)
                return f", while {cut(text)!r}, {share} in training, is gone (renamed?)"
        return ""

    def places(self, block: np.ndarray) -> Places | None:
        """Which of the frequent values it is; all others are one."""
        if not self.n_own:
            return None
        at = np.minimum(block.argmax(axis=1), self.n_own).astype(np.float64)
        names = (*(text for text, _ in self.values[: self.n_own]), OTHERS)
        return Places(without_missing(at, block, self.missing), names)

    def phrase_among(self, value: pa.Array, at: float | None, spread: Spread) -> str:
        """The value, and how many anomalies and other rows have it."""
        text, cell = self._text(value), spread.cell(at)
        if text is None and cell is None:
            return f"{shown(self.name)} is missing{spread.missing().clause('as in')}"
        if text is None or cell is None or cell >= self.n_own:
            return self.phrase(value)
        return f"{shown(self.name)} {cut(text)!r}{spread.shares(cell, cell).clause('as')}"

    def phrase(self, value: pa.Array) -> str:
        """The value, and how frequent it was in training."""
        text = self._text(value)
        if text is None:
            return missing_text(self.name, self.missing)
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
        buckets_of = field(header, "n_buckets", lambda value: is_count(value, 1, MOST_BUCKETS))
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
