"""How ranking quality depends on a method's parameters, varied one at a time."""

import numpy as np

from devnet.core.wording import decimals_text, interval_text
from devnet.experiments.cells import Cells
from devnet.experiments.figure import Figure, Panel, Series, point
from devnet.experiments.statistics import Summary, summarise
from devnet.experiments.table import Cell, ResultTable, plus_minus
from devnet.experiments.variations import Variation

METRIC = "AUC-PR"
WIDE_RANGE = 10  # from this ratio of the largest to the smallest value on, the axis is logarithmic


def sensitivity_tables(cells: Cells) -> list[ResultTable]:
    """The range of each parameter on each set, then the means by value."""
    return [_range_table(cells), *(_value_table(cells, one) for one in cells.experiment.vary)]


def sensitivity_figure(cells: Cells) -> Figure:
    """One panel per parameter, one curve per set."""
    (settings,) = cells.experiment.settings
    panels = []
    for one in cells.experiment.vary:
        series = []
        for dataset in cells.datasets:
            points = [
                point(value, cells.values(dataset, method, settings, METRIC))
                for value, method in zip(one.values, one.methods, strict=True)
            ]
            series.append(Series(dataset, points))
        low, high = min(one.values), max(one.values)
        title = f"{one.name}; default {one.default:g}"
        is_log = low > 0 and high / low >= WIDE_RANGE
        panels.append(Panel(title, series, one.name, METRIC, is_log_x=is_log))
    caption = "One parameter at a time, the others at their defaults. Bands are 95% intervals."
    return Figure(f"{METRIC} by parameter", panels, caption)


def loss_against_default(
    cells: Cells, dataset: str, variation: Variation
) -> tuple[float, Summary] | None:
    """The value with the largest mean loss, and the losses against the default, paired by seed."""
    (settings,) = cells.experiment.settings
    base = _of_default(variation)
    default = cells.by_seed(dataset, base, settings, METRIC)
    losses = []
    for value, method in zip(variation.values, variation.methods, strict=True):
        found = cells.by_seed(dataset, method, settings, METRIC)
        both = [default[seed] - found[seed] for seed in default.keys() & found.keys()]
        if method != base and both:
            losses.append((value, summarise(both)))
    return max(losses, key=lambda one: one[1].mean) if losses else None


def _of_default(variation: Variation) -> str:
    return variation.methods[variation.values.index(variation.default)]


def _range_table(cells: Cells) -> ResultTable:
    (settings,) = cells.experiment.settings
    rows = []
    for one in cells.experiment.vary:
        for dataset in cells.datasets:
            means = [cells.mean(dataset, method, settings, METRIC) for method in one.methods]
            if not np.isfinite(means).any():
                continue
            texts = [
                f"{min(one.values):g} to {max(one.values):g}",
                decimals_text(cells.mean(dataset, _of_default(one), settings, METRIC), 3),
                *_extreme(cells, dataset, one, means),
                *_loss_texts(cells, dataset, one),
            ]
            rows.append([Cell(f"{one.name}, {dataset}"), *map(Cell, texts)])
    header = ["Parameter", "values", "default", "lowest mean", "highest mean", "largest loss", "at"]
    notes = [
        "Losses against the default are paired by run. All intervals hold for all values of a "
        "parameter at once with 95%, so for the lowest, the highest and the largest loss too.",
        "A loss below zero: every other value ranks better than the default.",
    ]
    return ResultTable(f"{METRIC} over the values of each parameter", header, rows, notes)


def _extreme(cells: Cells, dataset: str, one: Variation, means: list[float]) -> list[str]:
    (settings,) = cells.experiment.settings
    texts = []
    for where in (np.nanargmin(means), np.nanargmax(means)):
        found = cells.summary(dataset, one.methods[where], settings, METRIC)
        if found is None:  # nanargmin chose a mean that exists
            continue
        interval = found.joint_interval(len(one.values))
        texts.append(f"{interval_text(found.mean, *interval)} at {one.values[where]:g}")
    return texts


def _loss_texts(cells: Cells, dataset: str, one: Variation) -> list[str]:
    found = loss_against_default(cells, dataset, one)
    if found is None:
        return ["-", "-"]
    value, loss = found
    return [interval_text(loss.mean, *loss.joint_interval(len(one.values) - 1)), f"{value:g}"]


def _value_table(cells: Cells, one: Variation) -> ResultTable:
    (settings,) = cells.experiment.settings
    rows = [
        [
            Cell(dataset),
            *(
                Cell(plus_minus(cells.summary(dataset, method, settings, METRIC)))
                for method in one.methods
            ),
        ]
        for dataset in cells.datasets
    ]
    header = ["Data", *(f"{value:g}" for value in one.values)]
    return ResultTable(f"{METRIC} by {one.name}; default {one.default:g}", header, rows, [])
