"""Single rows of a table by number, and their names."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from devnet.tables.columns.arrow_values import in_known_zone
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.columns.text_values import text_values
from devnet.tables.sources.opening import Source
from devnet.tables.sources.plain_columns import with_values
from devnet.tables.table_error import TableError


def take_rows(source: Source, numbers: Sequence[int], columns: Sequence[str]) -> pa.Table:
    """Rows with the given numbers, counted from 0, in the order of the numbers."""
    wanted = np.unique(np.asarray(numbers, dtype=np.int64))
    found, start = [], 0
    for batch in source.batches(columns):
        inside = wanted[(wanted >= start) & (wanted < start + len(batch))]
        found.append(pa.Table.from_batches([with_values(batch.take(inside - start))]))
        start += len(batch)
        if len(wanted) and start > wanted[-1] >= 0:
            break
    missing = [number for number in numbers if not 0 <= number < start]
    if missing:
        raise TableError(
            f"there is no row {missing[0]:,}: {source.name} has {start:,} rows, numbered from 0 to "
            f"{start - 1:,}."
            if start
            else f"there is no row {missing[0]:,}: {source.name} has no rows."
        )
    if not found:
        return pa.schema([source.schema.field(name) for name in columns]).empty_table()
    return pa.concat_tables(found).take(np.searchsorted(wanted, numbers))


def choose_id_column(left_out: Mapping[str, LeftOut]) -> str | None:
    """The first column that was left out because its values are all distinct."""
    return next((name for name, one in left_out.items() if one.reason is Why.UNIQUE), None)


def row_ids(
    rows: pa.Table | pa.RecordBatch, id_column: str | None, number: np.ndarray
) -> list[str]:
    """Names of rows: from the id column, else by their number."""
    if id_column is None or id_column not in rows.schema.names:
        return [f"row {n}" for n in number.tolist()]
    values = _python_values(rows[id_column])
    return [
        f"row {n}" if value is None else _text(value)
        for value, n in zip(values, number.tolist(), strict=True)
    ]


def python_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python values by column; dates that Python lacks as text."""
    columns = {name: _python_values(rows[name]) for name in rows.column_names}
    return [{name: values[i] for name, values in columns.items()} for i in range(rows.num_rows)]


def _python_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    chunks = [in_known_zone(chunk) for chunk in chunks]
    try:
        return [value for chunk in chunks for value in chunk.to_pylist()]
    except (OverflowError, ValueError):  # far dates, long durations
        return [text for chunk in chunks for text in text_values(chunk).listed()]


def _text(value: object) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)  # type: ignore[call-overload]
