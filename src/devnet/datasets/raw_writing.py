"""Numbers and dates as people write them: $1,234.50, 1.234,50 €, 12.5%, 04/23/2017 08:38 AM."""

from typing import Any

DATES = {
    "US date": "%m/%d/%Y",
    "US time": "%m/%d/%Y %I:%M %p",
    "European date": "%d/%m/%Y",
    "month-name date": "%B %d, %Y",
    "time with month name": "%d-%b-%Y %H:%M",
}


def write(values: Any, style: str) -> Any:
    """A column in a style: a date format, `dollars`, `euros`, `percent`, `thousands` or a unit.

    Missing values stay missing.
    """
    if style in DATES:
        return _texts(values, values.dt.strftime(DATES[style]))
    decimals = 0 if (values.dropna() % 1 == 0).all() else 2
    if style == "percent":
        return _texts(values, values.map(lambda value: f"{value:g}%"))
    plain = values.map(lambda value: f"{value:,.{decimals}f}")
    if style == "dollars":
        return _texts(values, values.map(lambda value: _dollars(value, decimals)))
    if style == "euros":
        return _texts(values, plain.map(_continental) + " €")
    return _texts(values, plain if style == "thousands" else plain + f" {style}")


def _texts(values: Any, written: Any) -> Any:
    return written.astype(object).where(values.notna(), None)


def _dollars(value: float, decimals: int) -> str:
    sign = "-" if value < 0 else ""
    return f"{sign}${abs(value):,.{decimals}f}"


def _continental(text: str) -> str:
    """Points and commas swapped: 1.234,50."""
    return text.translate(str.maketrans(",.", ".,"))
