"""ISO 8601 dates stored as text: a CSV reader parses them, but a data frame may still hold them."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

LOOKS_LIKE = r"^\d{4}-\d{2}-\d{2}"
LOOKED_AT = 100  # texts that must look like dates before all are parsed


def with_dates(table: pa.Table, may_be_date: Callable[[str], bool]) -> pa.Table:
    """The table, with columns of text as dates if every known value is one.

    Parameters
    ----------
    table : pyarrow.Table
    may_be_date : callable
        Whether to try a column of this name.
    """
    for i, field in enumerate(table.schema):
        is_text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        if is_text and may_be_date(field.name):
            dates = _as_dates(table.column(i))
            if dates is not None:
                table = table.set_column(i, field.name, dates)
    return table


def _as_dates(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    first = column.drop_null().slice(0, LOOKED_AT)
    if not len(first) or not pc.all(pc.match_substring_regex(first, LOOKS_LIKE)).as_py():
        return None
    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
