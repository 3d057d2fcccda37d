"""Dates with slashes, dashes, dots or month names, and times on a 24-hour or 12-hour clock."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.model_file import field, is_text
from devnet.core.sentence import Sentence, Setting
from devnet.tables.columns.arrow_values import DAY
from devnet.tables.readings.months import ANY_MONTH, MONTH_OF
from devnet.tables.readings.reading import DISTINCT_SHARE, Reading, named

PIVOT = 70  # two digits from here on are years of the last century
YEARS = (1800, 2200)
PARTS = ("year", "month", "day", "hour", "minute", "second", "fraction", "half")
_ZONE = r"(?:Z|UTC|GMT|\+00:?00|[ECMP][SD]?T|CES?T|BST)"  # the clock is taken as it is
_TIME = (
    r"(?:(?:T|,?\s+(?:at\s+)?|:)(?P<hour>\d{1,2})(?::?(?P<minute>\d{2})(?::?(?P<second>\d{2})"
    rf"(?:[.,](?P<fraction>\d{{1,9}}))?)?)?\s*(?P<half>[ap]\.?m\.?)?\s*{_ZONE}?)?"
)
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[ap]\.?m\.?)?"
)
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_DAY, _MONTH, _YEAR = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})", r"(?P<year>\d{4}|\d{2})"
_NAME = rf"(?P<month>{ANY_MONTH})\.?"
_GAP, _TH = r"[-/.,\s]+", r"(?:st|nd|rd|th|er|º)?"
_OF = r"(?:(?:of|de|del)\s+)?"
ORDERS = {  # of the parts of a date
    "year first": rf"(?P<year>\d{{4}})[-/.]{_MONTH}(?:[-/.]{_DAY})?",
    "compact": r"(?P<year>(?:18|19|20|21)\d{2})(?P<month>\d{2})(?P<day>\d{2})",
    "day first": rf"{_DAY}[-/.]{_MONTH}[-/.]{_YEAR}",
    "month first": rf"{_MONTH}[-/.]{_DAY}[-/.]{_YEAR}",
    "day and name": rf"{_WEEKDAY}{_DAY}{_TH}{_GAP}{_OF}{_NAME}{_GAP}{_OF}{_YEAR}",
    "name and day": rf"{_WEEKDAY}{_NAME}{_GAP}{_DAY}{_TH}{_GAP}{_YEAR}",
    "name and year": rf"{_NAME}{_GAP}{_YEAR}",
    "month and year": rf"{_MONTH}[-/](?P<year>(?:19|20)\d{{2}})",
    "year last": rf"{_WEEKDAY}{_NAME}\s+{_DAY},?\s+{_CLOCK}\s+(?:{_ZONE}\s+)?(?P<year>\d{{4}})",
}
ISO = "year first"
_STRICT = {
    order: rf"(?i)^\s*{date}{'' if _CLOCK in date else _TIME}\s*$" for order, date in ORDERS.items()
}
_COMPILED = {order: re.compile(pattern) for order, pattern in _STRICT.items()}
_PATTERNS = {  # faster: what is no month is found later
    order: pattern.replace(ANY_MONTH, r"[^\d\s.,/-]+") for order, pattern in _STRICT.items()
}
_MIXED = re.compile(r"\d+([-/.])\d+(?!\1)[-/.]\d+")  # 9.5/10
_VERSION = re.compile(r"\d{1,2}([.-])(\d\1\d\d|\d\d?\1\d)|\d([.-])\d\d?\3\d\d")  # 1.2.13


@final
@dataclass(frozen=True)
class DateReading(Reading):
    """Texts as times without a zone, to the microsecond; 2017-04-23 is read in any case."""

    form: ClassVar[str] = "date"
    reads: ClassVar[str] = "text"
    becomes: ClassVar[pa.DataType] = pa.timestamp("us")

    order: str  # of ORDERS
    was_open: str = ""  # a text that leaves day and month open, if all texts do

    @property
    def is_open(self) -> bool:
        """Whether day or month first is a guess."""
        return self.was_open != ""

    @property
    def guess(self) -> str:
        """What an open reading assumes."""
        return self.order

    def other(self) -> Self:
        """The reading with day and month exchanged."""
        order = "month first" if self.order == "day first" else "day first"
        return replace(self, order=order, was_open="")

    def following(self, others: Sequence[Reading]) -> Reading:
        """Day or month first, if all other columns of such dates agree on it."""
        orders = {one.order for one in others if isinstance(one, DateReading)}
        orders &= {"day first", "month first"}
        return DateReading(orders.pop()) if len(orders) == 1 else self

    def read(self, values: pa.Array) -> pa.Array:
        """Times; null where a text is not one."""
        codes = values.cast(pa.large_string()).dictionary_encode()
        found = _instants(pc.extract_regex(codes.dictionary, _PATTERNS[self.order]))
        if found.null_count and self.order != ISO:
            found = pc.coalesce(
                found, _instants(pc.extract_regex(codes.dictionary, _PATTERNS[ISO]))
            )
        return found.take(codes.indices)

    def in_words(self) -> str:
        """How the column is read."""
        is_told = self.order in ("day first", "month first")
        return "text read as dates" + (f", {self.order}" if is_told else "")

    def note(self, *names: str) -> Sentence:
        """That day or month first is a guess."""
        date = self.read(pa.array([self.was_open]))[0].as_py().date()
        other = "day first" if self.order == "month first" else "month first"
        return Sentence(
            f"{named(names)}: {self.was_open!r} is read as {date}, "
            f"{self.order}, though no value of the {'column' if len(names) == 1 else 'columns'} "
            f"settles it; if dates are written {other}, say so with ",
            Setting("day_first", self.order == "month first"),
            ".",
        )

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        return cls(
            order=field(header, "order", lambda value: value in list(ORDERS)),
            was_open=field(header, "was_open", lambda value: is_text(value) and len(value) < 200),
        )


def learn_dates(texts: Sequence[str], day_first: bool | None) -> DateReading | None:
    """How distinct texts are read as dates; None if they are not dates.

    Parameters
    ----------
    texts : sequence of str
        Distinct, without blanks around them and without markers of missing values.
    day_first : bool, optional
        Whether 04/05/2017 is in May, if that is known.
    """
    read = {
        order: [text for text in texts if pattern.match(text) and not _MIXED.match(text)]
        for order, pattern in _COMPILED.items()
    }
    order = max(read, key=lambda order: len(read[order]))
    dates = read[order]
    if not dates or len(dates) < DISTINCT_SHARE * len(texts):
        return None
    if order == "day first":
        return _day_or_month_first(dates, day_first)
    if order == "compact" and any(text.isdigit() for text in dates):  # which may be numbers
        return None
    return DateReading(order)


def _day_or_month_first(texts: Sequence[str], day_first: bool | None) -> DateReading | None:
    if any(_VERSION.match(text) and not _has_long_year(text) for text in texts):
        return None
    pairs = [tuple(map(int, re.findall(r"\d+", text)[:2])) for text in texts]
    days, months = sum(a > 12 for a, _ in pairs), sum(b > 12 for _, b in pairs)
    if day_first is None and days != months:
        day_first = days > months
    if day_first is not None:
        return DateReading("day first" if day_first else "month first")
    slashes = sum("/" in text for text in texts)
    order = "month first" if 2 * slashes > len(texts) else "day first"
    return DateReading(order, was_open="" if days else texts[0])


def _has_long_year(text: str) -> bool:
    return re.match(r"\d+\D\d+\D\d{4}", text) is not None


def _instants(parts: pa.StructArray) -> pa.Array:
    """Times of the parts of dates; null where a part is missing or out of range."""
    names = [one.name for one in parts.type]
    is_null = parts.is_null().to_numpy(zero_copy_only=False)
    texts = {name: pc.fill_null(pc.if_else(is_null, "", parts.field(name)), "") for name in names}
    found = {name: _whole(texts[name]) for name in names if name not in ("half", "fraction")}
    year, month = found["year"], _months(texts["month"])
    is_short = pc.equal(pc.binary_length(texts["year"]), 2).to_numpy(zero_copy_only=False)
    year = np.where(is_short, np.where(year >= PIVOT, 1900, 2000) + year, year)
    day = np.where(pc.equal(texts["day"], ""), 1, found["day"]) if "day" in found else 1
    hour = _on_24_hours(found["hour"], texts["half"])
    is_right = (year >= YEARS[0]) & (year < YEARS[1]) & (month >= 1) & (month <= 12) & ~is_null
    first = (
        (np.where(is_right, year, 1970) - 1970) * 12 + np.where(is_right, month, 1) - 1
    ).astype("M8[M]")
    days = first.astype("M8[D]") + np.asarray(day - 1, "m8[D]")
    is_right &= (np.asarray(day) >= 1) & (days.astype("M8[M]") == first)
    is_right &= (hour <= 23) & (found["minute"] <= 59) & (found["second"] <= 59)
    clock = (hour * 60 + found["minute"]) * 60 + found["second"]
    fraction = pc.utf8_slice_codeunits(pc.utf8_rpad(texts["fraction"], 6, "0"), 0, 6)
    instants = days.astype(np.int64) * DAY + clock * 1_000_000 + _whole(fraction)
    return pa.array(instants, mask=~is_right).cast(pa.timestamp("us"))


def _whole(texts: pa.Array) -> np.ndarray:
    """Whole numbers, 0 for empty texts and names."""
    is_digits = pc.match_substring_regex(texts, r"^\d+$")
    found: np.ndarray = pc.if_else(is_digits, texts, "0").cast(pa.int64()).to_numpy()
    return found


def _months(texts: pa.Array) -> np.ndarray:
    """Months from 1, whether numbers or names; 0 if there is no such month."""
    at = pc.index_in(pc.utf8_lower(texts), value_set=pa.array(list(MONTH_OF), texts.type))
    named = pa.array(list(MONTH_OF.values()), pa.int64()).take(at)
    found: np.ndarray = _whole(texts) + pc.fill_null(named, 0).to_numpy(zero_copy_only=False)
    return found


def _on_24_hours(hours: np.ndarray, half: pa.Array) -> np.ndarray:
    """Hours of the day; 99 if there is no such hour."""
    first = pc.utf8_lower(pc.utf8_slice_codeunits(half, 0, 1)).to_pylist()
    is_am, is_pm = (np.array([sign == one for one in first], dtype=bool) for sign in "ap")
    by_half = np.where(is_pm, hours % 12 + 12, hours % 12)
    impossible = (is_am | is_pm) & ((hours > 12) | (hours == 0))
    found: np.ndarray = np.where(impossible, 99, np.where(is_am | is_pm, by_half, hours))
    return found
