"""Text tables: CSV in blocks, typed by the first one."""

import re
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any, final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from devnet.tables.byte_stream import open_bytes
from devnet.tables.csv_head import delimiter_of, line_of, not_utf8
from devnet.tables.plain_columns import check_names
from devnet.tables.read_ahead import read_ahead
from devnet.tables.source import Batches, Source, reading
from devnet.tables.table_error import TableError

MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "#N/A"]
DATES = [csv.ISO8601, "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"]
BLOCK_SIZES = (1 << 22, 1 << 26, 1 << 30)  # bytes; the next where a row is longer
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
DECIMAL_COMMA = r"^-?\d+,\d+$"
MOSTLY = 0.8  # of the texts are numbers: then the others are mistakes
EXACT = 2**53  # up to which float64 holds every integer
_CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (.*)", re.S
)
_RAGGED = re.compile(
    r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.S
)
_TOO_LONG = ("straddling object", "Empty CSV file or block")


@final
class CsvSource(Source):
    """A text table with a header.

    Types are inferred from the first block. Integers are read as float64, as a decimal may come
    later; those beyond 2**53 are identifiers and stay int64, so that none of them is rounded. So
    is text that is mostly numbers: the value that is none is a mistake. Times may have fractions
    of a second later. A column that is all missing is read as text. Where semicolons separate the
    columns, numbers may have decimal commas.

    Parameters
    ----------
    path : Path
    name : str
    types : mapping of column names to Arrow types
        Columns that are not inferred.
    """

    def __init__(self, path: Path, name: str, types: Mapping[str, pa.DataType]) -> None:
        self.name, self.n_rows = name, None
        self._path, self._decimal_point = path, "."
        with reading(name):
            with open_bytes(path) as stream:
                head = stream.read(BLOCK_SIZES[0])
                self._whole = None if stream.read(1) else head
            self._delimiter = delimiter_of(head, name)
            found, first = self._inferred()
            if self._delimiter == ";" and _has_decimal_commas(first):
                self._decimal_point = ","
                found, first = self._inferred()
            self.inferred = found
            self.schema = pa.schema(
                (field.name, types.get(field.name) or _roomy(field.type, first, place))
                for place, field in enumerate(found)
            )
            other = [field.name for field in found if pa.types.is_binary(field.type)]
            if other:
                next(self._pieces(other), None)  # says that it is no UTF-8

    def _inferred(self) -> tuple[pa.Schema, pa.RecordBatch | None]:
        """What the first block looks like, and its rows."""
        for size in BLOCK_SIZES:
            try:
                with self._open(size, []) as reader:
                    check_names(reader.schema.names, self.name)
                    return reader.schema, next(iter(reader), None)
            except pa.ArrowInvalid as error:
                if not _is_too_long(error) or size == BLOCK_SIZES[-1]:
                    raise self._sentence(error, [], size) from None
        raise AssertionError("the last size returns or raises")

    def _open(self, block_size: int, columns: list[str], use_threads: bool = True) -> Any:
        """A reader of these columns; of all, with inferred types, where none are given.

        The last column of the file is always read, at least as bytes: `_check_end` looks at it.
        """
        types = {name: self.schema.field(name).type for name in columns}
        if columns:
            types.setdefault(self.schema.names[-1], pa.binary())
        return csv.open_csv(
            self._stream(),
            read_options=csv.ReadOptions(use_threads=use_threads, block_size=block_size),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(types) or None,
                null_values=MISSING,
                strings_can_be_null=True,
                timestamp_parsers=DATES,
                decimal_point=self._decimal_point,
            ),
        )

    def _stream(self) -> Any:
        if self._whole is None:
            return open_bytes(self._path)
        return pa.BufferReader(self._whole + b"\n")  # a header alone may have no end of line

    def _pieces(self, columns: list[str]) -> Batches:
        """Batches of the first block size that all rows fit into."""
        columns = columns or self.schema.names[-1:]
        n_done, batch = 0, None
        for size in BLOCK_SIZES:
            n_read = 0
            try:
                for batch in read_ahead(self._blocks(columns, size)):
                    n_read += batch.num_rows
                    if n_read > n_done:
                        yield batch.slice(max(0, batch.num_rows - (n_read - n_done)))
                        n_done = n_read
                self._check_end(batch)
                return
            except pa.ArrowInvalid as error:
                if not _is_too_long(error) or size == BLOCK_SIZES[-1]:
                    raise self._sentence(error, columns, size) from None

    def _check_end(self, last: pa.RecordBatch | None) -> None:
        """Refuse a last value that took in the rest of the file, as its quote never closes."""
        if last is None or not last.num_rows:
            return
        value = last.column(self.schema.names[-1])[-1].as_py()
        text = value.encode() if isinstance(value, str) else value
        n_lines = text.count(b"\n") if isinstance(text, bytes) else 0
        if not n_lines:
            return
        with self._stream() as stream:
            n_quotes = sum(chunk.count(b'"') for chunk in iter(lambda: stream.read(1 << 20), b""))
        if n_quotes % 2:
            raise TableError(
                f'{self.name} has a quote (") that never closes, so its last {n_lines:,} lines '
                "are one value, which starts with "
                f"{text[:40].decode(errors='replace')!r}; close the quote or remove it."
            )

    def _blocks(self, columns: list[str], size: int) -> Batches:
        with self._open(size, columns) as reader:
            yield from reader

    def _sentence(self, error: pa.ArrowInvalid, columns: list[str], size: int) -> TableError:
        """What is wrong, and in which line: a single thread counts them."""
        text = self._by_one_thread(columns, size) or str(error)
        if match := _CONVERSION.search(text):
            return self._unfit(int(match[1]), match[2], match[3])
        if match := _RAGGED.search(text):
            return TableError(
                f"{self.name} has {match[3]} values for {match[2]} columns in "
                f"{self._line(match[1])}: {match[4][:80]!r}. Correct it; text with "
                f"{self._delimiter!r} in it must be in quotes."
            )
        if _is_too_long(error):
            return TableError(
                f'{self.name} has a row of more than {size:,} bytes; look for a quote (") that '
                "opens and never closes, or leave the longest column out of the file."
            )
        return TableError(f"{self.name} cannot be read as CSV: {text[:200]}. Correct the file.")

    def _by_one_thread(self, columns: list[str], size: int) -> str | None:
        try:
            with self._open(size, columns, use_threads=False) as reader:
                for _ in reader:
                    pass
        except pa.ArrowInvalid as error:
            return str(error)
        return None

    def _unfit(self, place: int, row: str | None, what: str) -> TableError:
        column = self.schema.names[place]
        if "invalid UTF8" in what:
            return not_utf8(self.name, f"in the column {column!r}, {self._line(row)}")
        kind, _, value = what.partition(": invalid value ")
        return TableError(
            f"{self.name} holds {value[:80] or 'a value'} in {self._line(row)} of the column "
            f"{column!r}, which is read as {kind}. Correct the value, read the column as text "
            f"with --categorical {quote(column)}, or leave it out with --ignore "
            f"{quote(column)}."
        )

    def _line(self, row: str | None) -> str:
        if row is None:
            return "some line"
        with self._stream() as stream:
            return line_of(stream, int(row))


