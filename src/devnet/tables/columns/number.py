"""Numbers: scaled to [0, 1] as in the paper; the mean stands in for missing ones."""

from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.model_file import edited
from devnet.core.wording import missing_text, number_text, shown
from devnet.tables.columns.arrow_values import numbers, plain
from devnet.tables.columns.column import (
    ColumnEncoding,
    ColumnSummary,
    Entry,
    Leeway,
    Unseen,
    indicator,
    is_empty,
    limited,
    read_number,
    read_numbers,
    read_shared,
    without_missing,
)
from devnet.tables.columns.exact_sum import ExactSum
from devnet.tables.columns.identifiers import names_others, names_rows, unique
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.columns.spread import Places, Spread

QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.95, 0.99)
OTHER_UNIT = 5  # times as much, from which a number may be in another unit
NEARLY = 0.25  # of the range of the middle half, by which numbers of similar rows may differ


@final
@dataclass
class NumberSummary(ColumnSummary):
    """Exact mean and extremes."""

    sum: ExactSum = field(default_factory=ExactSum)
    low: float = np.inf
    high: float = -np.inf

    def add(self, values: pa.Array) -> None:
        """Add more rows."""
        found = numbers(values)
        missing = np.isnan(found)
        if missing.any():
            self.n_missing += int(missing.sum())
            found = found[~missing]
        if len(found):
            self.sum.add(found)
            self.low = min(self.low, float(found.min()))
            self.high = max(self.high, float(found.max()))

    def merged(self, other: Self) -> Self:
        """What is known of the rows of both."""
        return replace(
            self,
            n_missing=self.n_missing + other.n_missing,
            sum=self.sum + other.sum,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )

    def learn(self, n_rows: int, sample: pa.Array) -> "NumberColumn | LeftOut":
        """Return the encoding, or why there is none."""
        low, high = self.low + 0.0, self.high + 0.0  # 0, whether -0.0 or 0.0 came first
        mean = self.sum.mean()
        found = numbers(sample)
        is_named = names_others(self.name, found)
        if not self.n_missing and names_rows(self.name, sample, found):
            is_nearly = pc.count_distinct(plain(sample)).as_py() < len(sample)
            if not (is_nearly and is_named):
                return unique(self.name, nearly=is_nearly)
        if is_named:
            return LeftOut(self.name, Why.NAMED, "identifier by its name")
        if low == high and not self.n_missing:
            return LeftOut(self.name, Why.CONSTANT, f"constant: always {number_text(low)}")
        quantiles = quantiles_of(found[~np.isnan(found)], low, mean, high)
        return NumberColumn(self.name, self.n_missing / n_rows, low, high, mean, quantiles)


