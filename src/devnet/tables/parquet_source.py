"""Parquet files, decoded by several threads in flat memory."""

from pathlib import Path
from typing import final

import pyarrow.parquet as pq

from devnet.tables.plain_columns import plain_schema
from devnet.tables.read_ahead import read_ahead
from devnet.tables.source import BATCH_ROWS, Batches, Source, reading

BATCH_BYTES = 1 << 26  # that a batch of a wide table should not exceed
BUFFER_BYTES = 1 << 18  # of a column that are read at once
ALL_BUFFERS = 1 << 27  # bytes that all columns together may take for them


@final
class ParquetSource(Source):
    """One Parquet file.

    Columns are read through small buffers: Arrow's default keeps a whole row group, or even all
    that was read so far, which for a large file is its size.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        with reading(name), pq.ParquetFile(path) as file:
            self._metadata = file.metadata
            self.schema = plain_schema(file.schema_arrow, name)
        self.n_rows = self._metadata.num_rows

    def _pieces(self, columns: list[str]) -> Batches:
        return read_ahead(self._decoded(columns))

    def _decoded(self, columns: list[str]) -> Batches:
        buffer_size = max(1 << 14, min(BUFFER_BYTES, ALL_BUFFERS // max(1, len(columns))))
        with pq.ParquetFile(
            self._path, metadata=self._metadata, pre_buffer=False, buffer_size=buffer_size
        ) as file:
            yield from file.iter_batches(self._batch_rows(columns), columns=columns)

    def _batch_rows(self, columns: list[str]) -> int:
        """Rows of a batch, fewer where they are long."""
        groups = [self._metadata.row_group(i) for i in range(self._metadata.num_row_groups)]
        n_rows = max(1, self._metadata.num_rows)
        share = len(columns) / max(1, len(self.schema))
        row_bytes = share * sum(group.total_byte_size for group in groups) / n_rows
        return int(max(1, min(BATCH_ROWS, BATCH_BYTES / max(1.0, row_bytes))))
