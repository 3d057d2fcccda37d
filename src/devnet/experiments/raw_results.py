"""Methods side by side on real data, the development sets and those held out."""

from typing import Any

import numpy as np

from devnet.datasets.raw_tables import PUT_ASIDE as TABLES_PUT_ASIDE
from devnet.datasets.signal_sets import PUT_ASIDE as SIGNALS_PUT_ASIDE
from devnet.experiments.cells import Cells, in_words
from devnet.experiments.table import Cell, ResultTable

METRIC = "AUC-PR"
PUT_ASIDE = {*TABLES_PUT_ASIDE, *SIGNALS_PUT_ASIDE}


def raw_results(cells: Cells) -> list[ResultTable]:
    """One table per setting, and one of the means over the settings."""
    every = cells.experiment.settings
    made = [_table(cells, _title(cells, settings), [settings]) for settings in every]
    return [*made, _table(cells, f"{METRIC}, mean", every)] if len(every) > 1 else made


def _title(cells: Cells, settings: dict[str, Any]) -> str:
    varied = cells.experiment.varied
    return ", ".join([METRIC, *(f"{settings[name]} {in_words(name)}" for name in varied)])


def _table(cells: Cells, title: str, settings: list[dict[str, Any]]) -> ResultTable:
    halves = {
        "development": [name for name in cells.datasets if name not in PUT_ASIDE],
        "held out": [name for name in cells.datasets if name in PUT_ASIDE],
    }
    rows = []
    for half, names in halves.items():
        if not names:
            continue
        values = np.array([_means(cells, name, settings) for name in names])  # (tables, methods)
        rows += [_row(f"{name}, {half}", line) for name, line in zip(names, values, strict=True)]
        rows.append(_row(f"Average, {half}", values.mean(axis=0)))
        rows.append([Cell(f"Behind {cells.methods[0]}, {half}"), *_losses(values)])
    return ResultTable(title, ["Data", *cells.methods], rows, [])


def _means(cells: Cells, dataset: str, settings: list[dict[str, Any]]) -> list[float]:
    return [
        float(np.mean([cells.mean(dataset, method, one, METRIC) for one in settings]))
        for method in cells.methods
    ]


def _row(name: str, values: np.ndarray) -> list[Cell]:
    best = np.round(np.nanmax(values), 3) if np.isfinite(values).any() else np.nan
    cells = [
        Cell(f"{value:.3f}" if np.isfinite(value) else "-", bool(np.round(value, 3) == best))
        for value in values
    ]
    return [Cell(name), *cells]


def _losses(values: np.ndarray) -> list[Cell]:
    """On how many tables each method is behind the first."""
    both = np.isfinite(values) & np.isfinite(values[:, :1])
    behind = (values < values[:, :1]) & both
    counts = zip(behind.sum(axis=0), both.sum(axis=0), strict=True)
    return [Cell(""), *(Cell(f"{n} of {total}") for n, total in list(counts)[1:])]
