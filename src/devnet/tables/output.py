"""Writing a table batch by batch; the file appears only when it is complete."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv, ipc

from devnet.core.sentence import Setting
from devnet.core.whole_file import check_target, whole_file, writing
from devnet.core.wording import cut
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.sources.plain_columns import plain_batch, undictionaried
from devnet.tables.spreadsheet import safe_batch, safe_names
from devnet.tables.table_error import TableError

GROUP_ROWS = 131_072  # rows of a row group, unless they are long
GROUP_BYTES = 1 << 27  # bytes of rows that wait for their row group, at most
PARQUET = (".parquet", ".pq")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
LONGEST_REASON = 200  # characters of what Arrow says
_REFUSALS = (pa.ArrowException, OSError)  # Arrow's, of types and values


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
        with writing(target):
            name = os.fsencode(temporary)  # need not be UTF-8
            writer = open_writer(pa.OSFile(name, "wb"), schema)
        try:
            yield lambda batch: _write(writer, batch, schema, target)
        except BaseException:
            writer.waiting = []
            with suppress(pa.ArrowException, OSError, ValueError):
                writer.close()
            raise
        with _writing(target, writer):
            writer.close()


def is_text_file(path: str | Path) -> bool:
    """Whether values are written as text, by the suffix."""
    return Path(path).suffix.lower() in DELIMITERS


def check_output(path: str | Path, schema: pa.Schema, *, spreadsheet_safe: bool = False) -> None:
    """Refuse a file that cannot hold these columns, before any work is done for it."""
    check_columns(path, schema, spreadsheet_safe=spreadsheet_safe)
    check_target(Path(path))


def check_columns(path: str | Path, schema: pa.Schema, *, spreadsheet_safe: bool = False) -> None:
    """Refuse columns that a file of this name cannot hold, wherever it will be."""
    _writer_of(Path(path), schema, (), spreadsheet_safe)


class _Writer(ABC):
    """Takes batches until it is closed, and then closes its file.

    If a batch cannot be written, it is among those that are waiting.
    """

    waiting: list[pa.RecordBatch]

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def close(self) -> None: ...


_OpenWriter = Callable[[Any, pa.Schema], _Writer]  # from a stream of Arrow's


@final
class _ParquetWriter(_Writer):
    """Collects batches into row groups that are worth reading at once."""

    def __init__(self, file: Any, schema: pa.Schema, distinct: Collection[str] = ()) -> None:
        self._file = file
        self._schema = pa.schema([(field.name, _stored_type(field.type)) for field in schema])
        is_nested = any(pa.types.is_nested(field.type) for field in schema)
        repeated = [name for name in schema.names if name not in distinct]
        self._writer = pq.ParquetWriter(
            file, self._schema, compression="snappy", use_dictionary=is_nested or repeated
        )
        self.waiting = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.waiting.append(_with_missing_codes(plain_batch(batch, self._schema)))
        n_rows = sum(waiting.num_rows for waiting in self.waiting)
        n_bytes = sum(waiting.nbytes for waiting in self.waiting)
        if n_rows >= GROUP_ROWS or n_bytes >= GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        group = pa.Table.from_batches(self.waiting, self._schema)
        if group.num_rows:
            self._writer.write_table(group, row_group_size=group.num_rows)
        self.waiting = []

    def close(self) -> None:
        try:
            self._write_group()
        finally:
            try:
                self._writer.close()
            finally:
                self._file.close()


@final
class _PlainWriter(_Writer):
    """Writes each batch as it comes: CSV and Arrow.

    Values are written instead of codes: an Arrow file has a single dictionary per column, but
    each batch may have its own.
    """

    def __init__(
        self,
        file: Any,
        schema: pa.Schema,
        delimiter: str | None = None,  # none is that of Arrow's own format
        spreadsheet_safe: bool = False,
    ) -> None:
        self._file = file
        self._schema = pa.schema([(field.name, undictionaried(field.type)) for field in schema])
        self._is_safe = spreadsheet_safe
        if delimiter is None:
            self._writer = ipc.new_file(self._file, self._schema)
        else:
            options = csv.WriteOptions(delimiter=delimiter)
            written = safe_names(self._schema) if spreadsheet_safe else self._schema
            self._writer = csv.CSVWriter(self._file, written, write_options=options)
        self.waiting = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.waiting = [batch]
        plain = plain_batch(batch, self._schema)
        self._writer.write_batch(safe_batch(plain) if self._is_safe else plain)
        self.waiting = []

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._file.close()


def _stored_type(kind: pa.DataType) -> pa.DataType:
    """The type in a Parquet file, which keeps codes of texts, but loses the zone of coded times."""
    return kind if kind_of(kind).name == "text" else undictionaried(kind)


def _with_missing_codes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, with missing codes for missing values of dictionaries, which Parquet refuses."""
    columns = [_with_missing_code(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _with_missing_code(column: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(column.type) or not column.dictionary.null_count:
        return column
    is_known = column.dictionary.is_valid()
    position = pc.subtract(pc.cumulative_sum(is_known.cast(pa.int64())), 1)
    codes = pc.if_else(is_known, position, None).cast(column.type.index_type).take(column.indices)
    known = column.dictionary.drop_null()
    return pa.DictionaryArray.from_arrays(codes, known, ordered=column.type.ordered)


def _writer_of(
    path: Path, schema: pa.Schema, distinct: Collection[str], spreadsheet_safe: bool
) -> _OpenWriter:
    """The writer of the format that the suffix names, if it can hold these columns."""
    suffix = path.suffix.lower()
    if spreadsheet_safe and suffix not in DELIMITERS:
        raise TableError(
            f"{path} is not a .csv or .tsv file, and only these need ",
            Setting("spreadsheet_safe", True),
            f"; leave it out, or write to {path.with_suffix('.csv')}.",
        )
    open_writer = _by_suffix(suffix, distinct, spreadsheet_safe)
    if open_writer is None:
        inner = Path(path.stem)  # out.csv of out.csv.gz
        is_format = _by_suffix(inner.suffix.lower(), distinct, spreadsheet_safe) is not None
        stem = inner.stem if is_format else path.stem
        raise TableError(
            f"{path} has the suffix {suffix!r}, which names no format to write; call it "
            f"{stem}.parquet, {stem}.csv or {stem}.arrow."
        )
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    if nested and suffix in DELIMITERS:
        raise TableError(
            f"the column {nested[0]!r} has several values in a row, which {suffix} cannot hold; "
            f"write to {path.with_suffix('.parquet')}."
        )
    _refuse_types(path, schema, open_writer)
    return open_writer


def _refuse_types(path: Path, schema: pa.Schema, open_writer: _OpenWriter) -> None:
    """Refuse columns of types that a format lacks, by trying to write a row without values."""
    if not len(schema):
        return
    nothing = [pa.nulls(1, field.type) for field in schema]
    row = pa.RecordBatch.from_arrays(nothing, names=schema.names)
    try:
        _write_in_memory(open_writer, [row])
    except _REFUSALS as error:
        raise _cannot_hold(path, [row], error) from error


def _by_suffix(
    suffix: str, distinct: Collection[str] = (), spreadsheet_safe: bool = False
) -> _OpenWriter | None:
    if suffix in PARQUET:
        return partial(_ParquetWriter, distinct=distinct)
    if suffix in (".arrow", ".feather"):
        return _PlainWriter
    delimiter = DELIMITERS.get(suffix)
    if delimiter is None:
        return None
    return partial(_PlainWriter, delimiter=delimiter, spreadsheet_safe=spreadsheet_safe)


def _write(writer: _Writer, batch: pa.RecordBatch, schema: pa.Schema, path: Path) -> None:
    if not batch.schema.equals(schema):
        raise TableError(
            f"{path} was opened for the columns {_columns(schema)}, but a batch has "
            f"{_columns(batch.schema)}; write batches of the same columns."
        )
    with _writing(path, writer):
        writer.write(batch)


@contextmanager
def _writing(path: Path, writer: _Writer) -> Iterator[None]:
    """Turn whatever goes wrong while writing into a clear error."""
    with writing(path):
        try:
            yield
        except _REFUSALS as error:
            if getattr(error, "errno", None) is not None:  # the operating system's
                raise
            raise _cannot_hold(path, writer.waiting, error) from error


def _cannot_hold(path: Path, batches: list[pa.RecordBatch], error: Exception) -> TableError:
    """The error about the column whose type or values a format lacks, with a format that has it."""
    suffix = path.suffix.lower()
    fields = batches[0].schema if batches else ()
    refused = next((one for one in fields if not _holds(suffix, one, batches)), None)
    what = "these values" if refused is None else f"the column {refused.name!r} ({refused.type})"
    is_in_parquet = refused is None or _holds(".parquet", refused, batches)
    other = ".parquet" if is_in_parquet and suffix not in PARQUET else ".arrow"
    return TableError(
        f"{path} cannot hold {what}: {cut(str(error), LONGEST_REASON)}; write to "
        f"{path.with_suffix(other)}, or leave the column out."
    )


def _holds(suffix: str, field: pa.Field, batches: list[pa.RecordBatch]) -> bool:
    """Whether a format can hold a column of some batches."""
    open_writer = _by_suffix(suffix)
    assert open_writer is not None  # of a format that was chosen before
    try:
        _write_in_memory(open_writer, [batch.select([field.name]) for batch in batches])
    except _REFUSALS:
        return False
    return True


def _write_in_memory(open_writer: _OpenWriter, batches: list[pa.RecordBatch]) -> None:
    """Try to write batches."""
    writer = open_writer(pa.BufferOutputStream(), batches[0].schema)
    try:
        for batch in batches:
            writer.write(batch)
    finally:
        writer.close()


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)
