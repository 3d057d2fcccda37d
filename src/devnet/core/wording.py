"""Numbers, shares and names as people write them."""

import os
import re
from collections.abc import Callable, Sequence
from math import floor, isfinite, log10
from typing import Any

MAX_SHOWN = 40  # characters of a text
UNKNOWN = "unknown"
_OPENING = re.compile(  # words that begin our sentences, and no name
    r"(a|an|another|model|neither|no|nobody|not|nothing|only|the|there|this|your) "
)
_UNSEEN = re.compile(  # control characters, marks of direction, ends of lines, halves of characters
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def number_text(value: float) -> str:
    """A number with at most four digits, or rounded to a whole one, with thousands separators.

    >>> [number_text(value) for value in (9120.4, 0.00123, 74.5, 2.5e20, -3)]
    ['9,120', '0.00123', '74.5', '2.5e+20', '-3']
    """
    size = abs(value)
    if size < 1e15 and (size >= 1000 or value == int(value)):
        return f"{value + 0:,.0f}"
    return f"{value:.4g}"


def share_text(share: float) -> str:
    """A share in percent.

    >>> [share_text(share) for share in (0.61, 0.003, 0.00001, 0.9999, 1)]
    ['61%', '0.3%', 'under 0.01%', 'over 99%', '100%']
    """
    if 0 < share < 1e-4:
        return "under 0.01%"
    if 0.995 <= share < 1:
        return "over 99%"
    if 0 < share < 0.0095:
        return f"{100 * share:.1g}%"
    return f"{100 * share:.0f}%"


def contribution_text(part: float) -> str:
    """What a column adds to a score: with its sign, and at least one decimal.

    >>> contribution_text(3.14159), contribution_text(-0.0123), contribution_text(751.2)
    ('+3.1', '-0.01', '+751.2')
    """
    return f"{part:+,.{1 if abs(part) >= 1 else 2}f}"


def if_known(value: float, write: Callable[[float], str] = number_text) -> str:
    """A number as `write` writes it, if it is finite.

    >>> if_known(0.5, share_text), if_known(float("nan"))
    ('50%', 'unknown')
    """
    return write(float(value)) if isfinite(value) else UNKNOWN


def score_text(score: float) -> str:
    """A score with two decimals, or with four digits where two decimals would not do.

    >>> [score_text(score) for score in (10.7, 0.00123, 4321.5)]
    ['10.70', '0.00123', '4,322']
    """
    return f"{score:.2f}" if 0.1 <= abs(score) < 1000 else if_known(score)


def scores_text(row: str, score: str = "") -> str:
    """That a row scores something.

    >>> scores_text("a typical row"), scores_text("a typical row, without text", "1.20")
    ('a typical row scores', 'a typical row, without text, scores 1.20')
    """
    return f"{row}{',' if ',' in row else ''} scores {score}".rstrip()


def p_value_text(p_value: float) -> str:
    """A p-value with two significant digits and no exponent.

    >>> p_value_text(0.25), p_value_text(0.00001234)
    ('0.25', '0.000012')
    """
    return f"{p_value:.{max(2, 1 - floor(log10(p_value)))}f}"


def one_in_text(p_value: float) -> str:
    """A p-value as the number of rows it takes to find one that scores as high.

    >>> one_in_text(0.00123), one_in_text(0.3), one_in_text(0.0)
    ('1 in 813', '30%', 'unknown')
    """
    if not 0 < p_value <= 1:
        return UNKNOWN
    return share_text(p_value) if p_value > 0.05 else f"1 in {float(f'{1 / p_value:.3g}'):,.0f}"


def decimals_text(value: float, decimals: int) -> str:
    """A number in a table: a dash for what is not known, and never minus zero.

    >>> decimals_text(-0.0004, 3), decimals_text(float("nan"), 3)
    ('0.000', '-')
    """
    return f"{round(value, decimals) + 0.0:.{decimals}f}" if value == value else "-"


def range_text(low: float, high: float, form: str = ".3f") -> str:
    """A range, by its ends.

    >>> range_text(0.25, 0.5), range_text(0.25, 0.5, ".0%")
    ('0.250 to 0.500', '25% to 50%')
    """
    return f"{low:{form}} to {high:{form}}"


def interval_text(value: float, low: float, high: float, form: str = ".3f") -> str:
    """A value with its interval, if that is known.

    >>> interval_text(0.4, 0.25, 0.5, ".2f"), interval_text(0.4, float("nan"), float("nan"), ".2f")
    ('0.40 (0.25 to 0.50)', '0.40')
    """
    return f"{value:{form}}" + (f" ({range_text(low, high, form)})" if isfinite(low) else "")


def count_text(number: int, one: str, many: str) -> str:
    """A number with its noun.

    >>> count_text(1, "row", "rows"), count_text(1200, "row", "rows")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {one if number == 1 else many}"


def tick_text(value: float) -> str:
    """A number on an axis.

    >>> [tick_text(value) for value in (0.25, 20_000, 3_000_000)]
    ['0.25', '20k', '3M']
    """
    if value >= 1000:
        return f"{value / 1000:g}k" if value < 1e6 else f"{value / 1e6:g}M"
    return f"{value:.3g}"


def duration_text(seconds: float) -> str:
    """A time.

    >>> duration_text(59.4), duration_text(61), duration_text(3_725)
    ('59 s', '1 min 01 s', '1 h 02 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def megabytes_text(n_bytes: float) -> str:
    """A size.

    >>> megabytes_text(1_234_567)
    '1.2 MB'
    """
    return f"{n_bytes / 1e6:.1f} MB"


def parameter_text(value: Any) -> str:
    """A parameter's value.

    >>> parameter_text(True), parameter_text(None), parameter_text(0.50), parameter_text("auto")
    ('yes', 'not set', '0.5', 'auto')
    """
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def cut(text: str, size: int = MAX_SHOWN) -> str:
    """A text, or its beginning.

    >>> cut("a long text", 8)
    'a lon...'
    """
    return text if len(text) <= size else text[: size - 3] + "..."


def capitalised(text: str) -> str:
    """A text with a capital, as sentences begin; a name at its beginning stays as it is.

    >>> capitalised("there is no row 7."), capitalised("lena started this already.")
    ('There is no row 7.', 'lena started this already.')
    """
    return text[:1].upper() + text[1:] if _OPENING.match(text) else text


def join_words(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    >>> join_words(["one"]), join_words(["one", "two", "three"])
    ('one', 'one, two and three')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def some_names(names: Sequence[str], most: int) -> str:
    """Names, or the first of them and how many others there are.

    >>> some_names(["a", "b"], 2), some_names(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 others')
    """
    n_others = len(names) - most
    rest = f" and {count_text(n_others, 'other', 'others')}" if n_others > 0 else ""
    return ", ".join(names[:most]) + rest


def visible(text: str) -> str:
    r"""A text from outside, on one line, in which nothing acts on a terminal or turns text around.

    Control and direction characters are written out as Python writes them.

    >>> visible("a\x1b[2J\nb\u202ec") == r"a\x1b[2J\nb\u202ec"
    True
    """
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def shown(name: str) -> str:
    """A column's name in a sentence; quoted where it would not be recognised as a name."""
    return cut(name) if name.strip() == name != "" and name.isprintable() else repr(cut(name))


def path_text(path: str | os.PathLike[str]) -> str:
    r"""A path in a sentence: `visible`, and bytes that are not UTF-8 are written out.

    >>> path_text("caf\udce9.csv"), path_text("two\nlines.csv")
    ('caf\\xe9.csv', 'two\\nlines.csv')
    """
    return visible(os.fsencode(path).decode(errors="backslashreplace"))


def missing_text(name: str, share: float) -> str:
    """That a value is missing, and how often it was in training."""
    often = f"as in {share_text(share)} of rows" if share else "as in no row of the training table"
    return f"{shown(name)} is missing ({often})"


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
