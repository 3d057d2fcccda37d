"""Opening a table: a file, several files or an object in memory."""

import difflib
import glob
import os
import stat
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa

from devnet.core.wording import path_text
from devnet.tables.sources.arrow import FILE_MAGIC, STREAM_MAGIC, ArrowSource
from devnet.tables.sources.byte_stream import COMPRESSED_SUFFIXES, first_bytes
from devnet.tables.sources.csv import CsvSource, CsvTyping
from devnet.tables.sources.excel import EXCEL_SUFFIXES, read_excel, split_sheet
from devnet.tables.sources.flattened import FlattenedSource, is_nested
from devnet.tables.sources.joined import JoinedSource
from devnet.tables.sources.json_lines import JsonLinesSource
from devnet.tables.sources.memory import file_source, memory_source
from devnet.tables.sources.parquet import ENCRYPTED_MAGIC, PARQUET_MAGIC, ParquetSource
from devnet.tables.sources.source import BATCH_ROWS, Source, reading
from devnet.tables.sources.svmlight import SvmlightSource
from devnet.tables.sources.table_file import TableFile
from devnet.tables.sources.unsupported import refuse_unsupported
from devnet.tables.table_error import TableError

__all__ = ["BATCH_ROWS", "Source", "open_table"]

PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
SVMLIGHT_SUFFIXES = (".svm", ".svmlight", ".libsvm")
TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
TABLE_SUFFIXES = (
    *PARQUET_SUFFIXES,
    *ARROW_SUFFIXES,
    *SVMLIGHT_SUFFIXES,
    *TEXT_SUFFIXES,
    *JSON_SUFFIXES,
    *EXCEL_SUFFIXES,
)


def open_table(
    table: Any,
    *,
    types: Mapping[str, pa.DataType] | None = None,
    inferred: Collection[str] | None = None,
    missing: Collection[str] = (),
    decimal_comma: bool | None = None,
) -> Source:
    """A table to read from.

    Parameters
    ----------
    table : path or object
        A CSV, Parquet, Arrow (IPC, Feather), JSON Lines, Excel or svmlight file; a sheet of a
        workbook, such as "book.xlsx#Sheet2"; a folder of Parquet files or a pattern such as
        "data/*.parquet", which are one table; a pandas or polars data frame, a pyarrow Table or
        RecordBatch, anything with `__arrow_c_stream__` such as the result of a query, a
        dictionary of columns, a matrix.
    types : mapping of column names to Arrow types, default=None
        Types of columns of CSV files, and of dates that are text in memory; others are inferred.
    inferred : collection of str, default=None
        The only columns of CSV files to infer; all others without a type are then text.
    missing : collection of str, default=()
        Further texts of CSV files that mean a missing value.
    decimal_comma : bool, default=None
        Whether numbers of CSV files have decimal commas; by default, their values decide.

    Returns
    -------
    source : Source

    Examples
    --------
    >>> from devnet.tables.sources.opening import open_table
    >>> source = open_table({"amount": [9.5, 12.0], "card": ["visa", None]})
    >>> source.n_rows, source.schema.names
    (2, ['amount', 'card'])
    """
    typing = CsvTyping(types or {}, inferred, tuple(missing), decimal_comma)
    source = _opened(table, typing)
    return FlattenedSource(source) if is_nested(source.schema) else source


def _opened(table: Any, typing: CsvTyping) -> Source:
    if not isinstance(table, str | os.PathLike):
        return memory_source(table, partial(_may_be_date, typing.types, typing.inferred))
    name = os.fspath(table)
    if not isinstance(name, str) or not name or "\0" in name:
        raise TableError(f"{name!r} is not a path; give the name of a file, for example table.csv.")
    paths, (_, sheet) = paths_of(name), split_sheet(name)
    first_name = name if len(paths) == 1 else paths[0]
    first = open_file(paths[0], path_text(first_name), typing, sheet)
    if len(paths) == 1:
        return first
    same = typing._replace(types={field.name: field.type for field in first.schema})
    others = [open_file(path, path_text(path), same, sheet) for path in paths[1:]]
    return JoinedSource(path_text(name), [first, *others])


def _may_be_date(
    types: Mapping[str, pa.DataType], inferred: Collection[str] | None, name: str
) -> bool:
    """Whether text of a column may be dates, as in a CSV file."""
    kind = types.get(name)
    if kind is None:
        return inferred is None
    return bool(pa.types.is_temporal(kind))


