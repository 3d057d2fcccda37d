"""Texts of a new table, read as the numbers and dates that a model learned from."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.columns.arrow_values import kind_of, plain
from devnet.tables.readings.date_reading import ISO, DateReading
from devnet.tables.readings.markers import is_marker
from devnet.tables.readings.number_reading import NumberReading
from devnet.tables.readings.reading import BY_VALUES, Conventions, Reading
from devnet.tables.readings.table_reader import TableReader
from devnet.tables.readings.time_reading import TimeReading


def needs_reading(schema: pa.Schema, learned: Mapping[str, str]) -> list[str]:
    """Columns of text where a model learned numbers, dates or times, given what it learned."""
    return [
        one.name
        for one in schema
        if learned.get(one.name) in ("number", "date", "time") and kind_of(one.type).name == "text"
    ]


def readings_as_learned(
    sample: pa.RecordBatch, learned: Mapping[str, str], conventions: Conventions = BY_VALUES
) -> dict[str, Reading]:
    """How columns of a sample are read, where that gives the kind of values of `learned`.

    Without a value that shows how, numbers and dates are those that need no reading elsewhere.
    """
    usual = {
        "number": NumberReading("," if conventions.decimal_comma else "."),
        "date": DateReading(ISO),
        "time": TimeReading(),
    }
    unknown = [name for name in sample.schema.names if _has_no_value(sample.column(name))]
    found = TableReader.learn(sample, conventions, may_be_codes=False).readings
    found |= {name: usual[learned[name]] for name in unknown}
    return {name: one for name, one in found.items() if kind_of(one.becomes).name == learned[name]}


def _has_no_value(texts: pa.Array) -> bool:
    known = plain(texts).drop_null()
    return bool(pc.all(is_marker(known), min_count=0).as_py())
