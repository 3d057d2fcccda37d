"""Numbers, shares and names as people write them."""

MAX_SHOWN = 40  # characters of a text


def number_text(value: float) -> str:
    """A number in at most four digits, or whole, with thousands separators.

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


def cut(text: str, size: int = MAX_SHOWN) -> str:
    """A text, or its beginning.

    >>> cut("a long text", 8)
    'a lon...'
    """
    return text if len(text) <= size else text[: size - 3] + "..."


def shown(name: str) -> str:
    """A column's name in a sentence; in quotes where it would not be seen as a name."""
    return cut(name) if name.strip() == name != "" and name.isprintable() else repr(cut(name))


def missing_text(name: str, share: float) -> str:
    """That a value is missing, and how often that was so."""
    often = f"as in {share_text(share)} of rows" if share else "as in no row of the training table"
    return f"{shown(name)} is missing ({often})"


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def contribution_text(part: float) -> str:
    """What a column adds to a score: with its sign, and one digit after the point at least.

    >>> contribution_text(3.14159), contribution_text(-0.0123), contribution_text(751.2)
    ('+3.1', '-0.01', '+751.2')
    """
    return f"{part:+,.{1 if abs(part) >= 1 else 2}f}"
