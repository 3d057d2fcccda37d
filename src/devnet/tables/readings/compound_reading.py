"""Amounts in two or more units: 2h 15m, 1 hr 30 min, 5'11", 7 lb 6 oz."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, final

import pyarrow as pa

from devnet.core.model_file import field
from devnet.tables.readings.reading import READ_SHARE, Reading, read_distinct


class Units(NamedTuple):
    """Units that are written side by side, the largest first, and their size in `words`."""

    words: str
    sizes: tuple[float, ...]
    pattern: re.Pattern[str]


def _units(words: str, *units: tuple[str, float]) -> Units:
    parts = r"[\s,]*".join(rf"(?:(\d+(?:[.,]\d+)?)\s*(?:{spelling}))?" for spelling, _ in units)
    return Units(words, tuple(size for _, size in units), re.compile(parts, re.IGNORECASE))


UNITS = {
    "time": _units(
        "durations in minutes",
        ("d|days?", 1440.0),
        ("h|hrs?|hours?|std", 60.0),
        ("m|mins?|minutes?", 1.0),
        ("s|secs?|seconds?", 1 / 60),
    ),
    "length": _units(
        "lengths in inches", ("'|′|’|ft|feet|foot", 12.0), ("\"|″|''|”|in|inch(?:es)?", 1.0)
    ),
    "weight": _units("weights in ounces", ("lbs?|pounds?", 16.0), ("oz|ounces?", 1.0)),
}


@final
@dataclass(frozen=True)
class CompoundReading(Reading):
    """Texts as float64, in one unit."""

    form: ClassVar[str] = "compound"
    reads: ClassVar[str] = "text"
    becomes: ClassVar[pa.DataType] = pa.float64()

    units: str  # of UNITS

    def read(self, values: pa.Array) -> pa.Array:
        """Numbers; null where a text is not such an amount."""
        return read_distinct(values, self._number, self.becomes)

    def _number(self, text: str) -> float | None:
        units = UNITS[self.units]
        match = units.pattern.fullmatch(text.strip())
        if match is None or not any(match.groups()):
            return _plain(text)
        parts = zip(match.groups(), units.sizes, strict=True)
        return sum(float(part.replace(",", ".")) * size for part, size in parts if part)

    def in_words(self) -> str:
        """How the column is read."""
        return f"text read as {UNITS[self.units].words}"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        return cls(field(header, "units", lambda value: value in list(UNITS)))


def _plain(text: str) -> float | None:
    """A number without a unit, which is in the unit of the model."""
    try:
        return float(text)
    except ValueError:
        return None


def learn_compound(texts: Sequence[str]) -> CompoundReading | None:
    """How distinct texts are read as amounts in several units; None if none has two of them."""
    for name, units in UNITS.items():
        found = [match.groups() for match in map(units.pattern.fullmatch, texts) if match]
        n_parts = [sum(part is not None for part in parts) for parts in found]
        is_enough = sum(n > 0 for n in n_parts) >= READ_SHARE * len(texts)
        if found and is_enough and max(n_parts) > 1:
            return CompoundReading(name)
    return None
