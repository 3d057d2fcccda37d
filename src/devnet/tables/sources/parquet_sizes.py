"""How much of a Parquet file is unpacked at once, found before anything is unpacked.

A file of a few kilobytes may hold gigabytes: a page may be compressed a thousandfold, and a long
text that is stored once, in a dictionary, may be the value of every row.
"""

from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from devnet.tables.sources.byte_stream import open_file
from devnet.tables.sources.dictionary_page import longest_short_text
from devnet.tables.sources.page_header import PageHeader, read_page_header
from devnet.tables.sources.room import longest_text, max_unpacked, more_room, too_long
from devnet.tables.sources.source import BATCH_ROWS, rows_at_once
from devnet.tables.table_error import TableError

PAGE_BYTES = 1 << 21  # of a column, always allowed: twice what writers make
MOST_PAGE_BYTES = 1 << 31  # by its format
RATIOS = {"UNCOMPRESSED": 0, "SNAPPY": 22, "LZ4": 256, "GZIP": 1040}  # of unpacking, at most
VALUE_BYTES = 8  # of a value that is not text
TEXTS = ("STRING", "NONE")  # what bytes may stand for that Arrow also reads as codes


class _Leaf(NamedTuple):
    """A column of the file; a struct of the table has one for each of its fields."""

    number: int
    path: str
    is_bytes: bool  # of any number
    is_text: bool
    value_bytes: int  # if their number is fixed


