"""How a column is encoded, or why it is left out: decided once, from the training table."""

import re
import shlex
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.wording import cut, number_text
from devnet.tables.columns.arrow_values import ColumnKind, is_missing, numbers, wall_clock
from devnet.tables.columns.boolean import BooleanColumn
from devnet.tables.columns.category import HASH_BUCKETS, MAX_CATEGORIES, CategoryColumn, choose
from devnet.tables.columns.column import ColumnEncoding
from devnet.tables.columns.column_summary import (
    BooleanSummary,
    CategorySummary,
    ColumnSummary,
    DateSummary,
    NumberSummary,
    SparseSummary,
)
from devnet.tables.columns.date import LONG, PARTS, YEAR, DateColumn, encoded_parts, years_of
from devnet.tables.columns.number import NumberColumn, quantiles_of
from devnet.tables.columns.sparse import MAX_COLUMNS, SparseColumn
from devnet.tables.columns.text_values import MAX_TEXT, rewritten, stands_for, text_values
from devnet.tables.table_error import TableError

UNIQUE = "identifier: every value occurs once"  # why a column is left out that names rows
MIN_IDENTIFIERS = 50  # values that are looked at before they are called identifiers
DISTINCT = 0.95  # share of different texts from which a text says nothing about other rows
IDENTIFIER = re.compile(
    r"(?i:(.*[\W_])?(id|uuid|guid|key|no|number|nr|index))"
    r"|.*[a-z0-9](Id|ID|Uuid|UUID|Key|No|Nr|Number)"
    r"|Unnamed: \d+"
)

NAMES_OTHERS = re.compile(r"(?i:(.*[\W_])?(id|uuid|guid))|.*[a-z0-9](Id|ID|Uuid|UUID|Guid|GUID)")
MIN_OTHERS = 50  # below, they may be the codes of a category


class RawColumn(NamedTuple):
    """What is known about a column before it is decided what to do with it."""

    name: str
    kind: ColumnKind
    is_forced: bool  # to be a category, by the caller's word
    n_rows: int
    sample: pa.Array  # in the order of the rows


def learn_column(column: RawColumn, summary: ColumnSummary) -> ColumnEncoding | str:
    """An encoding, or the reason why there is none."""
    if column.kind.name == "unusable":
        return column.kind.reason
    if column.kind.name == "empty" or summary.n_missing == column.n_rows:
        return "empty"
    match summary:
        case NumberSummary():
            return _learn_number(column, summary)
        case BooleanSummary():
            return _learn_boolean(column, summary)
        case CategorySummary():
            return _learn_category(column, summary)
        case DateSummary():
            return _learn_date(column, summary)
        case SparseSummary():
            return _learn_sparse(column, summary)
    raise TypeError(f"no encoding for a {type(summary).__name__}")


def _learn_number(column: RawColumn, summary: NumberSummary) -> ColumnEncoding | str:
    low, high, mean = summary.low, summary.high, summary.sum.mean()
    sample = numbers(column.sample)
    if not summary.n_missing and is_identifier(column.name, column.sample, sample):
        return UNIQUE
    if names_others(column.name, sample):
        return f"identifier by its name; take it with --categorical {shlex.quote(column.name)}"
    if low == high and not summary.n_missing:
        return f"constant: always {number_text(low)}"
    quantiles = quantiles_of(sample[~np.isnan(sample)], low, mean, high)
    share = summary.n_missing / column.n_rows
    return NumberColumn(column.name, share, low, high, mean, quantiles)


def is_identifier(name: str, values: pa.Array, found: np.ndarray) -> bool:
    """Whether numbers are whole, all different, and named or sorted as identifiers are."""
    if len(found) < MIN_IDENTIFIERS or pa.types.is_duration(values.type):
        return False
    if np.isnan(found).any() or (np.trunc(found) != found).any():
        return False
    if pa.types.is_integer(values.type):  # large ones are not all different as float64
        found = values.to_numpy(zero_copy_only=False)
    ordered = np.sort(found)
    if (ordered[1:] == ordered[:-1]).any():
        return False
    rises = found[1:] > found[:-1]
    is_sorted = bool(rises.all() or not rises.any())
    return is_sorted or IDENTIFIER.fullmatch(name) is not None


def names_others(name: str, found: np.ndarray) -> bool:
    """Whether whole numbers are named as identifiers of customers and the like, and are many."""
    found = found[~np.isnan(found)]
    is_whole = bool((np.trunc(found) == found).all())
    return bool(NAMES_OTHERS.fullmatch(name)) and is_whole and len(np.unique(found)) > MIN_OTHERS


def _learn_boolean(column: RawColumn, summary: BooleanSummary) -> ColumnEncoding | str:
    n_known = column.n_rows - summary.n_missing
    if summary.n_true in (0, column.n_rows) and not summary.n_missing:
        return f"constant: always {'true' if summary.n_true else 'false'}"
    return BooleanColumn(
        column.name, summary.n_missing / column.n_rows, mean=summary.n_true / n_known
    )


