"""Numbers and values as people write them, in the words of tables."""

from typing import Any

import numpy as np

from devnet.core.wording import cut, number_text, share_text

LONGEST = 160  # characters of a foreign text that a page shows


def in_digits(value: float) -> str:
    """A number, if it is known."""
    return number_text(float(value)) if np.isfinite(value) else "unknown"


def score_text(score: float) -> str:
    """A score with two decimals, as commands show it, where these say enough."""
    return f"{score:.2f}" if 0.1 <= abs(score) < 1000 else in_digits(score)


def in_percent(share: float) -> str:
    """A share in percent, if it is known."""
    return share_text(float(share)) if np.isfinite(share) else "unknown"


def with_sign(value: float) -> str:
    """What is added to a score, in about two digits."""
    if not np.isfinite(value):
        return "unknown"
    return (f"{value:+,.0f}" if abs(value) >= 10 else f"{value:+.2g}").replace("-", "−")


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
    return cut(str(text), LONGEST)
