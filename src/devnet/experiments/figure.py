"""What a figure is made of."""

from typing import NamedTuple

import numpy as np

from devnet.experiments.statistics import summarise


class Point(NamedTuple):
    """A value with its interval; `low` and `high` are nan without one."""

    x: float
    y: float
    low: float
    high: float


class Series(NamedTuple):
    """What is drawn in one colour."""

    name: str
    points: list[Point]
    is_reference: bool = False  # not ours: drawn hollow or dashed
    of: str = ""  # the series whose colour it shares


class Panel(NamedTuple):
    """One pair of axes. With `categories`, x is an index into them, and they run downwards."""

    title: str
    series: list[Series]
    x_label: str = ""
    y_label: str = ""
    is_log: bool = False
    is_count: bool = False  # values are counts, not shares
    is_log_x: bool = False  # only the horizontal axis
    categories: tuple[str, ...] = ()
    has_bands: bool = True  # whether intervals are drawn, not only told


class Figure(NamedTuple):
    """Panels that belong together."""

    title: str
    panels: list[Panel]
    caption: str


def point(x: float, values: list[float]) -> Point:
    """The mean of runs with its 95% interval."""
    summary = summarise(values or [np.nan])
    return Point(x, summary.mean, *summary.interval)
