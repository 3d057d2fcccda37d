"""The parts of a table: consecutive rows that any process can read by themselves."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import or_
from typing import Any, NamedTuple

from devnet.tables.sources.source import Source

Spread = Callable[[Callable[[Any], Any], Callable[[Any, Any], Any], Sequence[Any]], Any]
"""Called as `spread(read, merge, parts)`: the results of `read` for all parts, merged into one.

There is at least one part. Parts may be read anywhere, and results merged in any order and in any
pairs. All three may be sent to other processes; neither `read` nor `merge` changes what it gets.
"""


class Part(NamedTuple):
    """Some rows of a table."""

    number: int  # among the parts of the table
    first: int  # the number of its first row in the table
    source: Source  # of these rows alone


def whole(source: Source) -> Part:
    """A table as a single part."""
    return Part(0, 0, source)


def first_numbers(source: Source, spread: Spread) -> list[int]:
    """The number of the first row of each part of a table.

    Rows of files that do not tell how many they have are counted first.
    """
    before = source.parts()[:-1]
    counts = {i: one.n_rows for i, one in enumerate(before)}
    if None in counts.values():
        counts = spread(_count, or_, list(enumerate(before)))
    return list(accumulate((counts[i] or 0 for i in range(len(before))), initial=0))


def _count(numbered: tuple[int, Source]) -> dict[int, int]:
    number, source = numbered
    return {number: source.count_rows()}
