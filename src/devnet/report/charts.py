"""Figures as SVG text; colours come from the page's style sheet."""

from collections.abc import Sequence
from html import escape

import numpy as np

from devnet.experiments.figures import Panel, Point, Series
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
    grid,
    linear_axis,
    log_axis,
    number,
    svg,
    text,
)

ROW, LANE = 26, 9  # least height of a category, and of each series in it
CATEGORY_LEFT = 74


def chart(panel: Panel) -> str:
    """A panel as an SVG element, without its title and legend."""
    return _dots(panel) if panel.categories else _lines(panel)


def _lines(panel: Panel) -> str:
    points = [point for series in panel.series for point in series.points if _is_drawn(point)]
    xs = sorted({point.x for point in points})
    ys = [v for p in points for v in (p.y, p.low, p.high) if np.isfinite(v)]
    if not panel.is_log:
        ys = [min(1.0, max(0.0, value)) for value in ys]  # shares, as are the AUCs
    make = log_axis if panel.is_log else linear_axis
    x = make(xs, LEFT, WIDTH - RIGHT, xs)
    y = make(ys, HEIGHT - BOTTOM, TOP, None)
    parts = [grid(x, y), axis_labels(panel.x_label, panel.y_label)]
    for place, series in _coloured(panel.series):
        parts.append(_line(series, place, x, y))
    return svg(panel.title, HEIGHT, parts)


def _dots(panel: Panel) -> str:
    """Categories run downwards; values from 0 to 1 run to the right."""
    n_lanes = max(1, sum(not series.is_reference for series in panel.series))
    row_height = max(ROW, LANE * (n_lanes + 1))
    height = TOP + row_height * len(panel.categories) + BOTTOM
    x = linear_axis([0.0, 1.0], CATEGORY_LEFT, WIDTH - RIGHT, [0, 0.25, 0.5, 0.75, 1])
    parts = []
    for tick in x.ticks:
        at = x.place(tick)
        parts.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>'
        )
        parts.append(text(at, height - BOTTOM + 14, number(tick), "middle"))
    for row, name in enumerate(panel.categories):
        parts.append(text(CATEGORY_LEFT - 8, TOP + row_height * (row + 0.5) + 4, name, "end"))
    parts.append(text((CATEGORY_LEFT + WIDTH) / 2, height - 6, panel.x_label, "middle"))
    lane = -1
    for place, series in _coloured(panel.series):
        lane += not series.is_reference
        offset = (max(lane, 0) + 1) / (n_lanes + 1)
        for point in series.points:
            at = TOP + row_height * (point.x + offset)
            label = f"{panel.categories[int(point.x)]}, {series.name}"
            parts.append(_dot(point, x, at, place, series, label))
    return svg(panel.title, height, parts)


def _dot(point: Point, x: Axis, at: float, place: int, series: Series, label: str) -> str:
    hollow = " hollow" if series.is_reference else ""
    dot = (
        f'<circle class="c{place}{hollow}" cx="{x.place(point.y):.1f}" cy="{at:.1f}" r="4">'
        f"<title>{escape(label)}: {_value(point)}</title></circle>"
    )
    if not np.isfinite(point.low):
        return dot
    low, high = x.place(point.low), x.place(point.high)
    return (
        f'<line class="c{place}" x1="{low:.1f}" x2="{high:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>{dot}'
    )


def _line(series: Series, place: int, x: Axis, y: Axis) -> str:
    points = [point for point in series.points if _is_drawn(point)]
    path = " ".join(f"{x.place(p.x):.1f},{y.place(p.y):.1f}" for p in points)
    dashed = " dashed" if series.is_reference else ""
    parts = [f'<polyline class="c{place}{dashed}" points="{path}"/>']
    banded = [point for point in points if np.isfinite(point.low) and np.isfinite(point.high)]
    if banded:
        there = [f"{x.place(p.x):.1f},{y.place(p.high):.1f}" for p in banded]
        back = [f"{x.place(p.x):.1f},{y.place(p.low):.1f}" for p in reversed(banded)]
        parts.insert(0, f'<polygon class="band c{place}" points="{" ".join(there + back)}"/>')
    if not series.is_reference:
        parts += [
            f'<circle class="c{place}" cx="{x.place(p.x):.1f}" cy="{y.place(p.y):.1f}" r="3">'
            f"<title>{escape(series.name)}, {number(p.x)}: {_value(p)}</title></circle>"
            for p in points
        ]
    return "".join(parts)


def _coloured(series: Sequence[Series]) -> list[tuple[int, Series]]:
    """Each series with its colour; what is published of a method has the method's."""
    names = list(dict.fromkeys(one.name.removesuffix(", paper") for one in series))
    return [(names.index(one.name.removesuffix(", paper")) % N_COLOURS, one) for one in series]


def legend(panels: Sequence[Panel]) -> list[tuple[int, Series]]:
    """What the colours mean, if all panels agree."""
    return _coloured(panels[0].series)


def _is_drawn(point: Point) -> bool:
    return bool(np.isfinite(point.y))


def _value(point: Point) -> str:
    interval = f" ({point.low:.3f} to {point.high:.3f})" if np.isfinite(point.low) else ""
    return f"{point.y:.3f}{interval}"
