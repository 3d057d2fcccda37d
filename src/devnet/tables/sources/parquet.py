"""Parquet files, decoded by several threads in constant memory."""

from collections.abc import Collection
from copy import copy
from functools import cached_property
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq

from devnet.core.read_ahead import read_ahead
from devnet.tables.sources.byte_stream import first_bytes, open_file
from devnet.tables.sources.parquet_sizes import ParquetSizes
from devnet.tables.sources.plain_columns import plain_schema
from devnet.tables.sources.source import Batches, Source, reading
from devnet.tables.sources.table_file import TableFile
from devnet.tables.table_error import TableError

PARQUET_MAGIC, ENCRYPTED_MAGIC = b"PAR1", b"PARE"
SIGNATURE_BYTES = 28  # behind the footer of a file with encrypted columns
BATCH_BYTES = 1 << 26  # of a batch of a wide table, at most
BUFFER_BYTES = 1 << 18  # of a column, read at once
CODE_BYTES = 4  # of a text in the file, at most, if it is stored as a code of a dictionary
ALL_BUFFERS = 1 << 27  # bytes of the buffers of all columns together
PART_ROWS = 1 << 19  # of a part, unless its only row group has more
FROM_FILE = ("_metadata", "_sizes")  # attributes


@final
class ParquetSource(Source):
    """One Parquet file, or a range of its row groups.

    Columns are read through small buffers: Arrow's default keeps an entire row group in memory, or
    even everything read so far.
    """

    file: TableFile

    def __init__(
        self,
        file: TableFile,
        coded: Collection[str] = (),
        sizes: ParquetSizes | None = None,
        groups: range | None = None,
    ) -> None:
        self.name, self.file, self.paths = file.name, file, (file.path,)
        self._coded = list(coded)
        if first_bytes(file.path).startswith(ENCRYPTED_MAGIC):
            raise _encrypted(self.name)
        with (
            reading(self.name),
            open_file(file.path) as opened,
            pq.ParquetFile(opened, read_dictionary=self._coded) as parquet,
        ):
            self._metadata = parquet.metadata
            if _footer_bytes(opened) == self._metadata.serialized_size + SIGNATURE_BYTES:
                raise _encrypted(self.name)  # Arrow ends the process if asked about its columns
            self.schema = plain_schema(parquet.schema_arrow, self.name)
        self._groups = range(self._metadata.num_row_groups) if groups is None else groups
        if sizes is not None:
            self._sizes = sizes
        self.n_rows = sum(self._metadata.row_group(group).num_rows for group in self._groups)
        file.check_rows(self.n_rows)

    @cached_property
    def _metadata(self) -> pq.FileMetaData:
        with open_file(self.file.path) as opened:
            return pq.read_metadata(opened)

    @cached_property
    def _sizes(self) -> ParquetSizes:
        return ParquetSizes(self.file.path, self.name, self._metadata, self._groups)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy, maybe in another process, cannot read from the file by itself."""
        return {name: one for name, one in self.__dict__.items() if name not in FROM_FILE}

    def group_rows(self) -> list[int]:
        """Rows of each row group of the file."""
        return [
            self._metadata.row_group(group).num_rows
            for group in range(self._metadata.num_row_groups)
        ]

    def only(self, groups: range) -> "ParquetSource":
        """The rows of some row groups, as a table of its own."""
        part = copy(self)
        part.n_rows = sum(self._metadata.row_group(group).num_rows for group in groups)
        part._groups, part.file = groups, self.file.of_rows(part.n_rows)
        return part

    def parts(self) -> list[Source]:
        """Row groups, several of them together if they are small."""
        rows = self.group_rows()
        starts, n_rows = [], PART_ROWS
        for group in self._groups:
            if n_rows >= PART_ROWS:
                starts.append(group)
                n_rows = 0
            n_rows += rows[group]
        stops = [*starts[1:], self._groups.stop]
        return [self.only(range(*ends)) for ends in zip(starts, stops, strict=False)] or [self]

    def with_codes(self, columns: Collection[str]) -> "ParquetSource":
        """The same table; texts of these columns come as codes if the file has codes."""
        coded = [
            name
            for name in self.schema.names
            if name in columns and self.schema.field(name).type == pa.string()
        ]
        stored = [one for one in coded if self._has_codes(one)]
        with self.file.unchanged():
            return ParquetSource(self.file, stored, self._sizes, self._groups)

    def _has_codes(self, name: str) -> bool:
        """Whether a column is so small that its texts must be in a dictionary."""
        index = self._metadata.schema.names.index(name)
        groups = (self._metadata.row_group(i) for i in range(self._metadata.num_row_groups))
        chunks = [group.column(index) for group in groups]
        n_bytes = sum(chunk.total_uncompressed_size for chunk in chunks)
        return bool(n_bytes < CODE_BYTES * self._metadata.num_rows)

    def _pieces(self, columns: list[str]) -> Batches:
        return read_ahead(self._decoded(columns))

    def _decoded(self, columns: list[str]) -> Batches:
        buffer_size = max(1 << 14, min(BUFFER_BYTES, ALL_BUFFERS // max(1, len(columns))))
        with (
            open_file(self.file.path) as opened,
            pq.ParquetFile(
                opened,
                metadata=self._metadata,
                read_dictionary=self._coded,
                pre_buffer=False,
                buffer_size=buffer_size,
            ) as parquet,
        ):
            yield from parquet.iter_batches(
                self._batch_rows(columns), row_groups=list(self._groups), columns=columns
            )

    def _batch_rows(self, columns: list[str]) -> int:
        """Rows of a batch, fewer if they are long or may become long when they are unpacked."""
        groups = [self._metadata.row_group(i) for i in self._groups]
        n_rows = max(1, self.n_rows or 0)
        share = len(columns) / max(1, len(self.schema))
        row_bytes = share * sum(group.total_byte_size for group in groups) / n_rows
        n_at_once = self._sizes.rows_at_once(columns)
        return int(max(1, min(n_at_once, BATCH_BYTES / max(1.0, row_bytes))))


def _footer_bytes(file: Any) -> int:
    """Length of the footer, with its signature if it has one."""
    file.seek(file.size() - 8)
    return int.from_bytes(file.read(4), "little")


def _encrypted(name: str) -> TableError:
    return TableError(
        f"{name} is encrypted, or some of its columns are; decrypt it first where its keys are, "
        "for example with pyarrow.parquet.encryption, and write it again without."
    )
