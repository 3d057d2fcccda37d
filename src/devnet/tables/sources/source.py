"""A table as its readers see it: columns, and rows in batches."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from lzma import LZMAError
from pathlib import Path
from shlex import quote
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.names import known
from devnet.tables.sources.meter import note_pass
from devnet.tables.sources.plain_columns import plain_batch
from devnet.tables.sources.room import longest_text, max_unpacked, more_room, too_long
from devnet.tables.sources.table_file import TableFile
from devnet.tables.table_error import TableError

BATCH_ROWS = 65_536
Batches = Generator[pa.RecordBatch, None, None]
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


class Source(ABC):
    """A table that is read from its first row to its last, in batches.

    A file that is changed meanwhile is refused: all passes over it read the same rows, or one of
    them raises a TableError.

    Attributes
    ----------
    name : str
        Its name in messages: the path as the user typed it, or "the table".
    schema : pyarrow.Schema
    n_rows : int or None
        None if it is not known before reading.
    inferred : pyarrow.Schema or None
        What the values of a text file look like, if the caller gave their types.
    paths : tuple of Path
        The files that it is read from; none for a table in memory.
    file : TableFile or None
        The file that each pass reads; None if rows are in memory or come from other sources.
    decimal_comma : bool or None
        Whether a text file has decimal commas; None if that is not known.
    is_once : bool
        Whether rows can be read only once.
    """

    name: str
    schema: pa.Schema
    n_rows: int | None
    inferred: pa.Schema | None = None
    paths: tuple[Path, ...] = ()
    file: TableFile | None = None
    decimal_comma: bool | None = None
    is_once: bool = False

    @final
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in order, at most BATCH_ROWS at a time; only these columns are read."""
        names = dict.fromkeys(self.schema.names)
        chosen = list(names if columns is None else columns)
        try:
            for column in chosen:
                if column not in names:
                    known(column, names, f"column of {self.name}")
        except ValueError as error:
            raise TableError(str(error)) from None
        return self._in_pieces(chosen)

    def first_rows(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Some rows, to learn from them how values are written."""
        schema = pa.schema([self.schema.field(column) for column in columns])
        nothing = pa.RecordBatch.from_arrays(
            [pa.nulls(0, one.type) for one in schema], schema=schema
        )
        return next(self.batches(columns), nothing) if columns else nothing

    def with_codes(self, columns: Collection[str]) -> "Source":
        """The same table; texts of these columns may come as codes of a dictionary."""
        return self

    def with_text(self, column: str) -> "Source":
        """The same table; a column of a text file is text, whatever its first values are."""
        return self

    def as_written(self) -> "Source | None":
        """The same rows in the same batches, all values as the text in the file.

        None if the file has types.
        """
        return None

    def parts(self) -> "list[Source]":
        """Sources of consecutive rows that together are the table; other processes can read them.

        There is at least one.
        """
        return [self]

    def count_rows(self) -> int:
        """The number of rows, whose values may be of any kind."""
        if self.n_rows is not None:
            return self.n_rows
        written = self.as_written() or self
        return sum(batch.num_rows for batch in written.batches(self.schema.names[-1:]))

    def _in_pieces(self, columns: list[str]) -> Batches:
        schema = pa.schema([self.schema.field(column) for column in columns])
        is_same = nullcontext() if self.file is None else self.file.unchanged()
        with reading(self.name), is_same, closing(self._checked(columns)) as pieces:
            coded: list[int] | None = None
            for piece in pieces:
                if coded is None:
                    coded = [i for i, kind in enumerate(piece.schema.types) if _is_coded(kind)]
                if self.paths and piece.nbytes > longest_text():
                    _refuse_long_texts(self.name, piece)
                step = rows_at_once(_coded_bytes(piece, coded))
                for start in range(0, piece.num_rows, step):
                    yield plain_batch(piece.slice(start, step), schema)

    def _checked(self, columns: list[str]) -> Batches:
        """Batches of any number of rows, of the file that was opened and no other."""
        if self.file is None:
            yield from self._pieces(columns)
            return
        self.file.check()
        note_pass(self.file.path)
        n_rows = 0
        with closing(self._pieces(columns)) as pieces:
            for piece in pieces:
                self.file.check()
                yield piece
                n_rows += piece.num_rows
        self.file.check_rows(n_rows)

    @abstractmethod
    def _pieces(self, columns: list[str]) -> Batches:
        """Batches of any number of rows, with at least these columns."""


def rows_at_once(row_bytes: int) -> int:
    """Rows of a batch, few if a batch of rows that may be so long could unpack to very much."""
    if row_bytes * BATCH_ROWS <= max_unpacked():
        return BATCH_ROWS
    return max(1, longest_text() // row_bytes)


def _is_coded(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind)) and kind.value_type in _TEXTS


def _coded_bytes(batch: pa.RecordBatch, coded: list[int]) -> int:
    """Bytes of a row if its codes stand for the longest texts, given the columns of codes."""
    lengths = (pc.binary_length(batch.column(i).dictionary) for i in coded)
    return sum(pc.max(one).as_py() or 0 for one in lengths)


def _refuse_long_texts(name: str, batch: pa.RecordBatch) -> None:
    """Refuse a batch with a row whose texts are so long that they would take all memory."""
    lengths = np.zeros(batch.num_rows, dtype=np.int64)
    for column in batch.columns:
        if _is_coded(column.type):
            of_each = pc.binary_length(column.dictionary).take(column.indices)
        elif column.type in _TEXTS:
            of_each = pc.binary_length(column)
        else:
            continue
        lengths += pc.fill_null(of_each, 0).to_numpy(zero_copy_only=False)
    if lengths.max(initial=0) > longest_text():
        raise too_long(name, int(lengths.max()))


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn whatever goes wrong while reading a table into a clear error."""
    try:
        yield
    except TableError:
        raise
    except OSError as error:
        if isinstance(error.__cause__, OSError):  # already clear, about one file of many
            raise
        if error.errno is None:  # Arrow's own: the content is at fault
            raise TableError(_damaged(name, error)) from error
        raise type(error)(
            f"{name} cannot be read: {error.strerror}. Check the name, and that you may read it "
            f"(ls -l {quote(name)})."
        ) from error
    except LZMAError as error:
        if "Memory usage limit" in str(error):
            raise TableError(
                f"{name} needs more than {max_unpacked():,} bytes of memory to be unpacked; "
                f"compress it again with xz -9 or less, or, {more_room(2 * max_unpacked())}"
            ) from error
        raise TableError(_damaged(name, error)) from error
    except (pa.ArrowException, EOFError, UnicodeError) as error:
        raise TableError(_damaged(name, error)) from error


def _damaged(name: str, error: BaseException) -> str:
    reason = " ".join(str(error).split()).rstrip(".")[:300]
    return (
        f"{name} cannot be read: it is damaged or incomplete ({reason}). Copy or write it again, "
        "or give it the suffix of its format (.csv, .parquet, .arrow, .svm)."
    )