def _has_decimal_commas(first: pa.RecordBatch | None) -> bool:
    texts = [c for c in first.columns if pa.types.is_string(c.type)] if first is not None else []
    return any(_share(column, DECIMAL_COMMA) >= MOSTLY for column in texts)


def _share(column: pa.Array, pattern: str) -> float:
    """Share of the known texts that match."""
    return float(pc.mean(pc.match_substring_regex(column, pattern)).as_py() or 0)


def _is_too_long(error: pa.ArrowInvalid) -> bool:
    return any(reason in str(error) for reason in _TOO_LONG)


def _roomy(kind: pa.DataType, first: pa.RecordBatch | None, place: int) -> pa.DataType:
    """The type that also holds what may come after the first block."""
    if pa.types.is_null(kind) or pa.types.is_binary(kind):
        return pa.string()
    if pa.types.is_string(kind):
        is_number = first is not None and _share(first.column(place), NUMBER) >= MOSTLY
        return pa.float64() if is_number else kind  # and the value that is none is said
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("us", kind.tz)
    if not pa.types.is_integer(kind) or first is None:
        return kind if not pa.types.is_integer(kind) else pa.float64()
    ends = pc.min_max(first.column(place)).as_py()
    return kind if max(-(ends["min"] or 0), ends["max"] or 0) > EXACT else pa.float64()
