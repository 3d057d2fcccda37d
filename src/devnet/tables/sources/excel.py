"""Excel workbooks (.xlsx): the only sheet with values, its first row the names of columns."""

import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa

from devnet.tables.sources.source import reading
from devnet.tables.table_error import TableError


def read_excel(path: Path, name: str) -> pa.Table:
    """The table of a workbook; a sheet has at most a million rows, so it fits into memory."""
    try:
        import openpyxl
    except ImportError:
        raise TableError(
            f"{name} is an Excel workbook, which needs one more package: pip install "
            "'deviation-network[excel]'. Or save it as CSV."
        ) from None
    with reading(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and validation, which are not read
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except Exception as error:  # openpyxl raises what its parsers raise
            raise _damaged(name, error) from error
        try:
            return _only_table(book, name)
        finally:
            book.close()


def _only_table(book: Any, name: str) -> pa.Table:
    sheets = {}
    for sheet in book.worksheets:
        try:
            rows = [row for row in sheet.iter_rows(values_only=True) if any(map(_is_value, row))]
        except Exception as error:  # as above
            raise _damaged(name, error) from error
        if rows:
            sheets[sheet.title] = rows
    if not sheets:
        raise TableError(f"{name} is empty; give a workbook with a table in it.")
    if len(sheets) > 1:
        titles = ", ".join(map(repr, list(sheets)[:5]))
        raise TableError(
            f"{name} has {len(sheets)} sheets with values ({titles}); save the one with the table "
            f"as CSV, or give a frame: pandas.read_excel({name!r}, sheet_name=...)."
        )
    (rows,) = sheets.values()
    return _table(rows, name)


def _table(rows: list[tuple[Any, ...]], name: str) -> pa.Table:
    width = max(len(row) for row in rows)
    filled = [row + (None,) * (width - len(row)) for row in rows]
    used = [i for i in range(width) if any(_is_value(row[i]) for row in filled)]
    header, values = filled[0], filled[1:]
    names = ["" if header[i] is None else str(header[i]) for i in used]
    arrays = [_column([row[i] if _is_value(row[i]) else None for row in values]) for i in used]
    return pa.Table.from_arrays(arrays, names=names)


def _column(values: list[Any]) -> pa.Array:
    """Values of one kind as they are; values of several kinds as text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if value is None else str(value) for value in values])


def _is_value(value: Any) -> bool:
    return value is not None and value != ""


def _damaged(name: str, error: Exception) -> TableError:
    reason = " ".join(str(error).split())[:200].rstrip(".")
    return TableError(
        f"{name} cannot be read as an Excel workbook ({reason}); save it again, or as CSV."
    )
