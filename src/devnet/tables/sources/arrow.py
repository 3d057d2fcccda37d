"""Arrow files (IPC, Feather) of both kinds: with an index of batches, or as a stream."""

from typing import Any, final

from pyarrow import dataset, ipc

from devnet.core.read_ahead import read_ahead
from devnet.tables.sources.arrow_sizes import check_unpacked
from devnet.tables.sources.byte_stream import first_bytes, open_file
from devnet.tables.sources.plain_columns import plain_schema
from devnet.tables.sources.source import Batches, Source, reading
from devnet.tables.sources.table_file import TableFile

FILE_MAGIC = b"ARROW1"
STREAM_MAGIC = b"\xff\xff\xff\xff"


@final
class ArrowSource(Source):
    """One Arrow file; the number of rows is known if it has an index."""

    file: TableFile

    def __init__(self, file: TableFile) -> None:
        self.name, self.file, self.paths = file.name, file, (file.path,)
        with reading(self.name):
            self._has_index = first_bytes(file.path).startswith(FILE_MAGIC)
            with open_file(file.path) as opened:
                check_unpacked(opened, self._has_index, self.name)
            with open_file(file.path) as opened, self._reader(opened, None) as reader:
                self._names = reader.schema.names
                self.schema = plain_schema(reader.schema, self.name)
            self.n_rows = self._count() if self._has_index else None
        if self.n_rows is not None:
            file.check_rows(self.n_rows)

    def _count(self) -> int:
        with open_file(self.file.path) as file:
            return int(dataset.IpcFileFormat().make_fragment(file).count_rows())

    def _reader(self, file: Any, columns: list[str] | None) -> Any:
        fields = None if columns is None else [self._names.index(name) for name in columns]
        options = ipc.IpcReadOptions(included_fields=fields)
        open_reader = ipc.open_file if self._has_index else ipc.open_stream
        return open_reader(file, options=options)

    def _pieces(self, columns: list[str]) -> Batches:
        return read_ahead(self._read(columns or self.schema.names[:1]))

    def _read(self, columns: list[str]) -> Batches:
        with open_file(self.file.path) as file, self._reader(file, columns) as reader:
            batches = (
                (reader.get_batch(i) for i in range(reader.num_record_batches))
                if self._has_index
                else reader
            )
            for batch in batches:
                batch.validate(full=True)  # Arrow trusts offsets and may read out of bounds
                yield batch