def paths_of(name: str) -> list[Path]:
    """The files that a name stands for, sorted."""
    name, _ = split_sheet(name)
    path, shown = Path(name), path_text(name)
    with reading(shown):
        try:
            return _folder(path, shown) if stat.S_ISDIR(path.stat().st_mode) else [path]
        except FileNotFoundError:
            pass
        found = sorted(Path(file) for file in glob.glob(name, recursive=True))  # noqa: PTH207
        files = [file for file in found if file.is_file()]
    if files:
        return files
    if glob.has_magic(name):
        raise TableError(f"no file matches {shown}; list what there is: ls {_quoted(path.parent)}")
    raise FileNotFoundError(_no_such_file(path, shown))


def files_of(name: str) -> list[TableFile]:
    """The files that a name stands for, as they are now."""
    return [TableFile(path, path_text(path)) for path in paths_of(name)]


def _folder(path: Path, name: str) -> list[Path]:
    """The Parquet files of a folder; an error if it has none."""
    files = sorted(file for file in path.iterdir() if not file.name.startswith((".", "_")))
    parquet = [file for file in files if _suffix(file) in PARQUET_SUFFIXES and file.is_file()]
    if parquet:
        return parquet
    other = [_suffix(file) for file in files if file.is_file() and _suffix(file) in TABLE_SUFFIXES]
    folders = [file for file in files if file.is_dir()]
    if other:
        advice = f"give its files as '{path_text(path)}/*{other[0]}'"
    elif folders:
        advice = f"if its folders have some, give '{path_text(path)}/**/*.parquet'"
    else:
        advice = f"list what there is: ls {_quoted(path)}"
    raise TableError(f"{name} is a folder without Parquet files; {advice}")


def _no_such_file(path: Path, name: str) -> str:
    if path.is_symlink():
        target = path_text(path.readlink())
        return f"{name} is a link to {target}, which does not exist; mend the link, or give a file."
    if not path.parent.is_dir():
        folder = path_text(path.parent)
        return f"there is no file {name}, nor a folder {folder}; look for it with: ls"
    names = [path_text(file.name) for file in path.parent.iterdir()]
    near = difflib.get_close_matches(path_text(path.name), names, n=3)
    if near:
        return f"there is no file {name}. Did you mean {', '.join(map(repr, near))}?"
    return f"there is no file {name}; list what there is: ls {_quoted(path.parent)}"


def _quoted(path: Path) -> str:
    """A path as an argument of a command."""
    return quote(path_text(path))


def open_file(path: Path, name: str, typing: CsvTyping, sheet: str | None = None) -> Source:
    """One file of a table, with its name in messages; see `open_table`."""
    with reading(name):
        if not stat.S_ISREG(path.stat().st_mode):
            raise TableError(f"{name} is a pipe or device, not a file; write the table to a file.")
        file = TableFile(path, name)
        with file.unchanged():
            return _source_of(file, typing, sheet)


def _source_of(file: TableFile, typing: CsvTyping, sheet: str | None) -> Source:
    """The source of the file's format, by its first bytes or its suffix."""
    magic, suffix = first_bytes(file.path), _suffix(file.path)
    if not magic:
        raise TableError(f"{file.name} is empty; give a file with a table in it.")
    if magic.startswith((PARQUET_MAGIC, ENCRYPTED_MAGIC)) or suffix in PARQUET_SUFFIXES:
        return ParquetSource(file)
    refuse_unsupported(suffix, magic, file.typed, file.name)
    if magic.startswith((FILE_MAGIC, STREAM_MAGIC)) or suffix in ARROW_SUFFIXES:
        return ArrowSource(file)
    if suffix in JSON_SUFFIXES:
        return JsonLinesSource(file, typing.types)
    if suffix in EXCEL_SUFFIXES:
        may_be_date = partial(_may_be_date, typing.types, typing.inferred)
        return file_source(read_excel(file.path, file.name, sheet), file, may_be_date)
    if suffix in SVMLIGHT_SUFFIXES:
        return SvmlightSource(file)
    return CsvSource(file, typing)


def _suffix(path: Path) -> str:
    """The suffix that names the format: table.csv.gz is a CSV."""
    lower = path.name.lower()
    for packed in COMPRESSED_SUFFIXES:
        lower = lower.removesuffix(packed)
    return Path(lower).suffix
