"""Vectors: lists of equally many numbers, such as embeddings, each number scaled like a column.

An empty list is a missing vector.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.model_file import edited
from devnet.core.rows import WIDE
from devnet.core.wording import missing_text, shown
from devnet.tables.columns.arrow_values import is_missing, numbers, plain
from devnet.tables.columns.column import (
    ColumnEncoding,
    ColumnSummary,
    Entry,
    Unseen,
    indicator,
    is_empty,
    limited,
    read_count,
    read_numbers,
    read_shared,
)
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.table_error import TableError

LONGEST = WIDE - 1  # numbers of a vector
TAILS = (0.01, 0.99)  # quantiles beyond which a number is unusual


@final
@dataclass
class VectorSummary(ColumnSummary):
    """How long vectors are, and the extremes of each number while all are of one length."""

    lengths: frozenset[int] = frozenset()  # the least and the greatest
    low: tuple[float, ...] = ()  # infinite where no number is known
    high: tuple[float, ...] = ()

    def add(self, values: pa.Array) -> None:
        """Add more rows."""
        values = _vectors(values)
        self.n_missing += int(is_missing(values).sum())
        found = pc.min_max(pc.list_value_length(values))
        lengths = {one.as_py() for one in (found["min"], found["max"]) if one.is_valid}
        if lengths:
            self._note(frozenset(lengths))
        if lengths and self._is_vector:
            numbers_of = _matrix(values, min(lengths))
            low = np.where(np.isnan(numbers_of), np.inf, numbers_of).min(axis=0)
            high = np.where(np.isnan(numbers_of), -np.inf, numbers_of).max(axis=0)
            self._widen(tuple(low.tolist()), tuple(high.tolist()))

    @property
    def _is_vector(self) -> bool:
        """Whether all lists so far are of one length, and not too long."""
        return len(self.lengths) == 1 and max(self.lengths) <= LONGEST

    def _note(self, lengths: frozenset[int]) -> None:
        """Add lengths of lists."""
        both = self.lengths | lengths
        self.lengths = frozenset((min(both), max(both)))
        if not self._is_vector:
            self.low = self.high = ()

    def _widen(self, low: tuple[float, ...], high: tuple[float, ...]) -> None:
        """Extend the extremes."""
        self.low = tuple(map(min, self.low, low)) if self.low else low
        self.high = tuple(map(max, self.high, high)) if self.high else high

    def merged(self, other: Self) -> Self:
        """What is known of the rows of both."""
        both = replace(self, n_missing=self.n_missing + other.n_missing)
        if other.lengths:
            both._note(other.lengths)
        if other.low and both._is_vector:
            both._widen(other.low, other.high)
        return both

    def learn(self, n_rows: int, sample: pa.Array) -> "VectorColumn | LeftOut":
        """Return the encoding, or why there is none."""
        if len(self.lengths) > 1:
            lengths = f"{min(self.lengths):,} to {max(self.lengths):,} numbers"
            return LeftOut(self.name, Why.UNUSABLE, f"lists of different lengths: {lengths}")
        size = max(self.lengths, default=0)
        if size > LONGEST:
            text = f"lists of {size:,} numbers; at most {LONGEST:,} are possible"
            return LeftOut(self.name, Why.UNUSABLE, text)
        low, high = np.array(self.low), np.array(self.high)
        is_known = low <= high
        if not is_known.any():
            return LeftOut(self.name, Why.EMPTY, "empty")
        low, high = (np.where(is_known, end, 0.0) + 0.0 for end in (low, high))  # no minus zero
        if not self.n_missing and (low == high).all():
            return LeftOut(self.name, Why.CONSTANT, "constant: always the same numbers")
        found, middle = _matrix(_vectors(sample).drop_null(), size), low / 2 + high / 2
        found = np.where(np.isnan(found), middle, found) if len(found) else middle[None]
        mean = (found / len(found)).sum(axis=0)
        tails = np.quantile(found / 2, TAILS, axis=0) * 2  # halves, as a difference may overflow
        within = (np.clip(part, low, high) for part in (mean, *tails))
        listed = (tuple(part.tolist()) for part in (low, high, *within))
        return VectorColumn(self.name, self.n_missing / n_rows, size, *listed)


@final
@dataclass(frozen=True)
class VectorColumn(ColumnEncoding):
    """A column for each number, from 0 (the least in training) to 1 (the greatest).

    A last one marks missing vectors, if any was missing in training. The mean stands in for numbers
    that are missing or not finite. Reasons are about the vector as a whole.
    """

    kind: ClassVar[str] = "vector"
    sources: ClassVar[tuple[str, ...]] = ("vector",)
    summary: ClassVar[type[ColumnSummary]] = VectorSummary

    size: int
    low: tuple[float, ...]  # by number
    high: tuple[float, ...]
    mean: tuple[float, ...]
    lower: tuple[float, ...]  # at TAILS
    upper: tuple[float, ...]

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return self.size + (self.missing > 0)

    @property
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""
        return frozenset(["vector", "empty"])

    @property
    def csv_type(self) -> None:
        """Vectors cannot be in a CSV file."""

    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""
        found = self._numbers(values)
        filled = np.where(np.isnan(found), self.mean, found)
        low, high = np.array(self.low) / 2, np.array(self.high) / 2  # a difference may overflow
        scaled = limited((filled / 2 - low) / np.where(high > low, high - low, np.inf))
        columns = [Entry(number, scaled[:, number]) for number in range(self.size)]
        return [*columns, indicator(self.size, self.is_missing(values))][: self.width]

    def is_missing(self, values: pa.Array) -> np.ndarray:
        """Which vectors are missing or empty, (n,) boolean."""
        return super().is_missing(values if is_empty(values) else _vectors(values))

    def _numbers(self, values: pa.Array) -> np.ndarray:
        """The numbers of vectors, (n, size); NaN where one is missing or not finite."""
        if is_empty(values):
            return np.full((len(values), self.size), np.nan)
        vectors = _vectors(values)
        lengths = pc.unique(pc.drop_null(pc.list_value_length(vectors))).to_pylist()
        others = [length for length in lengths if length != self.size]
        if others:
            raise TableError(
                f"the column {self.name!r} has a list of {others[0]:,} numbers, where the model "
                f"learned lists of {self.size:,}; give vectors made in the same way."
            )
        return _matrix(vectors, self.size)

    def phrase(self, value: pa.Array) -> str:
        """How many of the vector's numbers are unusual."""
        found = self._numbers(value)[0]
        if self.is_missing(value)[0]:
            return missing_text(self.name, self.missing)
        with np.errstate(invalid="ignore"):
            n_unusual = int(((found < self.lower) | (found > self.upper)).sum())
        if not n_unusual:
            return f"{shown(self.name)}: none of its {self.size:,} numbers is unusual alone"
        return f"{shown(self.name)}: {n_unusual:,} of its {self.size:,} numbers are unusual"

    def unseen(self, values: pa.Array) -> Unseen:
        """Vectors with a number outside the range of training, of which each has two ends."""
        found = self._numbers(values)
        with np.errstate(invalid="ignore"):
            is_outside = (found < np.array(self.low)) | (found > np.array(self.high))
        text = "of its vectors have numbers outside the range of training"
        return Unseen(np.any(is_outside, axis=1), 2 * self.size, text)

    def detail(self) -> str:
        """What the training table had in the column."""
        return f"{self.size:,} numbers"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        shared, size = read_shared(header), read_count(header, "size", 1, LONGEST)
        names = ("low", "high", "mean", "lower", "upper")
        low, high, mean, lower, upper = (read_numbers(header, name, size) for name in names)
        in_order = np.diff([low, mean, high], axis=0).min() >= 0
        if not in_order or np.diff([low, lower, upper, high], axis=0).min() < 0:
            raise edited(f"the column {shared['name']!r}", "its numbers are not in order")
        return cls(**shared, size=size, low=low, high=high, mean=mean, lower=lower, upper=upper)


def _vectors(values: pa.Array) -> pa.Array:
    """The lists, with none in place of empty ones."""
    values = plain(values)
    is_vacant = pc.equal(pc.list_value_length(values), 0)
    return pc.if_else(is_vacant, None, values) if pc.any(is_vacant).as_py() else values


def _matrix(vectors: pa.Array, size: int) -> np.ndarray:
    """The numbers of vectors of this size, (n, size) float64; NaN where one is missing."""
    known = vectors.drop_null()
    found: np.ndarray = np.full((len(vectors), size), np.nan)
    found[~is_missing(vectors)] = numbers(known.flatten()).reshape(len(known), size)
    return found
