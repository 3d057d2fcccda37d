"""Values as categories: the distinct ones as text, and which of them each row has."""

import zlib
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.columns.arrow_values import (
    in_zone,
    is_missing,
    kind_of,
    numbers,
    plain,
    wall_clock,
)

MAX_VALUES = 20_000  # distinct values of a column that are counted
MAX_TEXT = 100  # characters by which a longer text is known
WHOLE = 2.0**63  # magnitude below which int64 holds a whole floating-point number
WHOLE_TEXT = r"^-?(0|[1-9]\d*)(\.0+)?$"  # a whole number, but not a code such as 007
BOOLEAN_TEXT = r"^(?i:true|false)$"
DATE_TEXT = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?$"
OFFSET_TEXT = r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[-+]\d\d:?\d\d)$"
_REWRITTEN = {  # how texts are spelled, by the kind of values that they stand for
    "number": (
        (r"^\s*\+?(-?[\d.,]+)\s*$", r"\1"),
        (r"^(-?\d+),(\d+)$", r"\1.\2"),
        (r"^(-?)0+(\d)", r"\1\2"),
        (r"^(-?\d+\.\d*[1-9])0+$", r"\1"),
        (r"^(-?\d+)\.0*$", r"\1"),
        (r"^-0$", "0"),
    ),
    "boolean": (("^(?i:true)$", "true"), ("^(?i:false)$", "false")),
    "date": (
        (r"^(\d\d)\.(\d\d)\.(\d{4})", r"\3-\2-\1"),
        (r"^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)$", r"\1T\2:00"),
        (r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)", r"\1T\2"),
        (r"(:\d\d)\.0+$", r"\1"),
        (r"T00:00:00$", ""),
    ),
}


class TextValues(NamedTuple):
    """Distinct values as text, null for a missing one, and which of them each row has.

    Two long texts may be the same after cutting.
    """

    texts: pa.Array  # large_string
    position: np.ndarray  # (n,) among the texts, -1 where the value is missing

    def listed(self) -> list[str | None]:
        """The text of each row."""
        return [*self.texts.take(pa.array(self.position, mask=self.position < 0)).to_pylist()]

    def counts(self) -> np.ndarray:
        """Rows with each of the texts."""
        return np.bincount(self.position[self.position >= 0], minlength=len(self.texts))


def text_values(values: pa.Array) -> TextValues:
    """Text, numbers, booleans, dates or times as categories: 1 and 1.0 are both "1"."""
    if isinstance(values, pa.ExtensionArray):
        return text_values(values.storage)
    is_small = pa.types.is_dictionary(values.type) and len(values.dictionary) <= len(values)
    if not is_small:
        values = _encodable(plain(values)).dictionary_encode()
    texts = _texts(_encodable(plain(values.dictionary)))
    position = pc.fill_null(values.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    without = is_missing(texts)
    if without.any():
        position = np.where((position >= 0) & without[position], -1, position)
    return TextValues(texts, position)


def _encodable(values: pa.Array) -> pa.Array:
    if kind_of(values.type).name == "text":
        return values.cast(pa.large_string())
    if pa.types.is_floating(values.type) and values.type.bit_width == 16:
        return values.cast(pa.float32())
    return values


def _texts(distinct: pa.Array) -> pa.Array:
    kind = kind_of(distinct.type).name
    if kind == "number":
        return _number_texts(distinct)
    if kind in ("date", "time"):
        return _clock_texts(distinct, kind)
    texts = distinct.cast(pa.large_string())
    longest = pc.max(pc.binary_length(texts)).as_py()
    return texts if (longest or 0) <= MAX_TEXT else pc.utf8_slice_codeunits(texts, 0, MAX_TEXT)


def _number_texts(distinct: pa.Array) -> pa.Array:
    """Whole numbers without a point, others with the fewest digits that tell them apart."""
    if pa.types.is_integer(distinct.type):
        return distinct.cast(pa.large_string())
    found = numbers(distinct)
    missing = np.isnan(found)
    is_whole = ~missing & (np.abs(found) < WHOLE) & (np.trunc(found) == found)
    whole = pa.array(np.where(is_whole, found, 0).astype(np.int64)).cast(pa.large_string())
    digits = distinct if pa.types.is_float32(distinct.type) else pa.array(found)
    other = digits.cast(pa.large_string())
    texts = pc.if_else(pa.array(is_whole), whole, other)
    return pc.if_else(pa.array(missing), pa.scalar(None, pa.large_string()), texts)


def _clock_texts(distinct: pa.Array, kind: str) -> pa.Array:
    instants = wall_clock(distinct)
    full = np.datetime_as_string(instants.astype("M8[us]"), unit="us")
    texts = pa.array(full.astype(object), pa.large_string())
    texts = pc.replace_substring_regex(texts, r"\.000000$", "")
    pattern = r"^.*T" if kind == "time" else "T00:00:00$"
    texts = pc.replace_substring_regex(texts, pattern, "")
    missing = pa.array(is_missing(distinct))
    return pc.if_else(missing, pa.scalar(None, pa.large_string()), texts)


def stands_for(texts: pa.Array) -> str:
    """Kind of values that all texts of a text table stand for; "text" if there is none."""
    known = texts.drop_null()
    patterns = {"number": WHOLE_TEXT, "boolean": BOOLEAN_TEXT, "date": DATE_TEXT}
    for kind, pattern in patterns.items():
        if len(known) and pc.all(pc.match_substring_regex(known, pattern)).as_py():
            return kind
    return "text"


def rewritten(texts: pa.Array, kind: str, zone: str = "") -> pa.Array:
    """Texts as values of a kind are written by `text_values`: true for True, 1 for 1.0."""
    if kind == "date" and zone:
        texts = _on_clock(texts, zone)
    for pattern, replacement in _REWRITTEN.get(kind, ()):
        texts = pc.replace_substring_regex(texts, pattern, replacement)
    return texts


def _on_clock(texts: pa.Array, zone: str) -> pa.Array:
    """Times with an offset, as times of a zone."""
    has_offset = pc.fill_null(pc.match_substring_regex(texts, OFFSET_TEXT), False)
    try:
        instants = texts.filter(has_offset).cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:  # no such day
        return texts
    return pc.replace_with_mask(texts, has_offset, _clock_texts(in_zone(instants, zone), "date"))


def buckets(texts: pa.Array, n_buckets: int) -> np.ndarray:
    """The bucket of each text, the same on every machine; 0 for null."""
    if n_buckets == 1:
        return np.zeros(len(texts), dtype=np.int64)
    encoded = pc.fill_null(texts.cast(pa.large_binary()), b"").to_pylist()
    hashes = np.fromiter(map(zlib.crc32, encoded), dtype=np.int64, count=len(encoded))
    return hashes % n_buckets
