"""Types of the columns of a text table, inferred from its first rows."""

import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.columns.identifiers import LONG

DIGITS = r"^\s*[-+]?\d+\s*$"
PADDED = r"^\s|\s$"
LEADING_ZERO = r"^\s*0+[1-9]\d*\s*$"
DECIMAL_COMMA = r"^-?\d+,\d+$"
MOSTLY = 0.8  # share of texts that makes a column decimal commas or long digits
LARGEST = 2.0**63  # int64 holds only smaller numbers


def has_decimal_commas(first: pa.RecordBatch | None) -> bool:
    """Whether a column of the first rows is text like 1,5."""
    texts = [c for c in first.columns if pa.types.is_string(c.type)] if first is not None else []
    return any(share_of(column, DECIMAL_COMMA) >= MOSTLY for column in texts)


def share_of(column: pa.Array, pattern: str) -> float:
    """Share of the known texts that match."""
    return float(pc.mean(pc.match_substring_regex(column, pattern)).as_py() or 0)


def roomy(kind: pa.DataType, first: pa.Array | None) -> pa.DataType:
    """A type that also holds what may come after the first rows."""
    if pa.types.is_null(kind) or pa.types.is_binary(kind):
        return pa.string()
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_integer(kind):
        return kind if first is not None and _largest(first) >= LONG else pa.float64()
    return kind


def has_leading_zeros(texts: pa.Array) -> bool:
    """Whether some digits start with a zero that a number would lose."""
    return bool(pc.any(pc.match_substring_regex(texts, LEADING_ZERO)).as_py())


def has_padding(texts: pa.Array) -> bool:
    """Whether some texts have blanks around them, which dates may have, but not times."""
    return bool(pc.any(pc.match_substring_regex(texts, PADDED)).as_py())


def may_be_rounded(first: pa.Array) -> bool:
    """Whether numbers may be identifiers too long for int64."""
    return pa.types.is_floating(first.type) and _largest(first) >= LARGEST


def _largest(numbers: pa.Array) -> float:
    ends = pc.min_max(numbers).as_py()
    return max(-(ends["min"] or 0), ends["max"] or 0)


def in_its_zone(wanted: pa.DataType, found: pa.DataType) -> pa.DataType:
    """The wanted type, but with a zone only if the file has one."""
    is_time = pa.types.is_timestamp(found) or pa.types.is_date(found)
    if not pa.types.is_timestamp(wanted) or not is_time:
        return wanted
    zone = getattr(found, "tz", None)
    return wanted if bool(zone) == bool(wanted.tz) else pa.timestamp(wanted.unit, zone)


def in_words(kind: pa.DataType) -> str:
    """Values of a type in words."""
    if pa.types.is_boolean(kind):
        return "true or false"
    if pa.types.is_time(kind):
        return "times of day"
    if not pa.types.is_timestamp(kind):
        return "numbers"
    return "times of a zone" if kind.tz else "dates"
