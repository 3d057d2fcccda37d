"""Figures as SVG; colours come from the page's style sheet."""

from collections.abc import Sequence

import numpy as np

from devnet.core.wording import interval_text, tick_text
from devnet.experiments.figure import Panel, Point, Series
from devnet.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    N_COLOURS,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    axis_labels,
    band,
    circle,
    grid,
    line_across,
    line_up,
    linear_axis,
    log_axis,
    nice_ticks,
    polyline,
    svg,
    text,
    tight_log_axis,
)

ROW, LANE = 26, 9  # least height of a category, and of each series in it
CATEGORY_LEFT = 74


def chart(panel: Panel, among: Sequence[Panel] = ()) -> str:
    """A panel as an SVG element, without its title and legend.

    Parameters
    ----------
    panel : Panel
    among : sequence of Panel, optional
        All that share a legend with it.
    """
    draw = _dots if panel.categories else _lines
    return draw(panel, _colours(among or [panel]))


def _lines(panel: Panel, colours: dict[str, int]) -> str:
    points = [point for series in panel.series for point in series.points if _is_drawn(point)]
    xs = sorted({point.x for point in points})
    ends = ("y", "low", "high") if panel.has_bands else ("y",)
    ys = [v for p in points for v in (getattr(p, end) for end in ends) if np.isfinite(v)]
    x_axis = log_axis if panel.is_log else linear_axis
    x = (tight_log_axis if panel.is_log_x else x_axis)(xs, LEFT, WIDTH - RIGHT, xs)
    y = _upwards(panel, ys)
    parts = [grid(x, y), axis_labels(panel.x_label, panel.y_label)]
    for series in panel.series:
        parts.append(_line(series, colours[_owner(series)], x, y, has_band=panel.has_bands))
    return svg(panel.title, parts)


def _upwards(panel: Panel, values: list[float]) -> Axis:
    """The axis of what a panel measures: counts from 0, shares, or powers of ten."""
    if panel.is_log:
        return log_axis(values, HEIGHT - BOTTOM, TOP, None)
    if panel.is_count:
        ends = 0.0, max([1.0, *values])
        return linear_axis(ends, HEIGHT - BOTTOM, TOP, nice_ticks(*ends))
    shares = [min(1.0, max(0.0, value)) for value in values]
    return linear_axis(shares, HEIGHT - BOTTOM, TOP, None)


def _dots(panel: Panel, colours: dict[str, int]) -> str:
    """Categories run downwards; values from 0 to 1 run to the right."""
    n_lanes = max(1, sum(not series.is_reference for series in panel.series))
    row_height = max(ROW, LANE * (n_lanes + 1))
    height = TOP + row_height * len(panel.categories) + BOTTOM
    x = linear_axis([0.0, 1.0], CATEGORY_LEFT, WIDTH - RIGHT, [0, 0.25, 0.5, 0.75, 1])
    parts = []
    for tick in x.ticks:
        at = x.position(tick)
        parts.append(line_up("grid", at, TOP, height - BOTTOM))
        parts.append(text(at, height - BOTTOM + 14, tick_text(tick), "middle"))
    for row, name in enumerate(panel.categories):
        parts.append(text(CATEGORY_LEFT - 8, TOP + row_height * (row + 0.5) + 4, name, "end"))
    parts.append(text((CATEGORY_LEFT + WIDTH) / 2, height - 6, panel.x_label, "middle"))
    lane = -1
    for series in panel.series:
        colour = colours[_owner(series)]
        lane += not series.is_reference
        offset = (max(lane, 0) + 1) / (n_lanes + 1)
        for point in series.points:
            at = TOP + row_height * (point.x + offset)
            label = f"{panel.categories[int(point.x)]}, {series.name}"
            parts.append(_dot(point, x, at, colour, series, label))
    return svg(panel.title, parts, height=height)


def _dot(point: Point, x: Axis, at: float, colour: int, series: Series, label: str) -> str:
    kind = f"c{colour} hollow" if series.is_reference else f"c{colour}"
    dot = circle(kind, x.position(point.y), at, 4, f"{label}: {_value(point)}")
    if not np.isfinite(point.low):
        return dot
    low, high = (f"{x.position(end):.1f}" for end in (point.low, point.high))
    return line_across(f"c{colour}", at, low, high) + dot


def _line(series: Series, colour: int, x: Axis, y: Axis, *, has_band: bool) -> str:
    points = [point for point in series.points if _is_drawn(point)]
    kind = f"c{colour} dashed" if series.is_reference else f"c{colour}"
    parts = [polyline(kind, x, y, [p.x for p in points], [p.y for p in points])]
    banded = [point for point in points if np.isfinite(point.low) and np.isfinite(point.high)]
    if banded and has_band:
        edges = ([p.x for p in banded], [p.low for p in banded], [p.high for p in banded])
        parts.insert(0, band(colour, x, y, *edges))
    if not series.is_reference:
        for p in points:
            title = f"{series.name}, {tick_text(p.x)}: {_value(p)}"
            parts.append(circle(f"c{colour}", x.position(p.x), y.position(p.y), 3, title))
    return "".join(parts)


def legend(panels: Sequence[Panel]) -> list[tuple[int, Series]]:
    """What the colours mean in these panels, of which some may not have all series."""
    colours = _colours(panels)
    found: dict[str, Series] = {}
    for panel in _fullest_first(panels):
        for series in panel.series:
            found.setdefault(series.name, series)
    return [(colours[_owner(series)], series) for series in found.values()]


def _colours(panels: Sequence[Panel]) -> dict[str, int]:
    """The same for a name in all panels, and different ones for names as far as they go."""
    names = dict.fromkeys(_owner(s) for panel in _fullest_first(panels) for s in panel.series)
    return {name: number % N_COLOURS for number, name in enumerate(names)}


def _fullest_first(panels: Sequence[Panel]) -> list[Panel]:
    return sorted(panels, key=lambda panel: -len(panel.series))


def _owner(series: Series) -> str:
    """Whose colour a series has: a method's published figures have that of the method."""
    return series.of or series.name


def _is_drawn(point: Point) -> bool:
    return bool(np.isfinite(point.y))


def _value(point: Point) -> str:
    return interval_text(point.y, point.low, point.high)
