"""Axes of SVG pictures, and what all pictures have in common."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

WIDTH, HEIGHT = 320, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 36  # margins of the axes
N_COLOURS = 10  # of the style sheet
ROUND_ENDS = (1, 2, 3, 4, 5, 6, 8, 10)  # times a power of ten


class Axis(NamedTuple):
    """From values to places in the picture."""

    ticks: list[float]
    place: Callable[[float], float]


def linear_axis(
    values: Sequence[float], start: float, end: float, ticks: Sequence[float] | None
) -> Axis:
    """Values at even distances; without ticks those of shares."""
    low, high = min(values), max(values)
    if ticks is None:
        step = next(s for s in (0.05, 0.1, 0.2, 0.5, 1) if s >= (high - low) / 4 or s == 1)
        low, high = step * np.floor(low / step), step * np.ceil(high / step)
        high = high if high > low else low + step
        ticks = list(np.arange(low, high + step / 2, step))
    span = (high - low) or 1.0

    def place(value: float) -> float:
        inside = min(high, max(low, value))
        return float(start + (inside - low) / span * (end - start))

    return Axis(list(ticks), place)


def nice_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two values, about five of them."""
    step = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(step))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= step * 0.999)
    ticks = step * np.arange(np.ceil(low / step), np.floor(high / step + 1e-9) + 1)
    return [float(tick) for tick in np.round(ticks, 12) + 0.0]


def share_end(shares: Iterable[float]) -> float:
    """A round number at which an axis of shares can end; those that are not known don't count."""
    highest = max((share for share in shares if np.isfinite(share)), default=1.0)
    if highest <= 0:
        return 1.0
    power = int(np.floor(np.log10(highest)))
    ends = (float(f"{factor}e{power}") for factor in ROUND_ENDS)
    return min(1.0, next(end for end in ends if highest <= end * (1 + 1e-9)))


def log_axis(
    values: Sequence[float], start: float, end: float, ticks: Sequence[float] | None
) -> Axis:
    """Powers of ten at even distances."""
    logs = np.log10([value for value in values if value > 0])
    low, high = np.floor(logs.min() + 1e-9), np.ceil(logs.max() - 1e-9)
    high = max(high, low + 1)
    powers = [10.0**power for power in np.arange(low, high + 1)]

    def place(value: float) -> float:
        exponent = np.log10(max(value, 10.0**low))
        return float(start + (exponent - low) / (high - low) * (end - start))

    return Axis(powers, place)


def grid(x: Axis, y: Axis) -> str:
    """Lines at all ticks, and their numbers."""
    parts = []
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    last = -np.inf
    for tick in x.ticks:
        at = x.place(tick)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{bottom}"/>')
        if at - last > 24:  # numbers must not overlap
            parts.append(text(at, bottom + 14, number(tick), "middle"))
            last = at
    for tick in y.ticks:
        at = y.place(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(text(LEFT - 6, at + 4, number(tick), "end"))
    return "".join(parts)


def axis_labels(x_label: str, y_label: str) -> str:
    """What the axes show."""
    return text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, x_label, "middle") + (
        f'<text text-anchor="middle" transform="translate(10 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) '
        f'rotate(-90)">{escape(y_label)}</text>'
    )


def svg(title: str, height: float, parts: list[str]) -> str:
    """The parts as one picture."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


def text(x: float, y: float, text: str, anchor: str) -> str:
    """Text in a picture."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def number(value: float) -> str:
    """A number on an axis."""
    if value >= 1000:
        return f"{value / 1000:g}k" if value < 1e6 else f"{value / 1e6:g}M"
    return f"{value:.3g}"
