"""Numbers and values as people write them."""

from typing import Any

import numpy as np

LONGEST = 160  # characters of a foreign text that a page shows


def in_digits(value: float) -> str:
    """A number in about three digits, thousands apart."""
    if not np.isfinite(value):
        return "unknown"
    if abs(value) >= 100 or value == int(value):
        return f"{value + 0.0:,.0f}"  # no minus before a zero
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def in_percent(share: float) -> str:
    """A share as a percentage; little is never shown as nothing."""
    if not np.isfinite(share):
        return "unknown"
    if 0 < share < 0.0001:
        return "< 0.01%"
    digits = 0 if share >= 0.1 or share == 0 else 1 if share >= 0.01 else 2
    return f"{100 * share:.{digits}f}%"


def one_in(p_value: float) -> str:
    """A p-value as how many rows there are for one that scores as high."""
    if not 0 < p_value <= 1:
        return "unknown"
    return in_percent(p_value) if p_value > 0.05 else f"1 in {float(f'{1 / p_value:.3g}'):,.0f}"


def in_words(value: Any) -> str:
    """A parameter's value."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else short(str(value))


def short(text: Any) -> str:
    """A text that does not break a page, however long it is."""
    text = str(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
