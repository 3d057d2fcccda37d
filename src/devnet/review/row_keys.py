"""Keys of a table's rows, by which a store knows them.

A row is known by its value in the id column. Without one it is known by a fingerprint of its
values, and rows that are equal in all of them are told apart by their order: "-2", "-3" and so on.
The keys are those of the values: the same in CSV and Parquet, in any order of columns, and, but
for equal rows, in any order of rows.

All rows are looked at once, batch by batch. What stays is 24 bytes per row, and the text of its id:
5,000,000 rows with ids of 12 characters take 200 MB, and reading them takes twice as much.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.sentence import Setting
from devnet.core.wording import cut
from devnet.review.events import LONGEST_ROW
from devnet.review.fingerprints import SIZE, as_rows, digest, row_fingerprints
from devnet.review.reviewed_table import ReviewedTable
from devnet.tables.label_column import label_text
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.source import Source
from devnet.tables.table_error import TableError, UnfitValueError
from devnet.tables.training_rows import OnRows

_KEY = re.compile(rf"([0-9a-f]{{{2 * SIZE}}})(?:-([1-9]\d{{0,9}}))?")  # a fingerprint, an order
_WRITTEN_AS_FLOAT = r"^(-?\d+)\.0$"  # as pandas writes whole numbers next to missing ones


class RowKeys:
    """The keys of all rows of a table.

    Attributes
    ----------
    table : ReviewedTable
        What a store has to know about the table.
    n_rows : int

    Examples
    --------
    >>> from devnet.review.row_keys import RowKeys
    >>> keys = RowKeys.read({"id": ["a", "b", "c"], "amount": [9.5, 12.0, 3.0]}, id_column="id")
    >>> keys.of([2, 0])
    ['c', 'a']
    >>> keys.find(["b", "gone"]).tolist()
    [1, -1]
    """

    def __init__(self, table: ReviewedTable, digests: np.ndarray, ids: pa.ChunkedArray | None):
        self.table, self.n_rows, self._ids = table, len(digests), ids
        halves = np.ascontiguousarray(digests).view("<u8").reshape(-1, 2)
        self._high, self._low = halves[:, 0].copy(), halves[:, 1].copy()
        self._order = np.lexsort((self._low, self._high))  # equal ones in the order of rows
        if ids is not None:
            self._refuse_repeated()

    @classmethod
    def read(
        cls,
        table: Any,
        *,
        id_column: str | None = None,
        label: str | None = None,
        on_rows: OnRows | None = None,
    ) -> Self:
        """Read the keys of a table.

        Parameters
        ----------
        table : path, glob, frame, Arrow table or dict of columns
        id_column : str, optional
            The column that names rows: a value in each row, all distinct. By default, rows are
            known by the values of all columns.
        label : str, optional
            A column of labels, which is not among the values.
        on_rows : callable, optional
            Gets the number of rows read so far.
        """
        source = open_table(table, types={id_column: pa.string()} if id_column else None)
        while True:
            try:
                return cls._read(source, id_column, label, on_rows)
            except UnfitValueError as error:
                source = source.with_text(error.column)

    @classmethod
    def _read(
        cls, source: Source, id_column: str | None, label: str | None, on_rows: OnRows | None
    ) -> Self:
        columns = [name for name in source.schema.names if name != label]
        if not columns:
            raise TableError(f"{source.name} has no column but the label {label!r}; give the rows.")
        reviewed = ReviewedTable(PurePath(source.name).name, tuple(columns), id_column, label)
        digests, texts, n_rows = [], [], 0
        for batch in source.batches([id_column] if id_column else columns):
            if id_column is None:
                digests.append(row_fingerprints(batch))
            else:
                ids = id_texts(batch.column(id_column), id_column, source.name, n_rows)
                digests.append(as_rows(map(digest, ids.to_pylist())))
                texts.append(ids)
            n_rows += len(batch)
            if on_rows is not None:
                on_rows(n_rows)
        whole = np.concatenate(digests) if digests else np.empty((0, SIZE), np.uint8)
        return cls(reviewed, whole, pa.chunked_array(texts, pa.string()) if id_column else None)

    def _refuse_repeated(self) -> None:
        order = self._order
        is_same = (self._high[order][1:] == self._high[order][:-1]) & (
            self._low[order][1:] == self._low[order][:-1]
        )
        if not is_same.any():
            return
        first = int(is_same.argmax())
        one, other = (int(number) for number in order[first : first + 2])
        raise TableError(
            f"{self.table.name} has the id {cut(self.of([one])[0])!r} more than once in "
            f"{self.table.id_column!r}, in the rows {one:,} and {other:,}, counted from 0. An id "
            "names one row: remove repeated rows, or name another column with ",
            Setting("id_column"),
            "; without it, rows are known by all of their values.",
        )

    def of(self, numbers: Iterable[int]) -> list[str]:
        """The keys of rows, by number."""
        if self._ids is not None:
            chosen = np.asarray(list(numbers), dtype=np.int64)
            return [str(key) for key in self._ids.take(pa.array(chosen)).to_pylist()]
        return [self._value_key(number) for number in numbers]

    def find(self, keys: Sequence[str]) -> np.ndarray:
        """The number of each key's row, -1 where the table has no such row."""
        return np.array([self._find(key) for key in keys], dtype=np.int64)

    def _value_key(self, number: int) -> str:
        halves = np.array([self._high[number], self._low[number]], dtype="<u8")
        equal = self._rows_like(*halves)
        place = int(np.searchsorted(equal, number)) + 1
        return halves.tobytes().hex() + (f"-{place}" if place > 1 else "")

    def _find(self, key: str) -> int:
        place = 1
        if self._ids is None:
            parts = _KEY.fullmatch(key)
            if parts is None:
                return -1
            wanted, place = bytes.fromhex(parts[1]), int(parts[2] or 1)
        else:
            wanted = digest(key)
        equal = self._rows_like(*np.frombuffer(wanted, "<u8"))
        return int(equal[place - 1]) if place <= len(equal) else -1

    def _rows_like(self, high: np.uint64, low: np.uint64) -> np.ndarray:
        """The rows with a fingerprint, in their order."""
        first, last = 0, self.n_rows
        for half, wanted in ((self._high, high), (self._low, low)):
            span, value = (first, last), half.__getitem__
            first = bisect_left(self._order, wanted, *span, key=value)
            last = bisect_right(self._order, wanted, *span, key=value)
        return self._order[first:last]


def id_texts(ids: pa.Array, column: str, table: str, start: int) -> pa.Array:
    """The ids of rows that begin at number `start`, as text; each row must have one."""
    try:
        texts = label_text(ids).cast(pa.string())
    except (TableError, pa.ArrowException):
        raise TableError(
            f"the id column {column!r} of {table} holds values of the type {ids.type}; ids are "
            "numbers or text. Name another column with ",
            Setting("id_column"),
            ".",
        ) from None
    texts = pc.replace_substring_regex(texts, _WRITTEN_AS_FLOAT, r"\1")
    if texts.null_count:
        number = start + int(np.asarray(texts.is_null()).argmax())
        raise TableError(
            f"row {number:,} of {table}, counted from 0, has no id: {column!r} is empty there. "
            "Fill it in, or name another column with ",
            Setting("id_column"),
            ".",
        )
    lengths = np.asarray(pc.utf8_length(texts))
    if len(lengths) and lengths.max() > LONGEST_ROW:
        raise TableError(
            f"row {start + int(lengths.argmax()):,} of {table} has an id of {lengths.max():,} "
            f"characters in {column!r}; at most {LONGEST_ROW:,} are kept. Name another column: ",
            Setting("id_column"),
            ".",
        )
    return texts
