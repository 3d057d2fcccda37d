"""Names of what is explained: one per column, or one per entry of its vectors."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import overload

from devnet.tables.columns.column import ColumnEncoding


class ColumnNames(Sequence[str]):
    """A list of names that is never written out, as vectors may have millions of entries."""

    def __init__(self, columns: Sequence[ColumnEncoding]) -> None:
        self._columns = columns
        self.starts = [0, *accumulate(column.n_entries or 1 for column in columns)]

    def __len__(self) -> int:
        return self.starts[-1]

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} names, none at {index}")
        index = int(index) % len(self)
        owner = bisect_right(self.starts, index) - 1
        return self._columns[owner].entry_name(index - self.starts[owner])

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def find(self, name: str) -> tuple[ColumnEncoding, int | None] | None:
        """The column that a name means, and which entry of its vectors if it names one."""
        for column in self._columns:
            if name == column.name:
                return column, None
        base, bracket, rest = name.rpartition("[")
        digits = rest.removesuffix("]")
        if not bracket or rest == digits or not (digits.isdecimal() and len(digits) < 10):
            return None
        for column in self._columns:
            if column.name == base:
                return (column, int(digits)) if int(digits) < column.n_entries else None
        return None
