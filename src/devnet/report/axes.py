"""Axes of SVG pictures, and the shapes that all pictures are drawn from."""

from collections.abc import Callable, Iterable, Sequence
from html import escape as escape_html
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from devnet.core.wording import tick_text, visible

WIDTH, HEIGHT = 320, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 36  # margins of the axes
N_COLOURS = 10  # of the style sheet
ROUND_ENDS = (1, 2, 3, 4, 5, 6, 8, 10)  # times a power of ten


class Axis(NamedTuple):
    """From values to positions in the picture."""

    ticks: list[float]
    position: Callable[[float], float]


def linear_axis(
    values: Sequence[float], start: float, end: float, ticks: Sequence[float] | None
) -> Axis:
    """Evenly spaced values; by default the ticks are those of shares."""
    low, high = min(values), max(values)
    if ticks is None:
        step = next(s for s in (0.05, 0.1, 0.2, 0.5, 1) if s >= (high - low) / 4 or s == 1)
        low, high = step * np.floor(low / step), step * np.ceil(high / step)
        high = high if high > low else low + step
        ticks = list(np.arange(low, high + step / 2, step))
    span = (high - low) or 1.0

    def position(value: float) -> float:
        inside = min(high, max(low, value))
        return float(start + (inside - low) / span * (end - start))

    return Axis(list(ticks), position)


def log_axis(
    values: Sequence[float], start: float, end: float, ticks: Sequence[float] | None
) -> Axis:
    """Evenly spaced powers of ten."""
    logs = np.log10([value for value in values if value > 0])
    low, high = np.floor(logs.min() + 1e-9), np.ceil(logs.max() - 1e-9)
    high = max(high, low + 1)
    powers = [10.0**power for power in np.arange(low, high + 1)]

    def position(value: float) -> float:
        exponent = np.log10(max(value, 10.0**low))
        return float(start + (exponent - low) / (high - low) * (end - start))

    return Axis(powers, position)


def tight_log_axis(
    values: Sequence[float], start: float, end: float, ticks: Sequence[float]
) -> Axis:
    """Positive values from the smallest to the largest, evenly spaced by their ratios."""
    low, high = np.log(min(values)), np.log(max(values))
    span = (high - low) or 1.0
    return Axis(
        list(ticks), lambda value: float(start + (np.log(value) - low) / span * (end - start))
    )


def nice_ticks(low: float, high: float) -> list[float]:
    """About five round numbers between two values."""
    step = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(step))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)
    ticks = step * np.arange(np.ceil(low / step), np.floor(high / step + 1e-9) + 1)
    return [float(tick) for tick in np.round(ticks, 12) + 0.0]


def share_end(shares: Iterable[float]) -> float:
    """A round number at which an axis of shares can end; unknown shares do not count."""
    highest = max((share for share in shares if np.isfinite(share)), default=1.0)
    if highest <= 0:
        return 1.0
    power = int(np.floor(np.log10(highest)))
    ends = (float(f"{factor}e{power}") for factor in ROUND_ENDS)
    return min(1.0, next(end for end in ends if highest <= end * (1 + 1e-9)))


def grid(x: Axis, y: Axis) -> str:
    """Lines at all ticks, and their numbers."""
    parts = []
    bottom = HEIGHT - BOTTOM
    last = -np.inf
    for tick in x.ticks:
        at = x.position(tick)
        parts.append(line_up("grid", at, TOP, bottom))
        if at - last > 24:  # numbers must not overlap
            parts.append(text(at, bottom + 14, tick_text(tick), "middle"))
            last = at
    for tick in y.ticks:
        at = y.position(tick)
        parts.append(line_across("grid", at, LEFT, WIDTH - RIGHT))
        parts.append(text(LEFT - 6, at + 4, tick_text(tick), "end"))
    return "".join(parts)


def axis_labels(x_label: str, y_label: str) -> str:
    """What the axes show."""
    middle = (TOP + HEIGHT - BOTTOM) / 2
    across = text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, x_label, "middle")
    return across + side_label(y_label, middle)


def side_label(words: str, at: float) -> str:
    """Text along the left edge, read upwards."""
    turned = f'transform="translate(10 {at:.0f}) rotate(-90)"'
    return f'<text text-anchor="middle" {turned}>{escape(words)}</text>'


def line_up(kind: str, at: float, top: float, bottom: float, inside: str = "") -> str:
    """A vertical line of a class of the style sheet."""
    return _line(f'class="{kind}" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"', inside)


def line_across(kind: str, at: float, left: float | str, right: float | str) -> str:
    """A horizontal line."""
    return _line(f'class="{kind}" x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"', "")


def _line(attributes: str, inside: str) -> str:
    return f"<line {attributes}>{inside}</line>" if inside else f"<line {attributes}/>"


def polyline(kind: str, x: Axis, y: Axis, across: ArrayLike, up: ArrayLike) -> str:
    """A line through points."""
    return f'<polyline class="{kind}" points="{" ".join(_points(x, y, across, up))}"/>'


def band(colour: int, x: Axis, y: Axis, across: ArrayLike, low: ArrayLike, high: ArrayLike) -> str:
    """The area between two lines."""
    edge = [*_points(x, y, across, high), *reversed(_points(x, y, across, low))]
    return f'<polygon class="band c{colour}" points="{" ".join(edge)}"/>'


def circle(kind: str, x: float, y: float, radius: float, title: str = "") -> str:
    """A dot, with a text that shows on hover."""
    attributes = f'class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"'
    return f"<circle {attributes}><title>{escape(title)}</title></circle>"


def _points(x: Axis, y: Axis, across: ArrayLike, up: ArrayLike) -> list[str]:
    pairs = zip(np.asarray(across), np.asarray(up), strict=True)
    return [f"{x.position(a):.1f},{y.position(b):.1f}" for a, b in pairs]


def text(x: float, y: float, text: str, anchor: str) -> str:
    """Text in a picture."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def escape(text: str) -> str:
    """Text in an element or an attribute of a picture; what would not show is written out."""
    return escape_html(visible(text))


def svg(title: str, parts: Sequence[str], width: float = WIDTH, height: float = HEIGHT) -> str:
    """The parts as one picture."""
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )
