"""Texts of a new table, read as the numbers and dates that a model learned from."""

from collections.abc import Mapping

import pyarrow as pa

from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.readings.reading import BY_VALUES, Conventions, Reading
from devnet.tables.readings.table_reader import TableReader


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
    """How columns of a sample are read, where that gives the kind of values of `learned`."""
    found = TableReader.learn(sample, conventions, may_be_codes=False).readings
    return {name: one for name, one in found.items() if kind_of(one.becomes).name == learned[name]}
