"""How often p-values of unlabelled rows are small, against how often they should be."""

from collections.abc import Callable
from typing import NamedTuple

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
from devnet.report.number_text import in_percent
from devnet.significance import ConformalRanks

LEVELS = np.geomspace(0.001, 0.5, 28)
LEAST_ROWS = 100  # below, chance decides the picture
N_DRAWS = 1000  # of the band


class Calibration(NamedTuple):
    """Shares of rows whose p-value is at most each of `LEVELS`."""

    calibrated: np.ndarray  # (n_levels,)
    nominal: np.ndarray | None  # (n_levels,)
    low: np.ndarray  # where 95% of calibrated shares lie by chance
    high: np.ndarray


def calibrate(
    unlabelled: np.ndarray, nominal: Callable[[np.ndarray], np.ndarray] | None
) -> Calibration | None:
    """Rank one random half of the unlabelled rows among the other half.

    None where there are too few rows, or too many of the same score, to tell anything.

    Parameters
    ----------
    unlabelled : array
        Scores by scorers that did not see the rows.
    nominal : callable, optional
        From scores to nominal p-values.
    """
    if len(unlabelled) < LEAST_ROWS:
        return None
    generator = np.random.default_rng(0)
    measured, measure = np.array_split(generator.permutation(unlabelled), 2)
    p_values = ConformalRanks(measure, np.ones(len(measure))).p_value(measured)
    calibrated = _shares(p_values)
    if not calibrated.any():
        return None
    low, high = _band(generator, len(measured), len(measure))
    return Calibration(
        calibrated, None if nominal is None else _shares(nominal(measured)), low, high
    )


def _shares(p_values: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.sort(p_values), LEVELS, side="right") / len(p_values)


def _band(generator: np.random.Generator, n: int, n_measure: int) -> tuple[np.ndarray, np.ndarray]:
    """Binomial counts of n rows; what is drawn first is how well the other half ranks them."""
    rank = np.maximum(np.floor(LEVELS * (n_measure + 1)), 1)
    chance = generator.beta(rank, n_measure + 1 - rank, (N_DRAWS, len(LEVELS)))
    low, high = np.quantile(generator.binomial(n, chance) / n, (0.025, 0.975), axis=0)
    return low, high


def calibration_chart(calibration: Calibration) -> str:
    """Both axes logarithmic: what was promised to the right, what happened upwards."""
    x = log_axis(list(LEVELS), LEFT, WIDTH - RIGHT, None)
    y = log_axis(list(LEVELS), HEIGHT - BOTTOM, TOP, None)
    edge = [*_points(x, y, calibration.high), *reversed(_points(x, y, calibration.low))]
    ends = " ".join(_points(x, y, LEVELS)[:: len(LEVELS) - 1])
    parts = [
        grid(x, y),
        axis_labels("promised share of false alarms", "share that happened"),
        f'<polygon class="band c7" points="{" ".join(edge)}"/>',
        f'<polyline class="c7 dashed" points="{ends}"/>',
    ]
    if calibration.nominal is not None:
        parts.append(_curve(x, y, calibration.nominal, "nominal", 1))
    parts.append(_curve(x, y, calibration.calibrated, "calibrated", 0))
    return svg("Calibration of p-values", HEIGHT, parts)


def _curve(x: Axis, y: Axis, shares: np.ndarray, name: str, colour: int) -> str:
    there = shares > 0
    points = " ".join(np.array(_points(x, y, shares))[there])
    circles = [
        f'<circle class="c{colour}" cx="{x.place(level):.1f}" cy="{y.place(share):.1f}" r="2.5">'
        f"<title>{name}: {in_percent(share)} where {in_percent(level)} is promised</title></circle>"
        for level, share in zip(LEVELS[there][::3], shares[there][::3], strict=True)
    ]
    return f'<polyline class="c{colour}" points="{points}"/>{"".join(circles)}'


def _points(x: Axis, y: Axis, shares: np.ndarray) -> list[str]:
    return [
        f"{x.place(level):.1f},{y.place(share):.1f}"
        for level, share in zip(LEVELS, shares, strict=True)
    ]
