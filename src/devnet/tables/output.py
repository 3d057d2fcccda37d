"""Writing a table batch by batch; the file appears only when it is complete."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv, ipc

from devnet.core.sentence import Setting
from devnet.core.whole_file import check_target, whole_file, writing
from devnet.tables.sources.plain_columns import plain_batch, undictionaried
from devnet.tables.spreadsheet import safe_batch, safe_names
from devnet.tables.table_error import TableError

GROUP_ROWS = 131_072  # rows of a row group, unless they are long
GROUP_BYTES = 1 << 27  # bytes of rows that wait for their row group, at most
DELIMITERS = {".csv": ",", ".tsv": "\t"}


@contextmanager
def open_output(
    path: str | Path,
    schema: pa.Schema,
    distinct: Collection[str] = (),
    *,
    spreadsheet_safe: bool = False,
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """A function that writes a batch; the file appears when the block ends without an error.

    Parameters
    ----------
    path : str or Path
        The suffix gives the format: .parquet, .pq, .csv, .tsv, .arrow or .feather.
    schema : pyarrow.Schema
        Of all batches.
    distinct : collection of str
        Columns with nearly all values distinct, for which Parquet need not try a dictionary.
    spreadsheet_safe : bool, default=False
        Whether texts of a .csv or .tsv file that begin like a formula get an apostrophe.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from devnet.tables.output import open_output
    >>> batch = pa.record_batch({"score": [0.5, 7.25]})
    >>> with open_output("scores.csv", batch.schema) as write:  # doctest: +SKIP
    ...     write(batch)
    """
    target = Path(path)
    open_writer = _writer_of(target, schema, distinct, spreadsheet_safe)
    with whole_file(target) as temporary:
        with _writing(target):
            writer = open_writer(temporary, schema)
        try:
            yield lambda batch: _write(writer, batch, schema, target)
        except BaseException:
            with suppress(pa.ArrowException, OSError, ValueError):
                writer.close()
            raise
        with _writing(target):
            writer.close()


def is_text_file(path: str | Path) -> bool:
    """Whether values are written as text, by the suffix."""
    return Path(path).suffix.lower() in DELIMITERS


def check_output(path: str | Path, schema: pa.Schema, *, spreadsheet_safe: bool = False) -> None:
    """Refuse a file that cannot hold these columns, before any work is done for it."""
    _writer_of(Path(path), schema, (), spreadsheet_safe)
    check_target(Path(path))


class _Writer(ABC):
    """A file that takes batches until it is closed."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


@final
class _ParquetWriter(_Writer):
    """Collects batches into row groups that are worth reading at once."""

    def __init__(self, path: Path, schema: pa.Schema, distinct: Collection[str]) -> None:
        self._schema = schema
        is_nested = any(pa.types.is_nested(field.type) for field in schema)
        repeated = [name for name in schema.names if name not in distinct]
        self._writer = pq.ParquetWriter(
            path, schema, compression="snappy", use_dictionary=is_nested or repeated
        )
        self._waiting: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        n_rows = sum(waiting.num_rows for waiting in self._waiting)
        n_bytes = sum(waiting.nbytes for waiting in self._waiting)
        if n_rows >= GROUP_ROWS or n_bytes >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        group = pa.Table.from_batches(self._waiting, self._schema)
        self._waiting = []
        if group.num_rows:
            self._writer.write_table(group, row_group_size=group.num_rows)

    def close(self) -> None:
        try:
            self._write_group()
        finally:
            self._writer.close()


@final
class _PlainWriter(_Writer):
    """Writes each batch as it comes: CSV and Arrow.

    Values are written instead of codes: an Arrow file has a single dictionary per column, but
    each batch may have its own.
    """

    def __init__(self, path: Path, schema: pa.Schema, spreadsheet_safe: bool = False) -> None:
        self._file = pa.OSFile(str(path), "wb")
        delimiter = DELIMITERS.get(path.suffix.lower())
        self._schema = pa.schema([(field.name, undictionaried(field.type)) for field in schema])
        self._is_safe = spreadsheet_safe
        if delimiter is None:
            self._writer = ipc.new_file(self._file, self._schema)
        else:
            options = csv.WriteOptions(delimiter=delimiter)
            written = safe_names(self._schema) if spreadsheet_safe else self._schema
            self._writer = csv.CSVWriter(self._file, written, write_options=options)

    def write(self, batch: pa.RecordBatch) -> None:
        plain = plain_batch(batch, self._schema)
        self._writer.write_batch(safe_batch(plain) if self._is_safe else plain)

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._file.close()


def _writer_of(
    path: Path, schema: pa.Schema, distinct: Collection[str], spreadsheet_safe: bool
) -> Callable[[Path, pa.Schema], _Writer]:
    suffix = path.suffix.lower()
    if spreadsheet_safe and suffix not in DELIMITERS:
        raise TableError(
            f"{path} is not a .csv or .tsv file, and only these need ",
            Setting("spreadsheet_safe", True),
            f"; leave it out, or write to {path.with_suffix('.csv')}.",
        )
    if suffix in (".parquet", ".pq"):
        return partial(_ParquetWriter, distinct=distinct)
    if suffix in (".arrow", ".feather"):
        return _PlainWriter
    if suffix not in DELIMITERS:
        raise TableError(
            f"{path} has the suffix {suffix!r}, which names no format to write; call it "
            f"{path.stem}.parquet, {path.stem}.csv or {path.stem}.arrow."
        )
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    if nested:
        raise TableError(
            f"the column {nested[0]!r} has several values in a row, which {suffix} cannot hold; "
            f"write to {path.with_suffix('.parquet')}."
        )
    return partial(_PlainWriter, spreadsheet_safe=spreadsheet_safe)


def _write(writer: _Writer, batch: pa.RecordBatch, schema: pa.Schema, path: Path) -> None:
    if not batch.schema.equals(schema):
        raise TableError(
            f"{path} was opened for the columns {_columns(schema)}, but a batch has "
            f"{_columns(batch.schema)}; write batches of the same columns."
        )
    with _writing(path):
        writer.write(batch)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while writing into a clear error."""
    try:
        with writing(path):
            yield
    except pa.ArrowException as error:
        raise TableError(
            f"{path} cannot hold these values ({error}); write to a file that ends in .parquet, or "
            "leave the column out."
        ) from error


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)
