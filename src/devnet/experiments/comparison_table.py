"""Methods side by side, each with the paper's figures (Tables 1 and 2)."""

from typing import Any

import numpy as np

from devnet.core.wording import range_text
from devnet.detectors.methods import RECOMMENDED
from devnet.experiments.cells import (
    TOLERANCE,
    Cells,
    differing_cells,
    published,
    published_p_values,
)
from devnet.experiments.statistics import average_interval, wilcoxon
from devnet.experiments.table import Cell, ResultTable, plus_minus


def comparison_table(cells: Cells, metric: str) -> ResultTable:
    """One row per data set, one column per method; then averages and tests."""
    (settings,) = cells.experiment.settings
    theirs = published(cells.experiment, metric)
    in_paper = [m for m in cells.methods if any(m in row for row in theirs.values())]
    ours = {  # nan without runs
        dataset: {m: cells.mean(dataset, m, settings, metric) for m in cells.methods}
        for dataset in cells.datasets
    }
    paper = {d: {m: theirs[d].get(m, np.nan) for m in in_paper} for d in cells.datasets if theirs}
    rows = []
    for dataset in cells.datasets:
        texts = {m: plus_minus(cells.summary(dataset, m, settings, metric)) for m in cells.methods}
        form = "({:.3f})" if cells.is_substitute(dataset) else "{:.3f}"
        rows.append(_comparison_row(dataset, ours[dataset], texts, paper.get(dataset, {}), form))
    averaged = [
        dataset
        for dataset in cells.datasets
        if not cells.is_substitute(dataset) and not np.isnan(list(ours[dataset].values())).any()
    ]
    if averaged:
        average = _average(ours, averaged)
        texts = {m: f"{value:.3f}" for m, value in average.items()}
        rows.append(_comparison_row("Average", average, texts, _average(paper, averaged)))
        intervals = {m: _interval(cells, m, averaged, metric) for m in cells.methods}
        rows.append(_text_row("95% interval", intervals, in_paper))
    notes = differing_cells(cells, metric)
    if notes:
        notes.insert(0, f"More than {TOLERANCE} standard deviations from the paper:")
    if len(cells.methods) > 1:
        rows.append(_p_value_row(ours, in_paper, published_p_values(cells.experiment, metric)))
        notes.append(
            f"P-values of {cells.methods[0]} against the others are over all sets that both have, "
            "the paper's over its nine."
        )
    if RECOMMENDED in cells.methods[1:]:
        over_sets = {m: _p_value(ours, m, RECOMMENDED) for m in cells.methods}
        rows.append(_text_row(f"P-value, {RECOMMENDED}", over_sets, in_paper))
        over_runs = {m: _paired_p_value(cells, m, metric) for m in cells.methods}
        rows.append(_text_row("the same, sets and runs", over_runs, in_paper))
        notes.append(
            f"P-values of {RECOMMENDED} are over all sets, and over all sets and runs, paired; "
            "runs of one set are not independent of each other."
        )
    left_out = [dataset for dataset in cells.datasets if dataset not in averaged]
    if averaged and left_out:
        theirs_too = "; the paper's are recomputed without them" if in_paper else ""
        notes.append(f"Averages leave out {', '.join(left_out)}{theirs_too}.")
    header = ["Data"]
    for method in cells.methods:
        header += [method, "paper"] if method in in_paper else [method]
    return ResultTable(metric, header, rows, notes)


def _comparison_row(
    name: str,
    ours: dict[str, float],
    texts: dict[str, str],
    paper: dict[str, float],
    form: str = "{:.3f}",
) -> list[Cell]:
    row = [Cell(name)]
    for method, value in ours.items():
        row.append(Cell(texts[method], _is_best(value, ours.values())))
        if method in paper:
            text = form.format(paper[method])
            row.append(Cell(text, _is_best(paper[method], paper.values())))
    return row


def _text_row(name: str, texts: dict[str, str], in_paper: list[str]) -> list[Cell]:
    row = [Cell(name)]
    for method, text in texts.items():
        row += [Cell(text), Cell("-")] if method in in_paper else [Cell(text)]
    return row


def _interval(cells: Cells, method: str, datasets: list[str], metric: str) -> str:
    """The interval of the average over data sets, from the same runs as the average."""
    (settings,) = cells.experiment.settings
    found = [cells.summary(dataset, method, settings, metric) for dataset in datasets]
    low, high = average_interval([summary for summary in found if summary is not None])
    return "-" if np.isnan(low) else range_text(low, high)


def _paired_p_value(cells: Cells, method: str, metric: str) -> str:
    """The recommended method against another one, over all sets and runs that both have."""
    (settings,) = cells.experiment.settings
    pairs = []
    for dataset in cells.datasets:
        ours, theirs = (cells.by_seed(dataset, m, settings, metric) for m in (RECOMMENDED, method))
        pairs += [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]
    value = wilcoxon(*zip(*pairs, strict=True)) if pairs else None
    return "-" if value is None else _small(value)


def _average(figures: dict[str, dict[str, float]], datasets: list[str]) -> dict[str, float]:
    if not figures:
        return {}
    return {m: float(np.mean([figures[d][m] for d in datasets])) for m in figures[datasets[0]]}


def _p_value_row(
    ours: dict[str, dict[str, float]], in_paper: list[str], paper: dict[str, float]
) -> list[Cell]:
    """Wilcoxon signed-rank tests of the first method against each other one."""
    row = [Cell("P-value")]
    for method in next(iter(ours.values())):
        row.append(Cell(_p_value(ours, method)))
        if method in in_paper:
            row.append(Cell(f"{paper[method]:.3f}" if method in paper else "-"))
    return row


def _p_value(figures: dict[str, dict[str, float]], method: str, against: str | None = None) -> str:
    """The p-value over the data sets that both have, by default against the first method."""
    against = against or next(iter(next(iter(figures.values()))))
    pairs = np.array([(row[against], row[method]) for row in figures.values()])
    first, other = pairs[~np.isnan(pairs).any(axis=1)].T
    value = wilcoxon(first, other)
    return "-" if value is None else f"{value:.3f}"


def _is_best(value: float, values: Any) -> bool:
    """Whether no other value is better as shown, given that there are others."""
    shown = [round(v, 3) for v in values if not np.isnan(v)]
    return len(shown) > 1 and round(value, 3) == max(shown)


def _small(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else "<0.001"
