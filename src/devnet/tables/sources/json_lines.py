"""JSON Lines: one object per line, read in blocks; the first one with a name types its column."""

import json
import re
from collections.abc import Mapping
from io import BytesIO
from shlex import quote
from typing import final

import pyarrow as pa
from pyarrow import json as arrow_json

from devnet.core.read_ahead import read_ahead
from devnet.tables.sources.byte_stream import line_blocks, open_bytes
from devnet.tables.sources.csv_types import roomy
from devnet.tables.sources.plain_columns import plain_schema
from devnet.tables.sources.room import longest_line
from devnet.tables.sources.source import Batches, Source, reading
from devnet.tables.sources.table_file import TableFile
from devnet.tables.table_error import TableError

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 26  # bytes
_CHANGED = re.compile(r"Column\(/([^)]*)\) (?:changed from|was specified to be) (.*) in row (\d+)")


@final
class JsonLinesSource(Source):
    """A file with an object on each line, whose names are columns.

    A file of several blocks is looked through once for columns that appear only later. Types are
    inferred from the first block with a value. Integers are read as float64 unless they are long,
    as in CSV files.

    Parameters
    ----------
    file : TableFile
    types : mapping of column names to Arrow types
        Texts that look like dates stay text if their type is text here.
    """

    file: TableFile

    def __init__(self, file: TableFile, types: Mapping[str, pa.DataType]) -> None:
        self.name, self.file, self.paths = file.name, file, (file.path,)
        found: dict[str, pa.DataType] = {}
        n_rows = 0
        with reading(self.name):
            with open_bytes(file.path) as stream:
                _refuse_other_json(stream.read(BLOCK_BYTES), self.name)
            for block in self._blocks():
                table = self._parsed(block, None, n_rows)
                n_rows += table.num_rows
                for one in table.schema:
                    kind = _type(one.type, table.column(one.name), types.get(one.name))
                    found[one.name] = _widened(found.get(one.name, pa.null()), kind)
            fields = [(one, _known(kind)) for one, kind in found.items()]
            self.schema = plain_schema(pa.schema(fields), self.name)
        self.n_rows = n_rows
        file.check_rows(n_rows)

    def _pieces(self, columns: list[str]) -> Batches:
        return read_ahead(self._read(columns or self.schema.names[:1]))

    def _read(self, columns: list[str]) -> Batches:
        schema = pa.schema([self.schema.field(name) for name in columns])
        n_rows = 0
        for block in self._blocks():
            table = self._parsed(block, schema, n_rows)
            n_rows += table.num_rows
            yield from table.to_batches()

    def _blocks(self) -> Batches:
        """Whole lines, about BLOCK_BYTES at a time."""
        with open_bytes(self.file.path) as stream:
            for lines in line_blocks(stream, BLOCK_BYTES, longest_line(LONGEST_LINE), self.name):
                if lines.strip():
                    yield lines if lines.endswith(b"\n") else lines + b"\n"

    def _parsed(self, block: bytes, schema: pa.Schema | None, n_before: int) -> pa.Table:
        """The rows of a block, of a schema if there is one, given the rows before it."""
        try:
            return arrow_json.read_json(
                BytesIO(block),
                read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=schema,
                    unexpected_field_behavior="infer" if schema is None else "ignore",
                ),
            )
        except pa.ArrowInvalid as error:
            raise self._explained(block, error, n_before) from error

    def _explained(self, block: bytes, error: pa.ArrowInvalid, n_before: int) -> TableError:
        if match := _CHANGED.search(str(error)):
            return TableError(
                f"the column {match[1]!r} of {self.name} has values of two kinds "
                f"({match[2]}) in row {n_before + int(match[3]) + 1:,}; give each column values of "
                "one kind."
            )
        for number, line in enumerate(filter(None, map(bytes.strip, block.split(b"\n"))), 1):
            if not _is_object(line):
                text = line[:80].decode(errors="replace")
                return TableError(
                    f"row {n_before + number:,} of {self.name} is not a JSON object on a line: "
                    f"{text!r}. Correct it, or leave it out."
                )
        reason = " ".join(str(error).split())[:200].rstrip(".")
        return TableError(f"{self.name} cannot be read as JSON Lines: {reason}. Correct the file.")


def _type(kind: pa.DataType, values: pa.ChunkedArray, wanted: pa.DataType | None) -> pa.DataType:
    """Type to read a column as, given its values in a block; null if it has none."""
    if pa.types.is_string(kind) or pa.types.is_null(kind):
        return kind
    if pa.types.is_timestamp(kind) and wanted is not None and pa.types.is_string(wanted):
        return wanted
    return roomy(kind, values)


def _widened(known: pa.DataType, later: pa.DataType) -> pa.DataType:
    """The type of earlier blocks, with what only a later one shows."""
    is_both = pa.types.is_struct(known) and pa.types.is_struct(later)
    if is_both:
        fields = {one.name: one.type for one in known}
        for one in later:
            fields[one.name] = _widened(fields.get(one.name, pa.null()), one.type)
        return pa.struct(list(fields.items()))
    if pa.types.is_list(known) and pa.types.is_list(later):
        return pa.list_(_widened(known.value_type, later.value_type))
    is_text = pa.types.is_timestamp(known) and pa.types.is_string(later)
    return later if pa.types.is_null(known) or is_text else known


def _known(kind: pa.DataType) -> pa.DataType:
    """The type; text for a column without any value."""
    return roomy(kind, None) if pa.types.is_null(kind) else kind


def _refuse_other_json(first: bytes, name: str) -> None:
    """Refuse a file that is one list or one object over many lines."""
    start = first.lstrip(b"\xef\xbb\xbf \r\n\t")[:1]
    line = first.lstrip().split(b"\n", 1)[0]
    if start == b"[":
        what, program = "a single list", ".[]"
    elif start == b"{" and not _is_object(line) and b"\n" in first.strip():
        what, program = "not one object per line", "."
    else:
        return
    raise TableError(
        f"{name} is JSON, but {what}; write one object per line: "
        f"jq -c '{program}' {quote(name)} > NEW.jsonl, or in pandas "
        f"read_json({name!r}).to_parquet('NEW.parquet')."
    )


def _is_object(line: bytes) -> bool:
    if len(line) > BLOCK_BYTES:  # as Python's objects it would take many times its size
        return True
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
