"""Text tables: CSV in blocks, typed by the first one."""

import re
from collections.abc import Collection, Mapping
from copy import copy
from typing import Any, NamedTuple, final

import pyarrow as pa
from pyarrow import csv

from devnet.core.read_ahead import read_ahead
from devnet.core.sentence import Setting
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.readings.learned_kinds import needs_reading, readings_as_learned
from devnet.tables.sources.byte_stream import has_longer_line, open_bytes
from devnet.tables.sources.csv_head import delimiter_of, line_of, not_utf8
from devnet.tables.sources.csv_types import (
    DIGITS,
    MOSTLY,
    has_decimal_commas,
    has_leading_zeros,
    has_padding,
    in_its_zone,
    in_words,
    may_be_rounded,
    roomy,
    share_of,
)
from devnet.tables.sources.plain_columns import check_names
from devnet.tables.sources.room import longer_lines, longest_line
from devnet.tables.sources.source import Batches, Source, reading
from devnet.tables.sources.table_file import TableFile
from devnet.tables.table_error import TableError, UnfitValueError

MISSING = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "#N/A"]
BLOCK_SIZES = (1 << 22, 1 << 24, 1 << 26)  # bytes; the next one if a row is longer
SMALL_FILE = 1 << 16  # bytes
_CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (.*)", re.S
)
_RAGGED = re.compile(
    r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+): (.*)", re.S
)
_TOO_LONG = ("straddling object", "Empty CSV file or block")


class CsvTyping(NamedTuple):
    """What is known about the columns of a text table before it is read."""

    types: Mapping[str, pa.DataType]
    inferred: Collection[str] | None = None
    missing: tuple[str, ...] = ()
    decimal_comma: bool | None = None


