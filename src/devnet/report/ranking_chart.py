"""Ranking curves of one or several methods as SVG."""

from collections.abc import Sequence

import numpy as np

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
    nice_ticks,
    share_end,
    svg,
)
from devnet.report.ranking_curves import Area, Curve

TICKS = (0, 0.25, 0.5, 0.75, 1)
WHOLE_BAND = 0.9  # share of a band that is never cut off


def precision_recall_chart(curves: Sequence[Curve]) -> str:
    """Precision against recall; the n-th method has the n-th colour of the style sheet.

    Precision ends where the curves do, as it is low everywhere where anomalies are rare. Bands are
    widest at the first few anomalies, and there may be cut off.
    """
    labels = ("labelled anomalies found", "share of labelled in alerts")
    bands = [np.quantile(curve.high, WHOLE_BAND) for curve in curves]
    end = share_end([*bands, *(curve.y.max() for curve in curves)])
    ticks = TICKS if end == 1 else nice_ticks(0, end)
    return _chart("Precision and recall", curves, labels, ticks, is_roc=False)


def roc_chart(curves: Sequence[Curve]) -> str:
    """Recall against false alarms; the diagonal is a ranking by chance."""
    labels = ("unlabelled rows in alerts", "labelled anomalies found")
    return _chart("Receiver operating characteristic", curves, labels, TICKS, is_roc=True)


def area_text(area: Area) -> str:
    """An area with its interval."""
    digits = 2 if area.value >= 0.1 else 4
    value, low, high = (f"{part:.{digits}f}" for part in area)
    return f"{value} ({low} to {high})" if np.isfinite(area.low) else value


def _chart(
    title: str,
    curves: Sequence[Curve],
    labels: tuple[str, str],
    heights: Sequence[float],
    *,
    is_roc: bool,
) -> str:
    x = linear_axis(TICKS, LEFT, WIDTH - RIGHT, TICKS)
    y = linear_axis(heights, HEIGHT - BOTTOM, TOP, heights)
    parts = [grid(x, y), axis_labels(*labels)]
    if is_roc:
        ends = f"{x.place(0):.1f},{y.place(0):.1f} {x.place(1):.1f},{y.place(1):.1f}"
        parts.append(f'<polyline class="c7 dashed" points="{ends}"/>')
    coloured = [(place % N_COLOURS, curve) for place, curve in enumerate(curves)]
    parts += [_band(colour, curve, x, y) for colour, curve in coloured]  # under all lines
    parts += [_line(colour, curve, x, y) for colour, curve in coloured]
    return svg(title, HEIGHT, parts)


def _band(colour: int, curve: Curve, x: Axis, y: Axis) -> str:
    if not np.isfinite(curve.low).all():
        return ""
    edge = [*_points(curve.x, curve.high, x, y), *reversed(_points(curve.x, curve.low, x, y))]
    return f'<polygon class="band c{colour}" points="{" ".join(edge)}"/>'


def _line(colour: int, curve: Curve, x: Axis, y: Axis) -> str:
    return f'<polyline class="c{colour}" points="{" ".join(_points(curve.x, curve.y, x, y))}"/>'


def _points(across: np.ndarray, up: np.ndarray, x: Axis, y: Axis) -> list[str]:
    return [f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in zip(across, up, strict=True)]
