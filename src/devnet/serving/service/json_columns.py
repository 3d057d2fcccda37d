"""Columns of JSON values as Arrow columns, each typed by what the model learned from it.

So one row alone becomes what it becomes among others, and a value that does not fit is found with
its row.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.serving.service.refusal import bad_value
from devnet.serving.service.unread import first_unread
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.columns.column import ColumnEncoding
from devnet.tables.columns.vector import VectorColumn
from devnet.tables.encoder import TableEncoder
from devnet.tables.readings.epoch_reading import END, FIRST
from devnet.tables.readings.reading import Reading
from devnet.tables.readings.table_reader import TableReader
from devnet.tables.readings.time_reading import TimeReading

Convert = Callable[[list[Any]], pa.Array]  # raises a ValueError if a value does not fit
KINDS = {int: "number", float: "number", bool: "boolean", str: "text", list: "list", dict: "object"}
WORDS = {"number": "a number", "boolean": "true or false", "text": "a text"}
DAY = 86_400_000_000  # microseconds
NUMBERS = pa.list_(pa.float64())
SPARSE = pa.list_(pa.struct([("index", pa.int64()), ("value", pa.float64())]))
CLOCK, ISO_DATE = "14:30:05", "2026-11-17T10:05:00"


class JsonColumn(NamedTuple):
    """A column that the model takes, and how JSON values become its values.

    Parameters
    ----------
    name : str
    converts : mapping of str to Convert
        By the kind of JSON values; a request has values of one kind, and null.
    wanted : str
        What to send, in words.
    empty : pyarrow.DataType
        Its type if all values are missing.
    """

    name: str
    converts: Mapping[str, Convert]
    wanted: str
    empty: pa.DataType

    def array(self, values: list[Any]) -> pa.Array:
        """The values of all rows, or a refusal of the first that does not fit."""
        kinds = {KINDS[one] for one in set(map(type, values)) if one is not type(None)}
        if not kinds:
            return pa.nulls(len(values), self.empty)
        if len(kinds) == 1 and (convert := self.converts.get(*kinds)) is not None:
            try:
                return convert(values)
            except (ValueError, OverflowError):
                pass  # one of them: see which
        raise self._refusal(values)

    def _refusal(self, values: list[Any]) -> Exception:
        known = [(row, value) for row, value in enumerate(values) if value is not None]
        first = KINDS[type(known[0][1])]
        for row, value in known:
            kind = KINDS[type(value)]
            if kind not in self.converts or not _fits(value, self.converts[kind]):
                return bad_value(row, self.name, value, self.wanted)
            if kind != first:
                also = f"{WORDS[first]} in this request, as in row {known[0][0]}"
                return bad_value(row, self.name, value, also)
        row, value = known[0]  # each fits alone, but not all together: so does none
        return bad_value(row, self.name, value, self.wanted)


def json_columns(encoder: TableEncoder) -> list[JsonColumn]:
    """How JSON values become the columns that an encoder takes."""
    return [_column(one, encoder.reader) for one in encoder.columns]


def _column(column: ColumnEncoding, reader: TableReader) -> JsonColumn:
    reading = reader.readings.get(column.name)
    if reading is not None:
        return _read_column(column, reading, reader)
    if "sparse" in column.accepts:
        wanted = 'a list of objects such as {"index": 3, "value": 0.5}'
        return JsonColumn(column.name, {"list": _vectors}, wanted, SPARSE)
    if isinstance(column, VectorColumn):
        wanted, convert = f"a list of {column.size:,} numbers", partial(_lists, column.size)
        return JsonColumn(column.name, {"list": convert}, wanted, NUMBERS)
    if column.kind == "date":
        return _date_column(column)
    converts = {kind: PLAIN[kind] for kind in PLAIN if kind in column.accepts}
    wanted = " or ".join(WORDS[kind] for kind in converts)
    if column.kind == "category" and "number" in converts:
        converts["number"] = _codes
    return JsonColumn(column.name, converts, wanted, column.csv_type)


def _read_column(column: ColumnEncoding, reading: Reading, reader: TableReader) -> JsonColumn:
    """A column whose values are read, as `reading` says; plain ones of its kind are taken too."""
    becomes = kind_of(reading.becomes).name
    kinds = [kind for kind in ("text", "number") if kind in ("text", reading.reads, becomes)]

    def read(kind: str) -> Convert:
        def convert(values: list[Any]) -> pa.Array:
            raw = PLAIN[kind](values)
            found = reader.column(column.name, raw)
            if first_unread(raw, found) is not None:
                raise ValueError("not all of them can be read")
            return found

        return convert

    wanted = f"{' or '.join(WORDS[kind] for kind in kinds)} ({reading.in_words()})"
    return JsonColumn(column.name, {kind: read(kind) for kind in kinds}, wanted, reading.becomes)


def _date_column(column: ColumnEncoding) -> JsonColumn:
    """Dates as ISO text, or as the whole numbers that Arrow has for them."""
    kind = column.csv_type
    if column.learned_from == "time":
        wanted = f"a time of day such as {CLOCK}, or whole microseconds since midnight"
        converts: dict[str, Convert] = {"text": _times, "number": _microseconds_of_day}
        return JsonColumn(column.name, converts, wanted, kind)
    zone = getattr(kind, "tz", None)
    wanted = (
        f"a time such as {ISO_DATE}{'Z or with another offset' if zone else ' without an offset'}, "
        "or whole microseconds since 1970, from 1990 to 2100"
    )
    converts = {
        "text": lambda values: _texts(values).cast(kind),
        "number": lambda values: _microseconds(values, FIRST, END).cast(kind),
    }
    return JsonColumn(column.name, converts, wanted, kind)


def _texts(values: list[Any]) -> pa.Array:
    return pa.array(values, pa.string())


def _numbers(values: list[Any]) -> pa.Array:
    try:
        found = pa.array(values, pa.float64())
    except pa.ArrowInvalid:  # integers beyond 64 bits
        found = pa.array([None if value is None else float(value) for value in values])
    if np.isinf(found.to_numpy(zero_copy_only=False)).any():  # 1e999
        raise ValueError("a number is too large")
    return found


def _booleans(values: list[Any]) -> pa.Array:
    return pa.array(values, pa.bool_())


def _codes(values: list[Any]) -> pa.Array:
    """Numbers that are categories: whole ones exactly, as they may be long."""
    is_whole = all(type(value) is int for value in values if value is not None)
    return pa.array(values, pa.int64()) if is_whole else _numbers(values)


PLAIN: dict[str, Convert] = {"text": _texts, "number": _numbers, "boolean": _booleans}


def _times(values: list[Any]) -> pa.Array:
    found = TimeReading().read(_texts(values))
    if found.null_count > values.count(None):
        raise ValueError("not all of them are times")
    return found


def _microseconds_of_day(values: list[Any]) -> pa.Array:
    return _microseconds(values, 0, DAY).cast(pa.time64("us"))


def _microseconds(values: list[Any], first: float, end: float) -> pa.Array:
    if any(
        not first <= value < end or type(value) is not int for value in values if value is not None
    ):
        raise ValueError("not all of them are such times")
    return pa.array(values, pa.int64())


def _vectors(values: list[Any]) -> pa.Array:
    for vector in values:
        for one in vector or ():
            if not isinstance(one, dict) or {*one} != {"index", "value"}:
                raise ValueError("not all of them are pairs of index and value")
            if type(one["index"]) is not int or type(one["value"]) not in (int, float):
                raise ValueError("not all of them are numbers")
    return pa.array(values, SPARSE)


def _lists(size: int, values: list[Any]) -> pa.Array:
    for vector in values:
        if vector and len(vector) != size:
            raise ValueError("not all of them are of that length")
        if not {type(one) for one in vector or ()} <= {int, float, type(None)}:
            raise ValueError("not all of them are numbers")
    found = pa.array(values, NUMBERS)
    if np.isinf(found.flatten().to_numpy(zero_copy_only=False)).any():  # 1e999
        raise ValueError("a number is too large")
    return found


def _fits(value: Any, convert: Convert) -> bool:
    try:
        convert([value])
    except (ValueError, OverflowError):
        return False
    return True
