"""The shelf: rows that were read and explained, the latest ones, so that cards appear at once.

A table is read from its beginning to reach a row, so rows are fetched many at a time.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from devnet.tables.chosen_rows import python_rows, take_rows
from devnet.tables.explainer import Explanation
from devnet.tables.opened_table import OpenedTable

MOST_ROWS = 2000  # that are kept


class Shelf:
    """Rows of an opened table by number: explained, or their values alone."""

    def __init__(self, opened: OpenedTable) -> None:
        self._opened = opened
        self._explained = _Latest(self._explain)
        self._values = _Latest(self._read)

    def explained(self, numbers: Sequence[int]) -> list[Explanation]:
        """Why rows have their scores, and their values."""
        return self._explained.get(numbers)

    def n_missing(self, numbers: Sequence[int]) -> int:
        """How many of these rows would have to be read to be explained."""
        return len({*numbers}) - len(self._explained.known(numbers))

    def values(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """The values of rows by column."""
        return self._values.get(numbers)

    def _explain(self, numbers: list[int]) -> list[Explanation]:
        return self._opened.explain(numbers)

    def _read(self, numbers: list[int]) -> list[dict[str, Any]]:
        opened = self._opened
        rows = take_rows(opened.source, numbers, opened.own_columns)
        return python_rows(opened.own_values(rows, np.asarray(numbers, dtype=np.int64)))


class _Latest:
    """What was fetched by row, the latest ones; whoever has to fetch keeps no other waiting."""

    def __init__(self, fetch: Callable[[list[int]], list[Any]]) -> None:
        self._fetch = fetch
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._looking, self._fetching = Lock(), Lock()

    def get(self, numbers: Sequence[int]) -> list[Any]:
        """One of each number, fetched together if they are not there."""
        found = self.known(numbers)
        if len(found) < len({*numbers}):
            with self._fetching:  # by now another thread may have fetched some
                found = self.known(numbers)
                missing = [number for number in dict.fromkeys(numbers) if number not in found]
                if missing:
                    found.update(zip(missing, self._fetch(missing), strict=True))
        self._keep(found)
        return [found[number] for number in numbers]

    def known(self, numbers: Sequence[int]) -> dict[int, Any]:
        """Those that are there."""
        with self._looking:
            return {number: self._kept[number] for number in numbers if number in self._kept}

    def _keep(self, found: dict[int, Any]) -> None:
        with self._looking:
            for number, one in found.items():
                self._kept[number] = one
                self._kept.move_to_end(number)
            while len(self._kept) > MOST_ROWS:
                self._kept.popitem(last=False)
