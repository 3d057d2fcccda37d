"""Numbers with currencies, percent signs, units, thousands separators or accounting brackets."""

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, final

import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.model_file import field, is_text
from devnet.core.sentence import Sentence, Setting
from devnet.core.wording import join_words
from devnet.tables.columns.arrow_values import unsliced
from devnet.tables.readings.currencies import CURRENCIES, CURRENCY_OF
from devnet.tables.readings.number_shape import (
    MAX_UNIT,
    MINUS,
    SCALE_WORDS,
    SCALES,
    SPACES,
    Shape,
    decimal_of,
    is_code,
    shape_of,
)
from devnet.tables.readings.reading import DISTINCT_SHARE, READ_SHARE, Reading, named

FEW_CODES = 20  # distinct whole numbers, up to which texts of a typed table may be codes
CODE_LENGTH = 4  # digits from which whole numbers of one length are codes
UNIT_WORDS = {"in": "inches", '"': "inches"}
_MOST = re.compile(r"(?:/|of|out of) ?(\d+)")  # 7 of 10
_RATE_SIGN = re.compile(r"^(/|p\.|per|an?)\s*")
_EDGES = f"<>=≤≥~≈()+{MINUS}{SPACES}\t\n\r"
_NEEDED = set("0123456789.,")


@final
@dataclass(frozen=True)
class NumberReading(Reading):
    """Texts as float64.

    A percentage is read as the number before the sign. A value without the unit is a number like
    the others; one with another unit cannot be read.
    """

    form: ClassVar[str] = "number"
    reads: ClassVar[str] = "text"
    becomes: ClassVar[pa.DataType] = pa.float64()

    decimal: str  # "." or ","
    unit: str = ""  # a currency in words, or the unit as it is written
    is_scaled: bool = False  # 1.2k, 3M
    was_open: str = ""  # a text that leaves the decimal mark open, if all texts do
    has_bounds: bool = False  # >808 and ~10 are the numbers
    scales: tuple[str, ...] = ()  # that occurred
    rate: str = ""  # "/hr" behind amounts of money
    bound: str = dataclasses.field(default="", compare=False)  # one that occurred: ">808"
    shows_mark: bool = dataclasses.field(default=False, compare=False)  # whether a text settles it

    @property
    def is_open(self) -> bool:
        """Whether thousands or decimals are a guess."""
        return self.was_open != ""

    @property
    def guess(self) -> str:
        """What an open reading assumes."""
        return self.decimal

    @property
    def mark(self) -> str:
        """The decimal mark, if a value shows which one it is."""
        return self.decimal if self.shows_mark else ""

    def other(self) -> Self:
        """The reading with the other decimal mark."""
        return replace(self, decimal="." if self.decimal == "," else ",", was_open="")

    def following(self, others: Sequence[Reading]) -> Reading:
        """With the decimal mark that the other columns of numbers have, if they agree on it."""
        decimals = {one.mark for one in others} - {""}
        if len(decimals) != 1:
            return self
        return replace(self, decimal=decimals.pop(), was_open="")

    @cached_property
    def _spellings(self) -> tuple[str, ...]:
        """How the unit may be written, the longest first."""
        found = CURRENCIES.get(self.unit) or [
            unit for unit in {self.unit, _singular(self.unit), f"{_singular(self.unit)}s"} if unit
        ]
        return tuple(sorted(found if self.unit else (), key=len, reverse=True))

    @property
    def _separator(self) -> str:
        return "," if self.decimal == "." else "."

    @cached_property
    def _pattern(self) -> str:
        separators = f"[{SPACES}{self._separator}]"
        mark = re.escape(self.decimal)
        groups = rf"\d{{1,3}}(?:{separators}\d{{2,3}})*{separators}\d{{3}}"
        number = rf"(?:(?:{groups}|\d+)(?:{mark}\d*)?|{mark}\d+)(?:[eE][-+]?\d+)?"
        unit = f"(?i:{'|'.join(map(re.escape, self._spellings))})"
        sign = rf"(?:[+{MINUS}]\s*)?"
        before = rf"(?:{unit}\s*{sign}|{sign}{unit}\s*|{sign})"
        scale = rf"(?:\s*(?:{'|'.join(SCALES)}))?" if self.is_scaled else ""
        behind = rf"(?:\s*{unit})?" if self.unit else ""
        behind += rf"(?:\s*(?i:{re.escape(self.rate)}))?" if self.rate else ""
        signed = rf"{before if self.unit in CURRENCIES else sign}{number}{scale}{behind}"
        bound = (r"(?:(?:[<>]=?|[≤≥~≈])\s*)?", r"\+?") if self.has_bounds else ("", "")
        signed = rf"{bound[0]}{signed}{bound[1]}"
        outside = rf"|{unit}\s*\(\s*{number}{scale}\s*\)" if self.unit in CURRENCIES else ""
        return rf"^\s*(?:{signed}(?:\s*-)?|\(\s*{signed}\s*\){outside})\s*$"

    def read(self, values: pa.Array) -> pa.Array:
        """Numbers; null where a text is not one."""
        texts = unsliced(values.cast(pa.large_string()))
        is_read = pc.match_substring_regex(texts, self._pattern)
        texts = pc.if_else(is_read, texts, pa.scalar(None, pa.large_string()))
        found = self._bare(texts).cast(pa.float64())
        is_negative = pc.or_(
            pc.match_substring_regex(texts, rf"^[^0-9]*[({MINUS}]"),
            pc.ends_with(pc.ascii_rtrim_whitespace(texts), "-"),
        )
        if pc.any(is_negative).as_py():
            found = pc.if_else(is_negative, pc.negate(found), found)
        return found

    def _bare(self, texts: pa.Array) -> pa.Array:
        """Digits with a decimal point, without sign and unit."""
        if self.rate:
            texts = pc.replace_substring_regex(texts, f"(?i:{re.escape(self.rate)})", "")
        signs = "".join(self._spellings)
        if set(signs) & _NEEDED or self.is_scaled:  # CO2, Rs.: more than its signs are at the edge
            unit = "|".join(map(re.escape, self._spellings)) or "$^"
            texts = pc.replace_substring_regex(texts, f"(?i:{unit})", "")
            signs = ""
        texts = pc.utf8_trim(texts, characters=_EDGES + signs.lower() + signs.upper())
        texts = pc.replace_substring(texts, self._separator, "")
        if pc.any(pc.match_substring_regex(texts, f"[{SPACES}]")).as_py():
            texts = pc.replace_substring_regex(texts, f"[{SPACES}]", "")
        if self.decimal == ",":
            texts = pc.replace_substring(texts, ",", ".")
        if self.is_scaled:
            for scale in sorted(SCALES, key=len, reverse=True):
                texts = pc.replace_substring(texts, scale, f"e{SCALES[scale]}")
        return texts

    def in_words(self) -> str:
        """How the column is read."""
        words = "numbers"
        if self.unit:
            unit = UNIT_WORDS.get(self.unit, self.unit)
            words = "percentages" if self.unit == "%" else f"numbers in {unit}"
            most = _MOST.fullmatch(self.unit)
            words = f"numbers out of {most[1]}" if most else words
        if self.unit in CURRENCIES:
            words = f"{self.unit} {_RATE_SIGN.sub('per ', self.rate)}".strip()
        told = [(scale, SCALE_WORDS[SCALES[scale]]) for scale in self.scales]
        scales = [f"{scale} as {word}" for scale, word in told if f"{scale.lower()}s" != word]
        scaled = f", {join_words(scales)}" if scales else ""
        shape = shape_of(self.bound)
        example = f"{self.bound} as {shape.digits}" if shape else ">5 and <5 as 5"
        bounds = f", {example}" if self.has_bounds else ""
        comma = ", with decimal commas" if self.decimal == "," else ""
        return f"text read as {words}{scaled}{bounds}{comma}"

    def note(self, *names: str) -> Sentence:
        """That thousands or decimals are a guess."""
        here, there = (
            float(one.read(pa.array([self.was_open]))[0].as_py() or 0)
            for one in (self, self.other())
        )
        return Sentence(
            f"{named(names)}: {self.was_open!r} is read as "
            f"{here:,.10g}, though no value of the {'column' if len(names) == 1 else 'columns'} "
            f"settles it; if it means {there:,.10g}, say so with ",
            Setting("decimal_comma", self.decimal == "."),
            ".",
        )

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        header = {"has_bounds": False, "scales": [], "shows_mark": False, **header}
        header = {"rate": "", "bound": "", **header}
        return cls(
            decimal=field(header, "decimal", lambda value: value in (".", ",")),
            unit=field(header, "unit", lambda value: is_text(value) and len(value) < 2 * MAX_UNIT),
            is_scaled=field(header, "is_scaled", _is_flag),
            was_open=field(header, "was_open", lambda value: is_text(value) and len(value) < 200),
            has_bounds=field(header, "has_bounds", _is_flag),
            scales=tuple(field(header, "scales", _are_scales)),
            rate=field(header, "rate", lambda value: is_text(value) and len(value) <= MAX_UNIT),
            bound=field(header, "bound", lambda value: is_text(value) and len(value) < 200),
            shows_mark=field(header, "shows_mark", _is_flag),
        )


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _are_scales(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(one in list(SCALES) for one in value)


def learn_numbers(
    texts: Sequence[str], decimal_comma: bool | None, *, may_be_codes: bool
) -> NumberReading | None:
    """How distinct texts are read as numbers; None if they are not numbers.

    Parameters
    ----------
    texts : sequence of str
        Distinct, without blanks around them and without markers of missing values.
    decimal_comma : bool, optional
        Whether commas are decimal marks, if that is known.
    may_be_codes : bool
        Whether a few whole numbers are codes, as the table could have stored them as numbers.
    """
    shapes = [shape for shape in map(shape_of, texts) if shape is not None]
    if not shapes or len(shapes) < DISTINCT_SHARE * len(texts):
        return None
    n_bounds = sum(shape.is_bound for shape in shapes)
    if 2 * n_bounds > len(shapes):  # <18, 65+: names of groups
        return None
    shapes = _with_letters_as_units(shapes)
    unit = _common_unit(shapes)
    rates = Counter(shape.rate.casefold() for shape in shapes).most_common()
    if unit is None or rates[0][1] < READ_SHARE * len(shapes):
        return None
    scales = {shape.scale for shape in shapes} - {""}
    if not unit and not scales:
        if any(is_code(text) for text in texts):
            return None
        if may_be_codes and _are_codes(texts):
            return None
    decimal, was_open = _decimal(shapes, texts, decimal_comma)
    return NumberReading(
        decimal,
        unit,
        bool(scales),
        was_open,
        has_bounds=n_bounds > 0,
        scales=tuple({SCALES[one]: one for one in sorted(scales, key=_by_size)}.values()),
        shows_mark=any(decimal_of(shape.digits) == decimal for shape in shapes),
        rate=rates[0][0],
        bound=next((text for text in texts if _is_bound(text)), ""),
    )


def _is_bound(text: str) -> bool:
    shape = shape_of(text)
    return shape is not None and shape.is_bound


def _by_size(scale: str) -> tuple[int, str]:
    return SCALES[scale], scale


def _are_codes(texts: Sequence[str]) -> bool:
    """Whether whole numbers are few, or all of the same length as zip codes are."""
    if not all(text.isdigit() for text in texts):
        return False
    lengths = {len(text) for text in texts}
    return len(texts) <= FEW_CODES or (len(lengths) == 1 and min(lengths) >= CODE_LENGTH)


def _with_letters_as_units(shapes: list[Shape]) -> list[Shape]:
    """Shapes in which a single small letter everywhere is a unit: 5 m are metres."""
    scales = {shape.scale for shape in shapes} - {""}
    if len(scales) != 1 or not scales <= {"m", "b", "T"} or any(shape.unit for shape in shapes):
        return shapes
    return [shape._replace(unit=shape.scale, scale="") for shape in shapes]


def _common_unit(shapes: list[Shape]) -> str | None:
    """The unit of nearly all numbers, "" if nearly none has one; None if they differ."""
    counts = Counter(CURRENCY_OF.get(shape.unit.casefold(), shape.unit) for shape in shapes)
    unit, _ = counts.most_common(1)[0]
    same = sum(n for other, n in counts.items() if _singular(other) == _singular(unit))
    return unit if same >= READ_SHARE * len(shapes) else None


def _singular(unit: str) -> str:
    return unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit


def _decimal(
    shapes: list[Shape], texts: Sequence[str], decimal_comma: bool | None
) -> tuple[str, str]:
    """The decimal mark, and a text that leaves it open if all do."""
    found = Counter(decimal_of(shape.digits) for shape in shapes)
    if decimal_comma is not None:
        return "," if decimal_comma else ".", ""
    if found[","] != found["."]:
        return (",", "") if found[","] > found["."] else (".", "")
    with_comma = [text for text in texts if "," in text]
    return ".", with_comma[0] if found["?"] and with_comma and not found["."] else ""
