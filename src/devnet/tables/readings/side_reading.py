"""Numbers whose sign is a letter behind them: 31.3°N and 12.5°S, 1,200.00 DR and 80.00 CR."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, final

import pyarrow as pa

from devnet.core.model_file import field
from devnet.tables.readings.number_shape import decimal_of
from devnet.tables.readings.reading import READ_SHARE, Reading, read_distinct


class Sides(NamedTuple):
    """What stands behind numbers of either sign."""

    positive: str
    negative: str
    words: str
    pattern: re.Pattern[str]


def _sides(positive: str, negative: str, words: str, number: str) -> Sides:
    pattern = rf"(?P<minus>[-−–])?\s*{number}\s*(?P<side>{positive}|{negative})?\.?"
    return Sides(positive, negative, words, re.compile(pattern, re.IGNORECASE))


_DEGREES = (
    r"(?P<whole>\d{1,3}(?:[.,]\d+)?)\s*[°º]?"
    r"(?:\s*(?P<minutes>\d{1,2}(?:[.,]\d+)?)\s*['′’])?"
    r"(?:\s*(?P<seconds>\d{1,2}(?:[.,]\d+)?)\s*(?:\"|″|''|”))?"
)
_AMOUNT = r"(?P<whole>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<minutes>)(?P<seconds>)"
SIDES = {
    "latitude": _sides("N", "S", "degrees, S as negative", _DEGREES),
    "longitude": _sides("E", "W", "degrees, W as negative", _DEGREES),
    "account": _sides("DR", "CR", "numbers, CR as negative", _AMOUNT),
}


@final
@dataclass(frozen=True)
class SideReading(Reading):
    """Texts as float64, negative on one of two sides; minutes and seconds are parts of a degree."""

    form: ClassVar[str] = "side"
    reads: ClassVar[str] = "text"
    becomes: ClassVar[pa.DataType] = pa.float64()

    sides: str  # of SIDES
    decimal: str = dataclasses.field(default="", compare=False)  # the mark that occurred

    @property
    def mark(self) -> str:
        """The decimal mark, if a value shows which one it is."""
        return self.decimal

    def read(self, values: pa.Array) -> pa.Array:
        """Numbers; null where a text is not one."""
        return read_distinct(values, self._number, self.becomes)

    def _number(self, text: str) -> float | None:
        sides = SIDES[self.sides]
        match = sides.pattern.fullmatch(text.strip())
        if match is None:
            return None
        mark = "" if self.sides == "account" else "."  # of which a comma stands for
        parts = [float((match[one] or "0").replace(",", mark)) for one in _PARTS]
        found = parts[0] + parts[1] / 60 + parts[2] / 3600
        is_negative = (match["side"] or "").upper() == sides.negative
        return -found if is_negative != bool(match["minus"]) else found

    def in_words(self) -> str:
        """How the column is read."""
        return f"text read as {SIDES[self.sides].words}"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        return cls(
            field(header, "sides", lambda value: value in list(SIDES)),
            field({"decimal": "", **header}, "decimal", lambda value: value in ("", ".", ",")),
        )


_PARTS = ("whole", "minutes", "seconds")


def learn_sides(texts: Sequence[str]) -> SideReading | None:
    """How distinct texts are read as numbers of two sides; None if they are none.

    Both sides must occur, or the sign of degrees: 5 N may be a force.
    """
    for name, sides in SIDES.items():
        found = [match for match in map(sides.pattern.fullmatch, texts) if match and match["side"]]
        is_told = name != "account" and any("°" in match[0] for match in found)
        has_both = len({match["side"].upper() for match in found}) == 2
        if found and len(found) >= READ_SHARE * len(texts) and (has_both or is_told):
            marks = {decimal_of(match["whole"]) or "" for match in found} & {".", ","}
            return SideReading(name, marks.pop() if len(marks) == 1 else "")
    return None