@final
@dataclass(frozen=True)
class NumberColumn(ColumnEncoding):
    """One column from 0 (the training minimum) to 1 (the maximum), and one for missing values.

    The latter exists only if a value was missing in training. Null, NaN and infinite numbers
    count as missing.
    """

    kind: ClassVar[str] = "number"
    sources: ClassVar[tuple[str, ...]] = ("number",)
    summary: ClassVar[type[ColumnSummary]] = NumberSummary

    low: float
    high: float
    mean: float
    quantiles: tuple[float, ...]  # at QUANTILES

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return 1 + (self.missing > 0)

    @property
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""
        return frozenset(["number", "empty"])

    @property
    def csv_type(self) -> pa.DataType:
        """Arrow type to read from a CSV file."""
        return pa.float64()

    @property
    def has_plain_range(self) -> bool:
        """Whether the range is neither empty nor too large for a number."""
        return self.low < self.high and isfinite(self.high - self.low)

    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""
        found = self.numbers_of(values)
        is_missing = np.isnan(found)
        if is_missing.any():
            found = np.where(is_missing, self.mean, found)
        scaled = Entry(0, limited(scale(found, self.low, self.high)))
        return [scaled, indicator(1, is_missing)][: self.width]

    @property
    def leeway(self) -> Leeway:
        """A part of the range of the middle half, which a long tail does not stretch."""
        middle = scale(np.array([self.quantiles[1], self.quantiles[3]]), self.low, self.high)
        return Leeway(NEARLY * float(np.diff(middle)[0]))

    def phrase(self, value: pa.Array) -> str:
        """How the number compares with those of the training table."""
        number = self._number(value)
        if np.isnan(number):
            return missing_text(self.name, self.missing)
        about = f"{shown(self.name)} {number_text(number)}"
        return f"{about} is {self._position(number)} typical {number_text(self.quantiles[2])}"

    def _number(self, value: pa.Array) -> float:
        return np.nan if is_empty(value) else float(numbers(value)[0])

    def _position(self, number: float) -> str:
        least, lower, _, upper, _, most = self.quantiles
        positions = {
            "far above": number > most,
            "far below": number < least,
            "above": number > upper,
            "below": number < lower,
        }
        return next((words for words, holds in positions.items() if holds), "near")

    def places(self, block: np.ndarray) -> Places:
        """The numbers themselves, to seven digits."""
        low, high = self.low / 2, self.high / 2  # halves, as a difference may overflow
        at = 2 * (low + block[:, 0].astype(np.float64) * (high - low))
        return Places(without_missing(at, block, self.missing))

    def phrase_among(self, value: pa.Array, at: float | None, spread: Spread) -> str:
        """The number, and how many anomalies and other rows have similar ones."""
        number, cell = self._number(value), spread.cell(at)
        if np.isnan(number):
            return f"{shown(self.name)} is missing{spread.missing().clause('as in')}"
        position = self._position(number)
        about = f"{shown(self.name)} {number_text(number)}"
        if cell is None or position.startswith("far"):
            return self.phrase(value)
        if spread.points:
            return f"{about}{spread.shares(cell, cell).clause('as')}"
        if position == "near":
            return f"{about}{spread.around(cell)}"
        shares = spread.as_high(cell) if position == "above" else spread.as_low(cell)
        return f"{self.phrase(value)}{shares}"

    def is_missing(self, values: pa.Array) -> np.ndarray:
        """Which numbers are missing, NaN or infinite."""
        missing: np.ndarray = np.isnan(self.numbers_of(values))
        return missing

    def numbers_of(self, values: pa.Array) -> np.ndarray:
        """The numbers, (n,) float64; NaN where one is missing or infinite."""
        return np.full(len(values), np.nan) if is_empty(values) else numbers(values)

    def unseen(self, values: pa.Array) -> Unseen:
        """Numbers outside the range of training, whose ends are two rows without equals."""
        found = self.numbers_of(values)
        ends = f"{number_text(self.low)} to {number_text(self.high)}"
        typical = self._typical(found)
        text = f"of values lie outside the range of training, {ends}{typical and '; ' + typical}"
        return Unseen((found < self.low) | (found > self.high), 2, text)

    def change(self, values: pa.Array, spread: Spread, found: np.ndarray) -> str:
        """The typical number, if it is another one, or else the range that differs most."""
        return self._typical(self.numbers_of(values)) or super().change(values, spread, found)

    def _typical(self, found: np.ndarray) -> str:
        """The typical number of another table, if it is not among the middle half in training."""
        known = found[~np.isnan(found)]
        here, there = float(np.median(known)) if len(known) else self.mean, self.quantiles[2]
        if self.quantiles[1] <= here <= self.quantiles[3]:
            return ""
        both = f"typical is {number_text(here)}, {number_text(there)} in training"
        return both + (_times(here, there) if here * there > 0 else "")

    def detail(self) -> str:
        """What the training table had in the column."""
        _, _, median, _, upper, _ = self.quantiles
        return f"typical {number_text(median)}, 5% above {number_text(upper)}"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        shared = read_shared(header)
        low, high, mean = (read_number(header, name) for name in ("low", "high", "mean"))
        quantiles = read_numbers(header, "quantiles", len(QUANTILES))
        if not low <= mean <= high or list(quantiles) != sorted(quantiles):
            raise edited(f"the column {shared['name']!r}", "its numbers are not in order")
        return cls(**shared, low=low, high=high, mean=mean, quantiles=quantiles)


def scale(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Values from 0 at `low` to 1 at `high`; 0 if these are equal."""
    if low == high:
        return np.zeros(len(values))
    with np.errstate(over="ignore"):
        if np.isinf(np.float64(high) - low):
            values, low, high = values / 2, low / 2, high / 2
        scaled: np.ndarray = (values - low) / (high - low)
    return scaled


def _times(here: float, there: float) -> str:
    """How many times one number is another, if that may be a matter of units."""
    times = max(here / there, there / here)
    if times < OTHER_UNIT:
        return ""
    how = "as much" if abs(here) > abs(there) else "less"
    return f", about {float(f'{times:.2g}'):,g} times {how} (another unit?)"


def quantiles_of(sample: np.ndarray, low: float, mean: float, high: float) -> tuple[float, ...]:
    """Quantiles of finite numbers; of the extremes and the mean if the sample is empty."""
    if not len(sample):
        sample = np.array([low, mean, high])
    found = np.quantile(sample / 2, QUANTILES) * 2  # halves, as a difference may overflow
    return tuple(np.maximum.accumulate(found.clip(low, high)).tolist())
