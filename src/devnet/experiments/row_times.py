"""When each row of a table happened, so that methods can learn from the past only."""

import numpy as np
import pyarrow as pa

from devnet.core.sentence import Setting
from devnet.tables.columns.arrow_values import (
    in_zone,
    is_missing,
    kind_of,
    numbers,
    plain,
    wall_clock,
)
from devnet.tables.table_error import TableError


def row_times(column: pa.ChunkedArray, name: str) -> np.ndarray:
    """Dates or numbers as numbers that grow with time, (n,); NaN where one is missing."""
    values = plain(column.combine_chunks())
    kind = kind_of(values.type)
    if kind.name == "number":
        return numbers(values)
    if kind.name == "date":
        instants = wall_clock(in_zone(values, "UTC")).astype(np.float64)
        return np.where(is_missing(values), np.nan, instants)
    example = next((f", such as {str(one)!r}" for one in values if one.is_valid), "")
    raise TableError(
        f"the column {name!r} does not say when a row happened: it has "
        f"{kind.in_words() or 'no values'}{example}. Name a column of dates, or of numbers that "
        "grow with time, with ",
        Setting("time"),
        ".",
    )
