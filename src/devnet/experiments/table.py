"""What a table is made of, and how its numbers are written."""

from typing import NamedTuple

import numpy as np

from devnet.experiments.statistics import Summary


class Cell(NamedTuple):
    """One entry of a table."""

    text: str
    is_best: bool = False


class ResultTable(NamedTuple):
    """Rows under a header; the first column names the row."""

    title: str
    header: list[str]
    rows: list[list[Cell]]
    notes: list[str]


def plus_minus(summary: Summary | None) -> str:
    """Mean and standard deviation of runs."""
    if summary is None:
        return "-"
    return f"{summary.mean:.3f}" + (f" ± {summary.std:.3f}" if summary.n > 1 else " (1 run)")


def shown(value: float, digits: int) -> str:
    """A number, or a dash for what is not known; never minus zero."""
    return "-" if np.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"
