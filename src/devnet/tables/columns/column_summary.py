"""What one streaming pass learns of a column, in bounded memory."""

from abc import ABC, abstractmethod
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.columns.arrow_values import (
    LIMIT,
    ColumnKind,
    is_missing,
    numbers,
    plain,
    wall_clock,
)
from devnet.tables.columns.exact_sum import ExactSum
from devnet.tables.columns.sparse import pairs_of
from devnet.tables.columns.text_values import MAX_VALUES, text_values


class ColumnSummary(ABC):
    """A column as far as it was seen."""

    def __init__(self) -> None:
        self.n_missing = 0

    @abstractmethod
    def add(self, values: pa.Array) -> None:
        """See more of it."""


@final
class NumberSummary(ColumnSummary):
    """Exact mean and extremes."""

    def __init__(self) -> None:
        super().__init__()
        self.sum = ExactSum()
        self.low, self.high = np.inf, -np.inf

    def add(self, values: pa.Array) -> None:
        """See more of it."""
        found = numbers(values)
        missing = np.isnan(found)
        if missing.any():
            self.n_missing += int(missing.sum())
            found = found[~missing]
        if len(found):
            self.sum.add(found)
            self.low = min(self.low, float(found.min()))
            self.high = max(self.high, float(found.max()))


@final
class BooleanSummary(ColumnSummary):
    """How many are true."""

    def __init__(self) -> None:
        super().__init__()
        self.n_true = 0

    def add(self, values: pa.Array) -> None:
        """See more of it."""
        values = plain(values)
        self.n_missing += values.null_count
        self.n_true += values.true_count


@final
class CategorySummary(ColumnSummary):
    """How often each value occurs, as long as there are not too many."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] | None = {}

    def add(self, values: pa.Array) -> None:
        """See more of it."""
        found = text_values(values)
        self.n_missing += int((found.place < 0).sum())
        if self.counts is None:
            return
        counts = found.counts()
        seen = np.flatnonzero(counts)
        if len(seen) > MAX_VALUES:
            self.counts = None
            return
        for text, count in zip(
            found.texts.take(pa.array(seen)).to_pylist(), counts[seen].tolist(), strict=True
        ):
            self.counts[text] = self.counts.get(text, 0) + count
        if len(self.counts) > MAX_VALUES:
            self.counts = None


@final
class DateSummary(ColumnSummary):
    """The first and the last instant, in microseconds of the wall clock."""

    def __init__(self) -> None:
        super().__init__()
        self.low, self.high = LIMIT * 2, -LIMIT * 2

    def add(self, values: pa.Array) -> None:
        """See more of it."""
        values = plain(values)
        missing = is_missing(values)
        self.n_missing += int(missing.sum())
        instants = wall_clock(values)[~missing]
        if len(instants):
            self.low = min(self.low, int(instants.min()))
            self.high = max(self.high, int(instants.max()))


@final
class SparseSummary(ColumnSummary):
    """The largest index."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.largest = -1

    def add(self, values: pa.Array) -> None:
        """See more of it."""
        self.n_missing += int(pc.sum(values.is_null()).as_py() or 0)
        indices = pairs_of(values, self.name).indices
        if len(indices):
            self.largest = max(self.largest, int(indices.max()))


@final
class NoSummary(ColumnSummary):
    """Nothing, of a column that is not used."""

    def add(self, values: pa.Array) -> None:
        """See more of it."""


def summary_of(name: str, kind: ColumnKind, is_category: bool) -> ColumnSummary:
    """What there is to learn of a column."""
    if kind.name == "sparse":
        return SparseSummary(name)
    if kind.name in ("unusable", "empty"):
        return NoSummary()
    if is_category or kind.name == "text":
        return CategorySummary()
    if kind.name == "number":
        return NumberSummary()
    return BooleanSummary() if kind.name == "boolean" else DateSummary()
