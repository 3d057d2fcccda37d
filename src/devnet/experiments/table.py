"""What a table is made of."""

from typing import NamedTuple

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
