"""Anomalies found by review, method by method, from some labels and from none."""

from typing import Any

import numpy as np

from devnet.core.wording import count_text
from devnet.experiments.cells import Cells
from devnet.experiments.feedback_measure import COUNTED
from devnet.experiments.figure import Figure, Panel, Point, Series, point
from devnet.experiments.table import Cell, ResultTable

QUALITY = "AUC-PR"
SHOWN = (*(f"found of {n}" for n in (50, 100, 200)), QUALITY)


def feedback_tables(cells: Cells) -> list[ResultTable]:
    """For each start, a table per metric: every set, then averages over sets that are shared."""
    starts = cells.experiment.settings
    return [_table(cells, settings, metric) for settings in starts for metric in SHOWN]


def _table(cells: Cells, settings: dict[str, Any], metric: str) -> ResultTable:
    means = _means(cells, settings, metric)
    decimals = 3 if metric == QUALITY else 1
    rows = [_row(name, line, decimals) for name, line in zip(cells.datasets, means, strict=True)]
    shared = ~np.isnan(means).any(axis=1)
    sets = count_text(int(shared.sum()), "set", "sets")
    if shared.any():
        rows.append(_row(f"Average of {sets} that all have", means[shared].mean(axis=0), decimals))
    rows += [_row(name, line, decimals, has_best=False) for name, line in _by_pairs(cells, means)]
    what = f"{QUALITY} on fresh rows" if metric == QUALITY else f"Anomalies {metric} reviews"
    return ResultTable(f"{what}, {_start(settings)}", ["Data", *cells.methods], rows, [])


def _means(cells: Cells, settings: dict[str, Any], metric: str) -> np.ndarray:
    """Means over the runs, (sets, methods), nan without any."""
    return np.array(
        [
            [cells.mean(dataset, method, settings, metric) for method in cells.methods]
            for dataset in cells.datasets
        ]
    )


def _by_pairs(cells: Cells, means: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Each method's average over the sets that it shares with the first method, and the first's."""
    both = ~np.isnan(means) & ~np.isnan(means[:, :1])
    counts = np.where(both.any(axis=0), both.sum(axis=0), np.nan)
    pairs = {"Average of all its sets": means, f"{cells.methods[0]}, same sets": means[:, :1]}
    return [(name, np.where(both, part, 0).sum(axis=0) / counts) for name, part in pairs.items()]


def _row(name: str, values: np.ndarray, decimals: int, *, has_best: bool = True) -> list[Cell]:
    best = np.nanmax(np.round(values, decimals)) if np.isfinite(values).any() else np.nan
    cells = [
        Cell(
            f"{value:.{decimals}f}" if np.isfinite(value) else "-",
            has_best and bool(round(value, decimals) == best),
        )
        for value in values
    ]
    return [Cell(name), *cells]


def _start(settings: dict[str, Any]) -> str:
    n = settings["n_labelled"]
    return f"from {count_text(n, 'label', 'labels')}" if n else "from no label"


def feedback_figures(cells: Cells) -> list[Figure]:
    """Anomalies found by reviews: for each start, the average and one panel per set."""
    return [_figure(cells, settings) for settings in cells.experiment.settings]


def _figure(cells: Cells, settings: dict[str, Any]) -> Figure:
    found = {n: _means(cells, settings, f"found of {n}") for n in COUNTED}
    shared = ~np.isnan(next(iter(found.values()))).any(axis=1)
    panels = []
    if shared.sum() > 1:
        series = [
            Series(name, [Point(n, v[shared, i].mean(), np.nan, np.nan) for n, v in found.items()])
            for i, name in enumerate(cells.methods)
        ]
        panels.append(_panel(f"average of {shared.sum()} sets", series))
    for dataset in cells.datasets:
        series = []
        for method in cells.methods:
            runs = {n: cells.values(dataset, method, settings, f"found of {n}") for n in COUNTED}
            points = [point(n, values) for n, values in runs.items() if values]
            series += [Series(method, points)] if points else []
        panels.append(_panel(dataset, series))
    caption = "Means over runs; a dot shows its 95% interval when pointed at."
    return Figure(f"Anomalies found, {_start(settings)}", panels, caption)


def _panel(title: str, series: list[Series]) -> Panel:
    return Panel(title, series, "reviews", "found", is_count=True, has_bands=False)
