"""Names of what is explained: one a column, or one for each entry of its vectors."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload

from devnet.tables.columns.column import ColumnEncoding
from devnet.tables.columns.sparse import SparseColumn


class ColumnNames(Sequence[str]):
    """A list of names that is not written down, as vectors have millions of entries."""

    def __init__(self, columns: Sequence[ColumnEncoding]) -> None:
        self._columns = columns
        sizes = [column.size if isinstance(column, SparseColumn) else 1 for column in columns]
        self.starts = [0, *accumulate(sizes)]

    def __len__(self) -> int:
        return self.starts[-1]

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} names, none at {place}")
        place = int(place) % len(self)
        owner = bisect_right(self.starts, place) - 1
        column = self._columns[owner]
        if isinstance(column, SparseColumn):
            return column.entry_name(place - self.starts[owner])
        return column.name

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def find(self, name: str) -> tuple[ColumnEncoding, int | None] | None:
        """The column of a name and which entry of its vectors is meant."""
        for column in self._columns:
            if name == column.name:
                return column, None
        base, bracket, rest = name.rpartition("[")
        digits = rest.removesuffix("]")
        if not bracket or rest == digits or not (digits.isdecimal() and len(digits) < 10):
            return None
        for column in self._columns:
            if isinstance(column, SparseColumn) and column.name == base:
                return (column, int(digits)) if int(digits) < column.size else None
        return None
