"""Methods over the values of a setting (Figures 3 and 4): means by set, averages, ranks."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from devnet.core.wording import count_text, decimals_text, join_words
from devnet.experiments.cells import Cells, in_words
from devnet.experiments.statistics import Summary
from devnet.experiments.table import Cell, ResultTable, plus_minus


class Standing(NamedTuple):
    """How methods stand over the sets on which all of them have runs with every value.

    A method that has them on fewer than half of the sets is not compared.
    """

    methods: list[str]
    datasets: list[str]
    averages: np.ndarray  # (methods, values), over these sets
    ranks: np.ndarray  # (methods,), 1 is best; mean over these sets and all values


def standing(cells: Cells, metric: str) -> Standing:
    """Average and mean rank of each method."""
    settings = cells.experiment.settings
    found = np.array(
        [
            [[cells.mean(name, method, s, metric) for s in settings] for method in cells.methods]
            for name in cells.datasets
        ]
    )  # (sets, methods, values)
    is_there = ~np.isnan(found).any(2)  # (sets, methods)
    is_compared = 2 * is_there.sum(0) >= len(found)
    methods = [name for name, one in zip(cells.methods, is_compared, strict=True) if one]
    is_whole = is_there[:, is_compared].all(1)
    if not (methods and is_whole.any()):
        nothing = np.full((len(cells.methods), len(settings)), np.nan)
        return Standing(cells.methods, [], nothing, nothing[:, 0])
    datasets = [name for name, one in zip(cells.datasets, is_whole, strict=True) if one]
    means = found[is_whole][:, is_compared]
    ranks = stats.rankdata(-np.round(means, 9), axis=1)
    return Standing(methods, datasets, means.mean(0), ranks.mean((0, 2)))


def sweep_tables(cells: Cells, metric: str) -> list[ResultTable]:
    """One column per value: averages and ranks if there are several methods, then every set."""
    if len(cells.methods) == 1:
        return [_table_of_sets(cells, metric)]
    return [_table_of_averages(cells, metric), _table_of_sets(cells, metric)]


def left_out(cells: Cells, found: Standing) -> str:
    """Which methods and sets averages and ranks leave out, and why; empty if none."""
    methods = [method for method in cells.methods if method not in found.methods]
    datasets = [dataset for dataset in cells.datasets if dataset not in found.datasets]
    sentences = []
    if methods:
        sentences.append(f"{join_words(methods)}: no runs on most sets")
    if datasets:
        every = "not every other method" if methods else "not every method"
        sentences.append(f"{join_words(datasets)}: {every} has runs there")
    return f"Averages and ranks leave out {'; '.join(sentences)}." if sentences else ""


def fewer_runs(cells: Cells) -> list[str]:
    """Which methods have fewer runs on which sets, and why."""
    sentences = []
    for part in cells.experiment.fewer:
        count = count_text(part["runs"], "run", "runs") if part["runs"] else "no runs"
        what = ", ".join([*part.get("methods", []), *part["datasets"]])
        for name, values in part.get("settings", {}).items():
            what += f" with {' or '.join(f'{value:,}' for value in values)} {in_words(name)}"
        sentences.append(f"{count} for {what}: {part['reason']}")
    return sentences


def _table_of_averages(cells: Cells, metric: str) -> ResultTable:
    found = standing(cells, metric)
    overall = found.averages.mean(1)
    columns = np.column_stack([found.averages, overall])  # (methods, values + 1)
    best = np.round(columns, 3).max(0)
    rows = []
    for i, method in enumerate(found.methods):
        row = [Cell(method)]
        for value, highest in zip(columns[i], best, strict=True):
            row.append(Cell(decimals_text(value, 3), bool(round(value, 3) == highest)))
        is_first = bool(round(found.ranks[i], 2) == np.round(found.ranks, 2).min())
        rows.append([*row, Cell(decimals_text(found.ranks[i], 2), is_first)])
    sets = count_text(len(found.datasets), "set", "sets")
    title = f"{metric} by {_varied(cells)}, average of {sets}"
    notes = ["A rank is that of a method's mean among all methods, averaged over sets and values."]
    omitted = left_out(cells, found)
    return ResultTable(
        title,
        ["Method", *_values(cells), "all", "average rank"],
        rows,
        [*notes, omitted] if omitted else notes,
    )


def _table_of_sets(cells: Cells, metric: str) -> ResultTable:
    settings = cells.experiment.settings
    is_alone = len(cells.methods) == 1
    rows, means = [], []
    for dataset in cells.datasets:
        found = {m: [cells.summary(dataset, m, s, metric) for s in settings] for m in cells.methods}
        shown = np.array([[round(_mean(one), 3) for one in row] for row in found.values()])
        best = np.fmax.reduce(shown, axis=0)
        means.append([_mean(one) for one in found[cells.methods[0]]])
        for method, summaries in found.items():
            row = [Cell(dataset if is_alone else f"{dataset}, {method}")]
            for one, highest in zip(summaries, best, strict=True):
                is_best = not is_alone and bool(round(_mean(one), 3) == highest)
                row.append(Cell(_marked(one, cells.experiment.runs), is_best))
            rows.append(row)
    if is_alone:
        average = [Cell(decimals_text(value, 3)) for value in np.mean(means, axis=0)]
        rows.append([Cell("Average"), *average])
    return ResultTable(f"{metric} by {_varied(cells)}", ["Data", *_values(cells)], rows, [])


def _marked(summary: Summary | None, runs: int) -> str:
    """Mean and standard deviation, and the number of runs if it is lower than elsewhere."""
    text = plus_minus(summary)
    return text if summary is None or summary.n in (1, runs) else f"{text} ({summary.n} runs)"


def _mean(summary: Summary | None) -> float:
    return summary.mean if summary else float("nan")


def _varied(cells: Cells) -> str:
    return ", ".join(map(in_words, cells.experiment.varied))


def _values(cells: Cells) -> list[str]:
    varied, settings = cells.experiment.varied, cells.experiment.settings
    return [", ".join(f"{one[name]}" for name in varied) for one in settings]
