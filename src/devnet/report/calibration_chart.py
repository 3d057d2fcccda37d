"""How often p-values of unlabelled rows are small, against how often they should be."""

from collections.abc import Callable

import numpy as np

from devnet.core.wording import one_in_text
from devnet.report.axes import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    axis_labels,
    band,
    circle,
    grid,
    log_axis,
    polyline,
    svg,
)
from devnet.significance import Calibration, CalibrationCurve, calibration_curve

LEVELS = np.geomspace(0.001, 0.5, 28)
LEAST_ROWS = 100  # with fewer, chance decides the picture


def curve_to_draw(
    unlabelled: np.ndarray, nominal: Callable[[np.ndarray], np.ndarray] | None
) -> CalibrationCurve | None:
    """The curve of scores by scorers that did not see the rows.

    None if there are too few rows, or too many with the same score, to say anything.
    """
    if len(unlabelled) < LEAST_ROWS:
        return None
    scores = Calibration(unlabelled, np.ones(len(unlabelled)), None, None)
    curve = calibration_curve(scores, nominal, LEVELS)
    return curve if curve.calibrated.any() else None


def calibration_chart(curve: CalibrationCurve) -> str:
    """The promised share to the right, the observed one upwards, both on log axes."""
    level = curve.level
    x = log_axis(list(level), LEFT, WIDTH - RIGHT, None)
    y = log_axis(list(level), HEIGHT - BOTTOM, TOP, None)
    can_happen = curve.high > 0
    ends = level[[0, -1]]
    parts = [
        grid(x, y),
        axis_labels("promised share of false alarms", "observed share"),
        band(7, x, y, level[can_happen], curve.low[can_happen], curve.high[can_happen]),
        polyline("c7 dashed", x, y, ends, ends),
    ]
    if curve.nominal is not None:
        parts.append(_line(x, y, level, curve.nominal, "nominal", 1))
    parts.append(_line(x, y, level, curve.calibrated, "calibrated", 0))
    return svg("Calibration of p-values", parts)


def _line(x: Axis, y: Axis, level: np.ndarray, share: np.ndarray, name: str, colour: int) -> str:
    level, share = level[share > 0], share[share > 0]
    circles = [
        circle(
            f"c{colour}",
            x.position(a),
            y.position(b),
            2.5,
            f"{name}: {one_in_text(b)} where {one_in_text(a)} is promised",
        )
        for a, b in zip(level[::3], share[::3], strict=True)
    ]
    return polyline(f"c{colour}", x, y, level, share) + "".join(circles)
