"""How often p-values of unlabelled rows are small, against how often they should be."""

from collections.abc import Callable

import numpy as np

from devnet.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    axis_labels,
    grid,
    log_axis,
    svg,
)
from devnet.report.number_text import one_in
from devnet.significance import Calibration, CalibrationCurve, calibration_curve

LEVELS = np.geomspace(0.001, 0.5, 28)
LEAST_ROWS = 100  # below, chance decides the picture


def curve_to_draw(
    unlabelled: np.ndarray, nominal: Callable[[np.ndarray], np.ndarray] | None
) -> CalibrationCurve | None:
    """The curve of scores by scorers that did not see the rows.

    None where there are too few rows, or too many of the same score, to tell anything.
    """
    if len(unlabelled) < LEAST_ROWS:
        return None
    scores = Calibration(unlabelled, np.ones(len(unlabelled)), None, None)
    curve = calibration_curve(scores, nominal, LEVELS)
    return curve if curve.calibrated.any() else None


def calibration_chart(curve: CalibrationCurve) -> str:
    """Both axes logarithmic: what was promised to the right, what happened upwards."""
    level = curve.level
    x = log_axis(list(level), LEFT, WIDTH - RIGHT, None)
    y = log_axis(list(level), HEIGHT - BOTTOM, TOP, None)
    can_happen = curve.high > 0
    edges = [_points(x, y, level[can_happen], end[can_happen]) for end in (curve.high, curve.low)]
    ends = " ".join(_points(x, y, level[[0, -1]], level[[0, -1]]))
    parts = [
        grid(x, y),
        axis_labels("promised share of false alarms", "share that happened"),
        f'<polygon class="band c7" points="{" ".join([*edges[0], *reversed(edges[1])])}"/>',
        f'<polyline class="c7 dashed" points="{ends}"/>',
    ]
    if curve.nominal is not None:
        parts.append(_line(x, y, level, curve.nominal, "nominal", 1))
    parts.append(_line(x, y, level, curve.calibrated, "calibrated", 0))
    return svg("Calibration of p-values", HEIGHT, parts)


def _line(x: Axis, y: Axis, level: np.ndarray, share: np.ndarray, name: str, colour: int) -> str:
    level, share = level[share > 0], share[share > 0]
    circles = [
        f'<circle class="c{colour}" cx="{x.place(a):.1f}" cy="{y.place(b):.1f}" r="2.5">'
        f"<title>{name}: {one_in(b)} where {one_in(a)} is promised</title></circle>"
        for a, b in zip(level[::3], share[::3], strict=True)
    ]
    points = " ".join(_points(x, y, level, share))
    return f'<polyline class="c{colour}" points="{points}"/>{"".join(circles)}'


def _points(x: Axis, y: Axis, level: np.ndarray, share: np.ndarray) -> list[str]:
    return [f"{x.place(a):.1f},{y.place(b):.1f}" for a, b in zip(level, share, strict=True)]