def _learn_category(column: RawColumn, summary: CategorySummary) -> ColumnEncoding | str:
    sample = text_values(column.sample)
    counts = summary.counts
    if counts is not None and len(counts) == 1 and not summary.n_missing:
        return _always(next(iter(counts)))
    in_sample = sample.counts()
    n_known, n_distinct = int(in_sample.sum()), int((in_sample > 0).sum())
    is_unique = n_known > MIN_IDENTIFIERS and n_distinct >= DISTINCT * n_known
    if is_unique and not column.is_forced:
        why = UNIQUE if n_distinct == n_known else UNIQUE.replace("every", "nearly every")
        return why.replace("identifier", "text") if _has_spaces(sample.texts) else why
    n_values = None if counts is None else len(counts)
    n_rows = column.n_rows
    if counts is None:
        n_rows = len(column.sample)
        counts = _counts_by_text(sample.texts, in_sample)
    source = column.kind.name
    if column.is_forced and source == "text":
        source = stands_for(sample.texts if n_values is None else pa.array(list(counts)))
        counts = _called(counts, source)
        n_values = n_values and len(counts)
    values, n_own = choose(counts, n_rows)
    return CategoryColumn(
        column.name,
        summary.n_missing / column.n_rows,
        values=values,
        n_own=n_own,
        n_buckets=1 if n_values is not None and n_values <= MAX_CATEGORIES else HASH_BUCKETS,
        n_values=n_values,
        n_rows=max(n_rows, 1),
        source=source,
        zone=column.kind.zone,
        is_forced=column.is_forced,
    )


def _always(text: str) -> str:
    if len(text) == MAX_TEXT:
        return f"text: the first {MAX_TEXT} characters are always the same"
    return f"constant: always {cut(text)!r}"


def _called(counts: dict[str, int], kind: str) -> dict[str, int]:
    """Counts by what texts are called that stand for values of a kind."""
    names = rewritten(pa.array(list(counts), pa.large_string()), kind).to_pylist()
    found: dict[str, int] = {}
    for name, count in zip(names, counts.values(), strict=True):
        found[name] = found.get(name, 0) + count
    return found


def _has_spaces(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring(texts.slice(0, 1000), " ")).as_py())


def _counts_by_text(texts: pa.Array, counts: np.ndarray) -> dict[str, int]:
    """Counts of the texts that occur more than once."""
    found: dict[str, int] = {}
    often = np.flatnonzero(counts > 1)
    pairs = zip(texts.take(pa.array(often)).to_pylist(), counts[often].tolist(), strict=True)
    for text, count in pairs:
        found[text] = found.get(text, 0) + count
    return found


def _learn_date(column: RawColumn, summary: DateSummary) -> ColumnEncoding | str:
    if summary.low == summary.high and not summary.n_missing:
        return f"constant: always {_instant_text(summary.low, column.kind.name)}"
    sample = wall_clock(column.sample)[~is_missing(column.sample)]
    low, high = years_of(np.array([summary.low, summary.high])).tolist()
    is_long = column.kind.name == "date" and summary.high - summary.low > LONG * YEAR
    candidates = PARTS if is_long else PARTS[:-1]
    found = encoded_parts(sample, candidates, low, high)
    found = {part: value for part, value in found.items() if len(value) and np.ptp(value) > 0}
    if not found and not summary.n_missing:
        return "constant: no part of the dates varies"
    return DateColumn(
        column.name,
        summary.n_missing / column.n_rows,
        parts=tuple(part for part in PARTS if part in found),
        means=tuple(float(found[part].mean()) for part in PARTS if part in found),
        low=low,
        high=high,
        source=column.kind.name,
        zone=column.kind.zone,
    )


def _instant_text(instant: int, kind: str) -> str:
    text = str(np.datetime64(instant, "us").astype("M8[s]")).replace("T", " ")
    return text[-8:] if kind == "time" else text.removesuffix(" 00:00:00")


def _learn_sparse(column: RawColumn, summary: SparseSummary) -> ColumnEncoding | str:
    if summary.largest < 0:
        return "empty"
    if summary.largest >= MAX_COLUMNS:
        raise TableError(
            f"the vectors of the column {column.name!r} have the index {summary.largest:,}; at "
            f"most {MAX_COLUMNS - 1:,} is possible. Number the entries from 0 without gaps."
        )
    return SparseColumn(column.name, summary.n_missing / column.n_rows, size=summary.largest + 1)


def reasons(left_out: dict[str, str], most: int = 10) -> str:
    """Why columns are left out, in one line."""
    parts = [f"{cut(name)!r} ({why})" for name, why in left_out.items()]
    more = f" and {len(parts) - most:,} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more
