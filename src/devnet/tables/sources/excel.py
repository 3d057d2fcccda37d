"""Excel workbooks (.xlsx): one sheet, its first row the names of columns.

It is the only one with values, or the one that the caller names: book.xlsx#Sheet2.
"""

import warnings
from pathlib import Path
from shlex import quote
from typing import Any
from zipfile import ZipFile

import pyarrow as pa

from devnet.core.names import known
from devnet.tables.sources.room import max_unpacked, more_room
from devnet.tables.sources.source import reading
from devnet.tables.table_error import TableError

EXCEL_SUFFIXES = (".xlsx", ".xlsm")
VALUE_BYTES = 8  # of a cell that is not text, or is empty


def split_sheet(name: str) -> tuple[str, str | None]:
    """The file and the sheet of a name such as book.xlsx#Sheet2; None if it names no sheet."""
    file, mark, sheet = name.rpartition("#")
    is_sheet = bool(mark and sheet) and file.lower().endswith(EXCEL_SUFFIXES)
    return (file, sheet) if is_sheet and not Path(name).exists() else (name, None)


def read_excel(path: Path, name: str, sheet: str | None) -> pa.Table:
    """A table of a workbook, all of it in memory."""
    try:
        import openpyxl
    except ImportError:
        raise TableError(
            f"{name} is an Excel workbook, which needs one more package: pip install "
            "'deviation-network[excel]'. Or save it as CSV."
        ) from None
    with reading(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and validation, which are not read
        _check_unpacked(path, name)
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except Exception as error:  # openpyxl raises what its parsers raise
            raise _damaged(name, error) from error
        try:
            return _table(_rows(book, name, sheet), name)
        finally:
            book.close()


def _check_unpacked(path: Path, name: str) -> None:
    """Refuse a workbook, which is a zip file, by the sizes that its directory states."""
    try:
        with ZipFile(path) as parts:
            n_bytes = sum(part.file_size for part in parts.infolist())
    except Exception as error:  # as below
        raise _damaged(name, error) from error
    if n_bytes > max_unpacked():
        raise _too_large(name, n_bytes)


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
    rows, n_bytes = [], 0
    try:
        for row in sheet.iter_rows(values_only=True):
            if any(map(_is_value, row)):
                rows.append(_short(row))
                n_bytes += sum(map(_value_bytes, rows[-1]))
            if n_bytes > max_unpacked():
                raise _too_large(name, n_bytes)
    except TableError:
        raise
    except Exception as error:  # as above
        raise _damaged(name, error) from error
    return rows


def _short(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row up to its last value; openpyxl adds cells up to the end of the sheet."""
    return row[: max(i for i, value in enumerate(row, 1) if _is_value(value))]


def _value_bytes(value: Any) -> int:
    return len(value) if isinstance(value, str) else VALUE_BYTES


def _table(rows: list[tuple[Any, ...]], name: str) -> pa.Table:
    width = max(len(row) for row in rows)
    n_bytes = VALUE_BYTES * width * len(rows)  # empty cells are cells, too
    if n_bytes > max_unpacked():
        raise _too_large(name, n_bytes)
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


def _too_large(name: str, n_bytes: int) -> TableError:
    return TableError(
        f"{name} unpacks to {n_bytes:,} bytes or more, and a workbook of more than "
        f"{max_unpacked():,} is not read; save it as CSV, or, {more_room(n_bytes)}"
    )