@final
class CsvSource(Source):
    """A text table with a header.

    Types are inferred from the first block. Integers are read as float64, as a decimal may come
    later. Integers of 15 digits and more are identifiers and stay int64, or text if they are too
    long, so that none is rounded. Numbers with leading zeros are names, too, and stay text. So
    does text that is mostly numbers, for a reading to make them numbers. Times may have fractions
    of a second later. A column that is all missing is read as text. If semicolons separate
    the columns, numbers may have decimal commas.

    A file of one block is read once and kept, so nothing that happens to it later matters.

    Parameters
    ----------
    file : TableFile
    typing : CsvTyping
        Its `types` are those of columns that are not inferred; dates have a zone only if the file
        has one, whatever the type. Of the others, only `inferred` are inferred if that is given;
        the rest is text.
    """

    def __init__(self, file: TableFile, typing: CsvTyping) -> None:
        types, inferred, missing, decimal_comma = typing
        self.name, self.n_rows, self.paths = file.name, None, (file.path,)
        self._decimal_point = "," if decimal_comma else "."
        self._is_learned = inferred is not None  # by a model, which gives the types
        self._missing = [*MISSING, *missing]
        with reading(self.name):
            with open_bytes(file.path) as stream:
                head = stream.read(BLOCK_SIZES[0])
                self._all_bytes = None if stream.read(1) else head
            self.file, self._opened = file if self._all_bytes is None else None, file
            self._delimiter = delimiter_of(head, self.name)
            found, first = self._inferred()
            may_be_comma = self._delimiter == ";" and decimal_comma is None
            if may_be_comma and has_decimal_commas(first):
                self._decimal_point = ","
                found, first = self._inferred()
            self.decimal_comma = True if self._decimal_point == "," else None
            self.inferred = self.schema = found
            as_text = self._names_among(found, first, types, inferred) | self._padded(first)
            self.schema = pa.schema(
                (field.name, self._type(field, first, types, inferred, as_text)) for field in found
            )
            other = [field.name for field in found if pa.types.is_binary(field.type)]
            if other:
                next(self._pieces(other), None)  # raises the error about text that is not UTF-8

    def parts(self) -> list[Source]:
        """The file, of which only a small one is sent with its bytes."""
        if self._all_bytes is None or len(self._all_bytes) <= SMALL_FILE:
            return [self]
        part = copy(self)
        part._all_bytes, part.file = None, self._opened
        return [part]

    def as_written(self) -> "CsvSource":
        """The same rows, every value as the text in the file."""
        written = copy(self)
        written.schema = pa.schema([(name, pa.string()) for name in self.schema.names])
        written._missing = [""]
        return written

    def with_text(self, column: str) -> "CsvSource":
        """The same rows, a column as text."""
        changed = copy(self)
        index = self.schema.get_field_index(column)
        changed.schema = self.schema.set(index, pa.field(column, pa.string()))
        return changed

    def _type(
        self,
        field: pa.Field,
        first: pa.RecordBatch | None,
        types: Mapping[str, pa.DataType],
        inferred: Collection[str] | None,
        as_text: Collection[str],
    ) -> pa.DataType:
        """Type to read a column as, given what the first block looks like."""
        is_text = field.name in as_text
        if field.name in types:
            wanted = in_its_zone(types[field.name], field.type)
            is_readable = self._is_readable(field.name, first, wanted)
            return pa.string() if is_text or is_readable else wanted
        if is_text or (inferred is not None and field.name not in inferred):
            return pa.string()
        return roomy(field.type, None if first is None else first.column(field.name))

    def _is_readable(self, name: str, first: pa.RecordBatch | None, wanted: pa.DataType) -> bool:
        """Whether a column has texts that a reading makes the values that a model learned."""
        if first is None or not self._is_learned:
            return False
        learned, column = {name: kind_of(wanted).name}, first.select([name])
        return bool(needs_reading(column.schema, learned)) and name in readings_as_learned(
            column, learned
        )

    def _names_among(
        self,
        found: pa.Schema,
        first: pa.RecordBatch | None,
        types: Mapping[str, pa.DataType],
        inferred: Collection[str] | None,
    ) -> set[str]:
        """Columns whose numbers are names: with leading zeros, or very long."""
        if first is None:
            return set()
        open_ones = [one for one in found.names if one not in types]
        columns = {n: first.column(n) for n in open_ones if inferred is None or n in inferred}
        long = {name for name, column in columns.items() if may_be_rounded(column)}
        whole = {name for name, column in columns.items() if pa.types.is_integer(column.type)}
        if not long | whole:
            return set()
        texts = next(self.as_written()._pieces([n for n in columns if n in long | whole]))
        return {
            name
            for name in long | whole
            if has_leading_zeros(texts.column(name))
            or (name in long and share_of(texts.column(name), DIGITS) >= MOSTLY)
        }

    def _padded(self, first: pa.RecordBatch | None) -> set[str]:
        """Columns of dates with blanks around them, which a type of times does not accept."""
        fields = [] if first is None else first.schema
        dates = [field.name for field in fields if pa.types.is_date(field.type)]
        if not dates:
            return set()
        texts = next(self.as_written()._pieces(dates))
        return {name for name in dates if has_padding(texts.column(name))}

    def _inferred(self) -> tuple[pa.Schema, pa.RecordBatch | None]:
        """The inferred schema of the first block, and its rows."""
        for size in _block_sizes():
            try:
                with self._open(size, []) as reader:
                    check_names(reader.schema.names, self.name)
                    return reader.schema, next(iter(reader), None)
            except pa.ArrowInvalid as error:
                if not self._is_longer(error, size):
                    raise self._explained(error, [], size) from None
        raise AssertionError("the last size returns or raises")

    def _open(self, block_size: int, columns: list[str], use_threads: bool = True) -> Any:
        """A reader of these columns; if none are given, of all columns with inferred types.

        The last column of the file is always read, at least as bytes, for `_check_end`.
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
                null_values=self._missing,
                strings_can_be_null=True,
                quoted_strings_can_be_null=len(self._missing) > 1,
                timestamp_parsers=[csv.ISO8601],
                decimal_point=self._decimal_point,
            ),
        )

    def _stream(self) -> Any:
        if self._all_bytes is None:
            return open_bytes(self.paths[0])
        return pa.BufferReader(self._all_bytes + b"\n")  # a header alone may lack an end of line

    def _pieces(self, columns: list[str]) -> Batches:
        """Batches, read with the first block size that fits all rows."""
        columns = columns or self.schema.names[-1:]
        n_done, batch = 0, None
        for size in _block_sizes():
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
                if not self._is_longer(error, size):
                    raise self._explained(error, columns, size) from None

    def _is_longer(self, error: pa.ArrowInvalid, size: int) -> bool:
        """Whether a row is longer than a block, and may fit into a larger one.

        A line that fits into none is found without reading it all, which may fill the memory.
        """
        sizes = _block_sizes()
        if not _is_too_long(error) or size == sizes[-1]:
            return False
        if size == sizes[0]:
            with self._stream() as stream:
                return not has_longer_line(stream, sizes[-1])
        return True

    def _check_end(self, last: pa.RecordBatch | None) -> None:
        """Refuse a last value that swallowed the rest of the file, since its quote never closes."""
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

    def _explained(self, error: pa.ArrowInvalid, columns: list[str], size: int) -> TableError:
        """The error with its line number, which only a single thread counts."""
        if _is_too_long(error):
            return self._too_long()
        text = self._by_one_thread(columns, size) or str(error)
        if match := _CONVERSION.search(text):
            return self._unfit(int(match[1]), match[2], match[3])
        if match := _RAGGED.search(text):
            return TableError(
                f"{self.name} has {match[3]} values for {match[2]} columns in "
                f"{self._line(match[1])}: {match[4][:80]!r}. Correct it; text with "
                f"{self._delimiter!r} in it must be in quotes."
            )
        return TableError(f"{self.name} cannot be read as CSV: {text[:200]}. Correct the file.")

    def _too_long(self) -> TableError:
        n_bytes, longest = 0, _block_sizes()[-1]
        with self._stream() as stream:
            while chunk := stream.read(BLOCK_SIZES[0]):
                n_bytes += len(chunk)
                if b"\n" in chunk or n_bytes > longest:
                    return TableError(
                        f"{self.name} has a row of more than {longest:,} bytes; look for a quote "
                        '(") that opens and never closes, or leave the longest column out of the '
                        f"file{longer_lines(longest)}."
                    )
        return TableError(
            f"{self.name} is a single line of {n_bytes:,} bytes; a table starts with a line of "
            "column names, and has a line for each row."
        )

    def _by_one_thread(self, columns: list[str], size: int) -> str | None:
        try:
            with self._open(size, columns, use_threads=False) as reader:
                for _ in reader:
                    pass
        except pa.ArrowInvalid as error:
            return str(error)
        return None

    def _unfit(self, index: int, row: str | None, what: str) -> TableError:
        column = self.schema.names[index]
        if "invalid UTF8" in what:
            return not_utf8(self.name, f"in the column {column!r}, {self._line(row)}")
        value = what.partition(": invalid value ")[2]
        where = f"{value[:80] or 'a value'} in {self._line(row)} of the column {column!r}"
        kind = in_words(self.schema.field(column).type)
        if self._is_learned:
            return TableError(
                f"{self.name} holds {where}, where the model learned {kind}. Correct the "
                "value, or leave it empty if it is not known."
            )
        return UnfitValueError(
            column,
            f"{self.name} holds {where}, which is read as {kind}. Correct the value, read the "
            "column as text with ",
            Setting("categorical", [column]),
            ", or leave it out with ",
            Setting("ignore", [column]),
            ".",
        )

    def _line(self, row: str | None) -> str:
        if row is None:
            return "some line"
        with self._stream() as stream:
            return line_of(stream, int(row))


def _block_sizes() -> list[int]:
    """BLOCK_SIZES, up to the longest row that is read."""
    longest = longest_line(BLOCK_SIZES[-1])
    return [*(size for size in BLOCK_SIZES if size < longest), longest]


def _is_too_long(error: pa.ArrowInvalid) -> bool:
    return any(reason in str(error) for reason in _TOO_LONG)
