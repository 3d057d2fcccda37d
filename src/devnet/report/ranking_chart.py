"""Ranking curves of one or several methods as SVG."""

from collections.abc import Sequence

import numpy as np

from devnet.core.wording import interval_text
from devnet.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    N_COLOURS,
    RIGHT,
    TOP,
    WIDTH,
    axis_labels,
    band,
    grid,
    linear_axis,
    nice_ticks,
    polyline,
    share_end,
    svg,
)
from devnet.report.ranking_curves import Area, Curve

TICKS = (0, 0.25, 0.5, 0.75, 1)
UNCUT_BAND = 0.9  # share of a band that is never cut off


def precision_recall_chart(curves: Sequence[Curve]) -> str:
    """Precision against recall; the nth method has the nth colour of the style sheet.

    The precision axis ends where the curves do, as precision is low if anomalies are rare. Bands
    are widest at the first few anomalies, and may be cut off there.
    """
    labels = ("recall: labelled anomalies found", "precision: labelled in alerts")
    bands = [np.quantile(curve.high, UNCUT_BAND) for curve in curves]
    end = share_end([*bands, *(curve.y.max() for curve in curves)])
    ticks = TICKS if end == 1 else nice_ticks(0, end)
    return _chart("Precision and recall", curves, labels, ticks, is_roc=False)


def roc_chart(curves: Sequence[Curve]) -> str:
    """Recall against false alarms; the diagonal is chance."""
    labels = ("unlabelled rows in alerts", "labelled anomalies found")
    return _chart("Receiver operating characteristic", curves, labels, TICKS, is_roc=True)


def area_text(area: Area) -> str:
    """An area with its interval."""
    return interval_text(*area, ".2f" if area.value >= 0.1 else ".4f")


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
        parts.append(polyline("c7 dashed", x, y, (0, 1), (0, 1)))
    coloured = [(i % N_COLOURS, curve) for i, curve in enumerate(curves)]
    parts += [  # under all lines
        band(colour, x, y, curve.x, curve.low, curve.high)
        for colour, curve in coloured
        if np.isfinite(curve.low).all()
    ]
    parts += [polyline(f"c{colour}", x, y, curve.x, curve.y) for colour, curve in coloured]
    return svg(title, parts)
