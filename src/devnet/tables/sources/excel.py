"""Excel workbooks (.xlsx): one sheet, its first row the names of columns.

It is the only one with values, or the one that the caller names: book.xlsx#Sheet2.
"""

import warnings
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa

from devnet.core.names import known
from devnet.tables.sources.source import reading
from devnet.tables.table_error import TableError

EXCEL_SUFFIXES = (".xlsx", ".xlsm")


def split_sheet(name: str) -> tuple[str, str | None]:
    """The file and the sheet of a name such as book.xlsx#Sheet2; None if it names no sheet."""
    file, mark, sheet = name.rpartition("#")
    is_sheet = bool(mark and sheet) and file.lower().endswith(EXCEL_SUFFIXES)
    return (file, sheet) if is_sheet and not Path(name).exists() else (name, None)


def read_excel(path: Path, name: str, sheet: str | None) -> pa.Table:
    """A table of a workbook; a sheet has at most a million rows, so it fits into memory."""
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
            return _table(_rows(book, name, sheet), name)
        finally:
            book.close()


def _rows(book: Any, name: str, sheet: str | None) -> list[tuple[Any, ...]]:
    """The rows with values of the sheet to read."""
    chosen = book.worksheets if sheet is None else [_named(book, name, sheet)]
    sheets = {one.title: rows for one in chosen if (rows := _with_values(one, name))}
    if not sheets:
        raise TableError(f"{name} is empty; give a workbook with a table in it.")
    if len(sheets) > 1:
        titles = list(sheets)
        shown = ", ".join(map(repr, titles[:5])) + (", ..." if len(titles) > 5 else "")
        raise TableError(
            f"{name} has {len(sheets)} sheets with values ({shown}); say which one to read: "
            f"{quote(f'{name}#{titles[0]}')}"
        )
    (rows,) = sheets.values()
    return rows


def _named(book: Any, name: str, sheet: str) -> Any:
    sheets = {one.title: one for one in book.worksheets}
    try:
        return sheets[known(sheet, sheets, f"sheet of {split_sheet(name)[0]}")]
    except ValueError as error:
        raise TableError(str(error)) from None


def _with_values(sheet: Any, name: str) -> list[tuple[Any, ...]]:
    try:
        return [row for row in sheet.iter_rows(values_only=True) if any(map(_is_value, row))]
    except Exception as error:  # as above
        raise _damaged(name, error) from error


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
