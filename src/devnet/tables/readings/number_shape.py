"""The shape of one number as people write it, and which of its marks is the decimal one."""

import re
from typing import NamedTuple

from devnet.tables.columns.identifiers import LONG_DIGITS
from devnet.tables.readings.currencies import CURRENCY_OF, SIGNS

SPACES = " \u00a0\u202f\u2009'’"  # between thousands, besides points or commas
MINUS = "−–-"  # the last one at the end, as in a class of characters
SCALES = {"k": 3, "K": 3, "m": 6, "M": 6, "mn": 6, "B": 9, "b": 9, "bn": 9, "T": 12}
SCALE_WORDS = {3: "thousands", 6: "millions", 9: "billions", 12: "trillions"}
SCALES |= {word: size for size, words in SCALE_WORDS.items() for word in (words[:-1],)}
SCALES |= {word.title(): size for word, size in SCALES.items() if len(word) > 2}
MAX_UNIT = 15  # characters
_CURRENCY = "|".join(map(re.escape, SIGNS))
_SHAPE = re.compile(
    rf"(?P<open>\()?\s*[+{MINUS}]?\s*(?P<before>{_CURRENCY})?\s*[+{MINUS}]?\s*"
    rf"(?P<digits>\d(?:[\d.,{SPACES}]*\d)?[.,]?|[.,]\d+)"
    r"(?P<exponent>[eE][-+]?\d+)?\s*(?P<behind>[^\d\s().,+\-−–][^()]*)?"
    r"(?P<minus>-)?(?P<close>\))?",
    re.IGNORECASE,
)
_SIGNED = re.compile(rf"\D*[(+{MINUS}]")
_BOUND = re.compile(r"([<>]=?|[≤≥~≈])\s*")
_DATE = re.compile(r"\s\d+$|\d{4}")  # März 2020, which is no unit
_MOST = re.compile(r"(?:/|(?:out )?of) ?\d{1,3}")  # 7 of 10, 4.5 out of 5
_RATE = re.compile(r"(?:/|per |an? |p\. ?)\s*[a-z. ]+", re.IGNORECASE)  # $5/hr, $5 per month
_OUTSIDE = re.compile(rf"\s*({_CURRENCY})\s*\(", re.IGNORECASE)  # $(5.00) instead of ($5.00)


class Shape(NamedTuple):
    """A number taken apart."""

    digits: str  # with separators
    unit: str  # "" if there is none
    scale: str  # "k" in 1.2k
    is_bound: bool = False  # >808, ~10, 65+
    rate: str = ""  # "/hr" in $5/hr


def shape_of(text: str) -> Shape | None:
    """The parts of a number; None if the text is not one."""
    bare = _BOUND.sub("", text, count=1) if _BOUND.match(text) else text.removesuffix("+")
    match = _SHAPE.fullmatch(_OUTSIDE.sub(r"(\1", bare))
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    if match["minus"] and _SIGNED.match(bare):
        return None
    before, behind = match["before"] or "", (match["behind"] or "").strip()
    scale = ""
    word, _, rest = behind.partition(" ")
    if word in SCALES and (before or not rest or rest.casefold() in CURRENCY_OF):
        scale, behind = word, rest.strip()
    elif behind[:1] in SCALES and behind[1:].casefold() in CURRENCY_OF:  # 1.2k€
        scale, behind = behind[0], behind[1:]
    rate = behind if before and _RATE.fullmatch(behind) else ""
    is_wrong = bool(_DATE.search(behind)) and not _MOST.fullmatch(behind)
    is_wrong |= behind[:1].isalpha() and match["digits"][-1] in ".,"  # 2. Married
    if len(behind) > MAX_UNIT or (before and behind != rate) or is_wrong:
        return None
    return Shape(match["digits"], before or behind, scale, bare != text, rate)


def decimal_of(digits: str) -> str | None:
    """The mark that must be the decimal one: "." or ","; "?" if "1,234" leaves it open.

    None if there is no such mark, "x" if the marks make no sense.
    """
    marks = re.sub(r"[^.,]", "", digits)
    if not marks:
        return None
    last = marks[-1]
    if len(set(marks)) == 2:
        if marks.count(last) > 1:
            return "x"
        return last
    if len(marks) > 1:
        return "," if last == "." else "."
    whole, _, fraction = digits.partition(last)
    is_group = len(fraction) == 3 and 1 <= len(whole) <= 3 and whole[0] != "0"
    return "?" if is_group else last


def is_code(digits: str) -> bool:
    """Whether digits are a code or name rather than a quantity: 007, or 15 digits and more."""
    if not digits.isdigit():
        return False
    return len(digits) >= LONG_DIGITS or (
        len(digits) > 1 and digits[0] == "0" and digits.strip("0") != ""
    )
