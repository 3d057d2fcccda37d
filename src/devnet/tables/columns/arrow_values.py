"""What kind of values an Arrow column holds, and its values in plain form."""

from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DAY = 86_400_000_000  # microseconds
_DOUBLE = pa.float64()
LIMIT = 8_000 * 366 * DAY  # instants farther from 1970 are clipped to this
MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SINGULAR = ("number", "boolean", "text", "date", "time")  # kinds with one value per row
WORDS = {
    "number": "numbers",
    "boolean": "true or false",
    "text": "text",
    "date": "dates",
    "time": "times of day",
    "sparse": "sparse vectors",
    "vector": "vectors",
}


class ColumnKind(NamedTuple):
    """Kind of values: one of SINGULAR, "sparse", "vector", "empty", or "unusable" with a reason."""

    name: str
    reason: str = ""
    zone: str = ""  # of dates

    def in_words(self) -> str:
        """The values, as an error names them."""
        return WORDS.get(self.name, self.reason)


@lru_cache(maxsize=1024)
def kind_of(arrow_type: pa.DataType) -> ColumnKind:
    """Kind of an Arrow type; a dictionary has the kind of its values."""
    if isinstance(arrow_type, pa.BaseExtensionType):
        return kind_of(arrow_type.storage_type)
    if pa.types.is_dictionary(arrow_type) or pa.types.is_run_end_encoded(arrow_type):
        return kind_of(arrow_type.value_type)
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz and not _knows_zone(arrow_type.tz):
        return ColumnKind("unusable", f"times of the unknown zone {arrow_type.tz!r}")
    for name, tests in _TESTS.items():
        if any(test(arrow_type) for test in tests):
            return ColumnKind(name, zone=getattr(arrow_type, "tz", None) or "")
    if pa.types.is_nested(arrow_type):
        return ColumnKind("unusable", f"nested values ({str(arrow_type).partition('<')[0]})")
    is_binary = "binary" in str(arrow_type)
    return ColumnKind("unusable", "binary values" if is_binary else f"values of type {arrow_type}")


def _is_sparse_vector(arrow_type: pa.DataType) -> bool:
    if not (pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type)):
        return False
    pair = arrow_type.value_type
    if not pa.types.is_struct(pair) or sorted(one.name for one in pair) != ["index", "value"]:
        return False
    value = pair.field("value").type
    is_number = pa.types.is_floating(value) or pa.types.is_integer(value)
    return is_number and bool(pa.types.is_integer(pair.field("index").type))


def _is_vector(arrow_type: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(test(arrow_type) for test in tests):
        return False
    number = arrow_type.value_type
    return bool(pa.types.is_floating(number) or pa.types.is_integer(number))


_TESTS = {
    "number": (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_duration,
    ),
    "boolean": (pa.types.is_boolean,),
    "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "date": (pa.types.is_date, pa.types.is_timestamp),
    "time": (pa.types.is_time,),
    "sparse": (_is_sparse_vector,),
    "vector": (_is_vector,),
    "empty": (pa.types.is_null,),
}


@cache
def _knows_zone(zone: str) -> bool:
    try:
        pc.local_timestamp(pa.array([0], pa.timestamp("s", zone)))
    except pa.ArrowException:
        return False
    return True


def is_dictionary(arrow_type: pa.DataType) -> bool:
    """Whether values are stored as codes of a dictionary."""
    if isinstance(arrow_type, pa.BaseExtensionType):
        return is_dictionary(arrow_type.storage_type)
    return bool(pa.types.is_dictionary(arrow_type))


def unsliced(texts: pa.Array) -> pa.Array:
    """The texts in an array of their own, not as a part of a longer one.

    Up to version 23, Arrow's `if_else` of a null and such a part gives texts of other rows.
    """
    return pa.concat_arrays([texts]) if texts.offset else texts


def plain(values: pa.Array) -> pa.Array:
    """The values themselves, whether stored as a dictionary, as runs or as an extension."""
    if isinstance(values, pa.ExtensionArray):
        return plain(values.storage)
    if pa.types.is_dictionary(values.type):
        entries = plain(values.dictionary)
        if pa.types.is_string_view(entries.type):  # which Arrow's take does not support
            entries = entries.cast(pa.large_string())
        return entries.take(values.indices)
    if pa.types.is_run_end_encoded(values.type):
        return plain(pc.run_end_decode(values))
    return values


def numbers(values: pa.Array) -> np.ndarray:
    """Numbers as float64, durations in seconds; NaN where one is missing or infinite."""
    values = plain(values)
    seconds = 1.0
    if pa.types.is_duration(values.type):
        seconds = SECONDS[values.type.unit]
        values = values.view(pa.int64())
    if values.type != _DOUBLE:
        values = values.cast(_DOUBLE, safe=False)
    found: np.ndarray = values.to_numpy(zero_copy_only=False)
    if seconds != 1:
        found = found * seconds
    is_infinite = np.isinf(found)
    return np.where(is_infinite, np.nan, found) if is_infinite.any() else found


def is_missing(values: pa.Array) -> np.ndarray:
    """Where a value is null, (n,) boolean."""
    if not values.null_count:  # asking Arrow takes as long as everything else about few rows
        return np.zeros(len(values), dtype=bool)
    missing: np.ndarray = values.is_null().to_numpy(zero_copy_only=False)
    return missing


def in_zone(values: pa.Array, zone: str) -> pa.Array:
    """Times with a zone, converted to another zone; others as they are."""
    values = plain(values)
    own = getattr(values.type, "tz", None)
    if not zone or not own or own == zone:
        return values
    return values.cast(pa.timestamp(values.type.unit, zone))


def in_known_zone(values: pa.Array) -> pa.Array:
    """Times of a zone that nobody knows as times of UTC; others as they are."""
    zone = getattr(plain(values).type, "tz", None)
    if zone is None or _knows_zone(zone):
        return values
    return plain(values).cast(pa.timestamp(plain(values).type.unit, "UTC"))


def wall_clock(values: pa.Array) -> np.ndarray:
    """Dates and times as microseconds since 1970 (or midnight) on the clock of their zone.

    An int64 array, 0 where the value is missing.
    """
    values = plain(values)
    zone = getattr(values.type, "tz", None)
    instants = _microseconds(values)
    if not zone:
        return instants
    local = pc.local_timestamp(pa.array(instants, pa.timestamp("us", zone)))
    shifted: np.ndarray = local.view(pa.int64()).to_numpy(zero_copy_only=False)
    return shifted


def _microseconds(values: pa.Array) -> np.ndarray:
    arrow_type = values.type
    if arrow_type.bit_width == 32:
        values = values.view(pa.int32()).cast(pa.int64())
    values = values.view(pa.int64())
    if values.null_count:
        values = pc.fill_null(values, 0)
    raw: np.ndarray = values.to_numpy(zero_copy_only=False)
    if pa.types.is_date(arrow_type):
        unit = DAY if pa.types.is_date32(arrow_type) else MICROSECONDS["ms"]
    elif arrow_type.unit == "ns":
        return raw // 1000
    else:
        unit = MICROSECONDS[arrow_type.unit]
    limit = LIMIT // unit
    instants: np.ndarray = np.minimum(np.maximum(raw, -limit), limit)
    instants *= unit
    return instants


def one_value(value: Any) -> pa.Array:
    """A Python value or Arrow scalar as an array of one; null if Arrow has no type for it."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, 1) if value.is_valid else pa.nulls(1)
    for known in (lambda: value, lambda: float(value)):  # integers may be too large for Arrow
        try:
            return pa.array([known()])
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            continue
    return pa.nulls(1)