@final
class ParquetSizes:
    """What reading columns of a file takes.

    Parameters
    ----------
    path : Path
    name : str
        Of the table.
    metadata : pyarrow.parquet.FileMetaData
    groups : range
        The row groups that are read.
    """

    def __init__(self, path: Path, name: str, metadata: pq.FileMetaData, groups: range) -> None:
        self._path, self._name, self._metadata, self._groups = path, name, metadata, groups
        self._page_bytes: dict[str, int] = {}  # by column of the file, as all that follow
        self._row_bytes: dict[str, int] = {}

    def rows_at_once(self, columns: Collection[str]) -> int:
        """Rows of a batch; an error if a single one, or a page, unpacks to too much."""
        leaves = [one for one in self._leaves if _is_part(one.path, columns)]
        with open_file(self._path) as file:
            self._check_pages(file, leaves)
            for one in leaves:
                if one.path not in self._row_bytes:
                    self._row_bytes[one.path] = self._most_in_a_row(file, one, len(leaves))
        row_bytes = sum(self._row_bytes[one.path] for one in leaves)
        text_bytes = sum(self._row_bytes[one.path] for one in leaves if one.is_bytes)
        if text_bytes > longest_text():
            raise too_long(self._name, text_bytes)
        if row_bytes > max_unpacked():
            raise TableError(
                f"a row of {self._name} may unpack to {row_bytes:,} bytes, and more than "
                f"{max_unpacked():,} are not read at once; leave the longest values out of the "
                f"file, or, {more_room(row_bytes)}"
            )
        return rows_at_once(row_bytes)

    @cached_property
    def _leaves(self) -> list[_Leaf]:
        schema = self._metadata.schema
        columns = [schema.column(i) for i in range(self._metadata.num_columns)]
        return [
            _Leaf(
                i,
                one.path,
                one.physical_type == "BYTE_ARRAY",
                one.logical_type.type in TEXTS,
                max(VALUE_BYTES, one.length or 0),
            )
            for i, one in enumerate(columns)
        ]

    def _chunks(self, leaf: _Leaf) -> list[Any]:
        return [self._metadata.row_group(i).column(leaf.number) for i in self._groups]

    def _check_pages(self, file: Any, leaves: list[_Leaf]) -> None:
        """Refuse pages that take too much memory together, one of each column."""
        most = max(max_unpacked(), PAGE_BYTES * len(leaves))
        for measure in (_possible_bytes, _unpacked_bytes):
            for one in leaves:
                if one.path not in self._page_bytes or measure is _unpacked_bytes:
                    sizes = [measure(file, chunk) for chunk in self._chunks(one)]
                    self._page_bytes[one.path] = max(sizes, default=0)
            n_bytes = sum(self._page_bytes[one.path] for one in leaves)
            if n_bytes <= most:
                return
        raise TableError(
            f"the pages of {self._name} unpack to {n_bytes:,} bytes at once, and more than "
            f"{most:,} are not read; write it again with pages of a usual size, such as 1 MB, or, "
            f"{more_room(n_bytes)}"
        )

    def _most_in_a_row(self, file: Any, leaf: _Leaf, n_leaves: int) -> int:
        """Bytes of the column in a row, if it has the longest of the texts that are stored once."""
        longest = n_values = 1
        for i, chunk in zip(self._groups, self._chunks(leaf), strict=True):
            n_rows = max(1, self._metadata.row_group(i).num_rows)
            n_values = max(n_values, -(-chunk.num_values // n_rows))  # more than one in a list
            size = leaf.value_bytes
            if leaf.is_bytes:
                size = self._longest_text(file, leaf, i, n_leaves)
            longest = max(longest, size)
        return longest * n_values

    def _longest_text(self, file: Any, leaf: _Leaf, group: int, n_leaves: int) -> int:
        """Bytes of the longest text that a row group stores once; more if that is harmless."""
        chunk = self._metadata.row_group(group).column(leaf.number)
        header = next(_pages(file, chunk), None)
        if header is None or not header.is_dictionary:
            return 1  # all texts are stored one by one
        if not leaf.is_text or header.unpacked * n_leaves * BATCH_ROWS <= max_unpacked():
            return header.unpacked
        short = longest_short_text(file, _start(chunk), header, chunk.compression)
        return self._longest_of_all(file, group, leaf.path) if short is None else short

    def _longest_of_all(self, file: Any, group: int, path: str) -> int:
        """Bytes of the longest text in a dictionary, which Arrow makes for it."""
        parquet = pq.ParquetFile(
            file, metadata=self._metadata, read_dictionary=[path], pre_buffer=False
        )
        first = next(parquet.iter_batches(1, row_groups=[group], columns=[path]), None)
        texts = [] if first is None else _dictionaries(first.column(0))
        return max([1, *(pc.max(pc.binary_length(one)).as_py() or 1 for one in texts)])


def _is_part(path: str, columns: Collection[str]) -> bool:
    """Whether a column of the file belongs to one of the table's columns."""
    parts = path.split(".")
    return any(".".join(parts[:n]) in columns for n in range(1, len(parts) + 1))


def _possible_bytes(file: Any, chunk: Any) -> int:
    """What a page of a chunk can unpack to, whatever its header says."""
    ratio = RATIOS.get(chunk.compression, MOST_PAGE_BYTES)
    return int(min(ratio * chunk.total_compressed_size, MOST_PAGE_BYTES))


def _unpacked_bytes(file: Any, chunk: Any) -> int:
    """The largest page of a compressed chunk, together with its dictionary."""
    pages = list(_pages(file, chunk)) if _possible_bytes(file, chunk) else []
    dictionary = max((page.unpacked for page in pages if page.is_dictionary), default=0)
    return dictionary + max((page.unpacked for page in pages if not page.is_dictionary), default=0)


def _pages(file: Any, chunk: Any) -> Iterator[PageHeader]:
    """The headers of all pages of a chunk."""
    position = _start(chunk)
    end = position + chunk.total_compressed_size
    while position < end and (header := read_page_header(file, position)) is not None:
        yield header
        position += header.length + header.packed


def _start(chunk: Any) -> int:
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset]
    return int(min([start for start in starts if start], default=0))


def _dictionaries(column: pa.Array) -> Iterator[pa.Array]:
    """The texts that a column, or what it is made of, stores once."""
    if pa.types.is_dictionary(column.type):
        yield column.dictionary
    elif pa.types.is_nested(column.type):
        parts = column.flatten()
        for part in parts if isinstance(parts, list) else [parts]:
            yield from _dictionaries(part)
