"""Results of the experiments with sequences and with long series."""

from typing import Any

import numpy as np

from devnet.experiments.cells import Cells, in_words
from devnet.experiments.raw_results import raw_results
from devnet.experiments.sequence_measure import PEAKS, STEPS
from devnet.experiments.table import Cell, ResultTable

FOUND = (STEPS, PEAKS, "faults beyond 5%")
EVENTS = (*FOUND, *(f"{name}, unknown" for name in FOUND), "normal steps beyond 5%")


def sequence_tables(cells: Cells) -> list[ResultTable]:
    """Ranking quality by set and method, then where profiles point."""
    measured = {
        (record.dataset, record.method) for record in cells.records if STEPS in record.metrics
    }
    every = [(dataset, method) for dataset in cells.datasets for method in cells.methods]
    pointing = [one for one in every if one in measured]
    found = _by_metric(cells, pointing, (STEPS, PEAKS), "When: profiles of test anomalies")
    return [*raw_results(cells), *([found] if pointing else [])]


def event_tables(cells: Cells) -> list[ResultTable]:
    """Faults in a long series."""
    every = [(dataset, method) for dataset in cells.datasets for method in cells.methods]
    return [_by_metric(cells, every, EVENTS, "Faults planted into a long series")]


def _by_metric(
    cells: Cells, which: list[tuple[str, str]], metrics: tuple[str, ...], title: str
) -> ResultTable:
    """A row for each set, method and setting; a column for each metric."""
    rows = []
    for dataset, method in which:
        for settings in cells.experiment.settings:
            values = [cells.mean(dataset, method, settings, metric) for metric in metrics]
            name = ", ".join([dataset, method, *_varied(cells, settings)])
            rows.append([Cell(name), *(Cell(_text(value)) for value in values)])
    return ResultTable(title, ["Data", *metrics], rows, [])


def _varied(cells: Cells, settings: dict[str, Any]) -> list[str]:
    return [f"{settings[name]} {in_words(name)}" for name in cells.experiment.varied]


def _text(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "-"
