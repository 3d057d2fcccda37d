"""Dates and times: their parts, each on its own fixed scale."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa

from devnet.core.model_file import edited, field
from devnet.core.wording import cut, missing_text, shown
from devnet.tables.columns.arrow_values import (
    DAY,
    LIMIT,
    ColumnKind,
    in_zone,
    is_missing,
    plain,
    wall_clock,
)
from devnet.tables.columns.column import (
    ColumnEncoding,
    ColumnSummary,
    Entry,
    indicator,
    is_empty,
    limited,
    read_number,
    read_numbers,
    read_shared,
    read_source,
    without_missing,
)
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.columns.number import scale
from devnet.tables.columns.spread import Places, Spread

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
THURSDAY = 3  # the weekday of the first day of 1970
YEAR = 365.2425 * DAY
LONG = 3  # years; a training table that spans more has dates that say how old something is
MONTH = 31 * DAY  # in a table that spans more, days of the month of few anomalies are chance
PARTS = ("hour", "weekday", "day", "month", "years")
PLACED = ("hour", "years", "weekday")  # by which dates are compared, the first that is used
MOST_LATER = 0.5  # share of dates outside the time of training, from which it has passed by
LEAST_SPAN = {"hour": 2 * DAY, "weekday": 14 * DAY}  # of a table that is compared by them


@final
@dataclass
class DateSummary(ColumnSummary):
    """The first and the last instant, in microseconds of the wall clock."""

    low: int = LIMIT * 2
    high: int = -LIMIT * 2

    def add(self, values: pa.Array) -> None:
        """Add more rows."""
        values = plain(values)
        missing = is_missing(values)
        self.n_missing += int(missing.sum())
        instants = wall_clock(values)[~missing]
        if len(instants):
            self.low = min(self.low, int(instants.min()))
            self.high = max(self.high, int(instants.max()))

    def merged(self, other: Self) -> Self:
        """What is known of the rows of both."""
        n_missing = self.n_missing + other.n_missing
        low, high = min(self.low, other.low), max(self.high, other.high)
        return replace(self, n_missing=n_missing, low=low, high=high)

    def learn(self, n_rows: int, sample: pa.Array) -> "DateColumn | LeftOut":
        """Return the encoding, or why there is none."""
        if self.low == self.high and not self.n_missing:
            return self._constant(f"always {_instant_text(self.low, self.kind.name)}")
        low, high = years_of(np.array([self.low, self.high])).tolist()
        is_long = self.kind.name == "date" and self.high - self.low > LONG * YEAR
        known = wall_clock(sample)[~is_missing(sample)]
        found = encoded_parts(known, PARTS if is_long else PARTS[:-1], low, high)
        found = {part: value for part, value in found.items() if len(value) and np.ptp(value) > 0}
        if "day" not in found and "month" in found:  # Mar-2020: its first day is no Sunday
            found.pop("weekday", None)
        if len(found) > 1 and self.high - self.low > MONTH:
            found.pop("day", None)
        if not found and not self.n_missing:
            return self._constant("no part of the dates varies")
        return DateColumn(
            self.name,
            self.n_missing / n_rows,
            parts=tuple(part for part in PARTS if part in found),
            means=tuple(float(found[part].mean()) for part in PARTS if part in found),
            low=low,
            high=high,
            source=self.kind.name,
            zone=self.kind.zone,
        )

    def _constant(self, what: str) -> LeftOut:
        return LeftOut(self.name, Why.CONSTANT, f"constant: {what}")


def _instant_text(instant: int, kind: str) -> str:
    text = str(np.datetime64(instant, "us").astype("M8[s]")).replace("T", " ")
    return text[-8:] if kind == "time" else text.removesuffix(" 00:00:00")


@final
@dataclass(frozen=True)
class DateColumn(ColumnEncoding):
    """One column for each part that varies in training, and one for missing values.

    Parts are the hour of the day (with fraction), the weekday, the day of the month, the month,
    and the years since 1970 (with fraction). All are read off the clock of the training table's
    zone, whatever zone the same instants have later. Years are used only if the training table
    spans more than three of them, and the day of the month only if it spans no more than a month.
    """

    kind: ClassVar[str] = "date"
    sources: ClassVar[tuple[str, ...]] = ("date", "time")
    summary: ClassVar[type[ColumnSummary]] = DateSummary

    parts: tuple[str, ...]
    means: tuple[float, ...]  # encoded, by part
    low: float  # years
    high: float
    source: str  # date or time
    zone: str

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return len(self.parts) + (self.missing > 0)

    @property
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""
        return frozenset([self.source, "empty"])

    @property
    def csv_type(self) -> pa.DataType:
        """Arrow type to read from a CSV file."""
        is_time = self.source == "time"
        return pa.time64("us") if is_time else pa.timestamp("us", self.zone or None)

    @property
    def learned_from(self) -> str:
        """Kind of the training values."""
        return self.source

    def notes(self, kind: ColumnKind) -> list[str]:
        """A note if times have a zone and those in training had none, or vice versa."""
        if kind.name != "date" or bool(kind.zone) == bool(self.zone):
            return []
        here, there = (
            f"of the zone {zone}" if zone else "without a zone" for zone in (kind.zone, self.zone)
        )
        return [
            f"the times of {cut(self.name)!r} are {here}, the model learned times {there}; "
            "their clock is taken as it is"
        ]

    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""
        n = len(values)
        if is_empty(values):
            missing, found = np.ones(n, dtype=bool), dict.fromkeys(self.parts, np.zeros(n))
        else:
            values = in_zone(values, self.zone)
            missing = is_missing(values)
            found = encoded_parts(wall_clock(values), self.parts, self.low, self.high)
        if missing.any():
            means = dict(zip(self.parts, self.means, strict=True))
            found = {part: np.where(missing, means[part], found[part]) for part in self.parts}
        entries = [Entry(i, limited(found[part])) for i, part in enumerate(self.parts)]
        return [*entries, indicator(len(self.parts), missing)][: self.width]

    def phrase(self, value: pa.Array) -> str:
        """The date and time in words."""
        if is_empty(value) or is_missing(plain(value))[0]:
            return missing_text(self.name, self.missing)
        day, instant = divmod(int(wall_clock(in_zone(value, self.zone))[0]), DAY)
        clock = f"{instant // (DAY // 24):02d}:{instant // (DAY // 1440) % 60:02d}"
        if self.source == "time":
            return f"{shown(self.name)} {clock}"
        date = f"{WEEKDAYS[(day + THURSDAY) % 7]}, {np.datetime64(day, 'D')}"
        if "hour" in self.parts:
            return f"{shown(self.name)} {clock} on {date}"
        return f"{shown(self.name)} on {date}"

    def places(self, block: np.ndarray) -> Places | None:
        """The hour of the day, or else the year, or else the weekday."""
        part = next((part for part in PLACED if part in self.parts), None)
        if part is None:
            return None
        at = block[:, self.parts.index(part)].astype(np.float64)
        if part == "weekday":
            return Places(without_missing(np.rint(at * 6), block, self.missing), WEEKDAYS, part)
        at = 24 * at if part == "hour" else 1970 + self.low + at * (self.high - self.low)
        return Places(without_missing(at, block, self.missing), of=part.removesuffix("s"))

    def is_comparable(self, values: pa.Array) -> bool:
        """Whether the table is long enough for its hours or weekdays to be those of training.

        Years are never compared: they pass by.
        """
        part = next((part for part in PLACED if part in self.parts), None)
        return part in LEAST_SPAN and not self._is_short(values, [part])

    def passes_by(self, values: pa.Array) -> bool:
        """Whether most dates are not of the time of training, or of a part of a week or day."""
        if self.source == "time" or is_empty(values) or not len(values):
            return False
        years = years_of(wall_clock(in_zone(values, self.zone)))
        is_other = np.mean((years < self.low) | (years > self.high)) > MOST_LATER
        return bool(is_other) or self._is_short(values, self.parts)

    def _is_short(self, values: pa.Array, parts: Sequence[str]) -> bool:
        """Whether dates span so little that these parts of them cannot all occur."""
        if self.source == "time" or not len(values):
            return False
        span = int(np.ptp(wall_clock(in_zone(values, self.zone))))
        return any(span < LEAST_SPAN[part] for part in parts if part in LEAST_SPAN)

    def phrase_among(self, value: pa.Array, at: float | None, spread: Spread) -> str:
        """The date and time, and how many anomalies and other rows have similar ones."""
        cell = spread.cell(at)
        if is_empty(value) or is_missing(plain(value))[0]:
            return f"{shown(self.name)} is missing{spread.missing().clause('as in')}"
        if cell is None:
            return self.phrase(value)
        if spread.ends:
            return f"{self.phrase(value)}{spread.around(cell)}"
        about = f"{spread.of} {spread.label(cell)}"
        return f"{self.phrase(value)}{spread.shares(cell, cell).in_brackets(about)}"

    def detail(self) -> str:
        """What the training table had in the column."""
        years = f"{1970 + self.low:.0f} to {1970 + self.high:.0f}"
        named = [f"years ({years})" if part == "years" else part for part in self.parts]
        return ", ".join(named) or "whether it is missing"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        parts = tuple(field(header, "parts", _are_parts))
        low, high = read_number(header, "low"), read_number(header, "high")
        shared = read_shared(header)
        if low > high or not (parts or shared["missing"]):
            raise edited(f"the column {shared['name']!r}", "it has an impossible range of dates")
        return cls(
            **shared,
            parts=parts,
            means=read_numbers(header, "means", len(parts)),
            low=low,
            high=high,
            **read_source(header, cls.sources),
        )


def _are_parts(value: Any) -> bool:
    return isinstance(value, list) and value == [part for part in PARTS if part in value]


def years_of(instants: np.ndarray) -> np.ndarray:
    """Years since 1970, with fraction."""
    years: np.ndarray = instants / YEAR
    return years


def _parts_of_days(days: np.ndarray, parts: Sequence[str]) -> dict[str, np.ndarray]:
    """Parts that all instants of a day share, as there are usually fewer days than instants."""
    first, last = (int(days.min()), int(days.max())) if len(days) else (0, 0)
    if last - first < len(days):
        by_day = _calendar(np.arange(first, last + 1), parts)
        return {part: values.take(days - first) for part, values in by_day.items()}
    return _calendar(days, parts)


def _calendar(days: np.ndarray, parts: Sequence[str]) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    if "weekday" in parts:
        found["weekday"] = (days + THURSDAY) % 7 / 6
    if "day" in parts or "month" in parts:
        months = days.astype("M8[D]").astype("M8[M]")
        first = months.astype("M8[D]").astype(np.int64)
        found["day"] = (days - first) / 30
        found["month"] = months.astype(np.int64) % 12 / 11
    return {part: found[part] for part in parts}


def encoded_parts(
    instants: np.ndarray, parts: tuple[str, ...], low: float, high: float
) -> dict[str, np.ndarray]:
    """Parts of instants of the wall clock, each on its scale; years from `low` to `high`."""
    days = instants // DAY
    found: dict[str, np.ndarray] = {}
    if "hour" in parts:
        found["hour"] = (instants - days * DAY) / DAY
    found |= _parts_of_days(days, [part for part in parts if part in ("weekday", "day", "month")])
    if "years" in parts:
        found["years"] = scale(years_of(instants), low, high)
    return found
