"""Results as tables: plain data, whatever shows them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from devnet.experiments.cells import (
    RANKING,
    TOLERANCE,
    Cells,
    differing_cells,
    in_words,
    published,
)
from devnet.experiments.measures import LEVELS
from devnet.experiments.plan import SYNTHETIC, Experiment
from devnet.experiments.results import Record
from devnet.experiments.statistics import Summary, log_slope, wilcoxon


class Cell(NamedTuple):
    """One entry of a table."""

    text: str
    is_best: bool = False


class Table(NamedTuple):
    """Rows under a header; the first column names the row."""

    title: str
    header: list[str]
    rows: list[list[Cell]]
    notes: list[str]


def tables(experiment: Experiment, records: Sequence[Record]) -> list[Table]:
    """The tables of an experiment, of whatever runs are there."""
    cells = Cells(experiment, records)
    if not cells.records:
        return []
    made = BUILDERS[experiment.measure](cells)
    made[-1].notes.extend(_data_notes(cells) + _run_notes(cells, records))
    return made


def _ranking_tables(cells: Cells) -> list[Table]:
    if len(cells.experiment.settings) > 1:
        return [_sweep_table(cells, metric) for metric in reversed(RANKING)]
    return [_comparison_table(cells, metric) for metric in RANKING]


def _comparison_table(cells: Cells, metric: str) -> Table:
    """Methods side by side, each with the paper's figure (Tables 1 and 2)."""
    (settings,) = cells.experiment.settings
    theirs = published(cells.experiment, metric)
    in_paper = [m for m in cells.methods if any(m in row for row in theirs.values())]
    ours = {  # nan where there is no run
        dataset: {m: cells.mean(dataset, m, settings, metric) for m in cells.methods}
        for dataset in cells.datasets
    }
    paper = {d: {m: theirs[d].get(m, np.nan) for m in in_paper} for d in cells.datasets if theirs}
    rows = []
    for dataset in cells.datasets:
        texts = {m: _plus_minus(cells.summary(dataset, m, settings, metric)) for m in cells.methods}
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
    notes = differing_cells(cells, metric)
    if notes:
        notes.insert(0, f"More than {TOLERANCE} standard deviations from the paper:")
    if len(cells.methods) > 1:
        rows.append(_p_value_row(ours, theirs))
        notes.append(
            "P-values are over all sets that both methods have, the paper's over its nine."
        )
    left_out = [dataset for dataset in cells.datasets if dataset not in averaged]
    if averaged and left_out:
        notes.append(f"Averages leave out {', '.join(left_out)}.")
    header = ["Data"]
    for method in cells.methods:
        header += [method, "paper"] if method in in_paper else [method]
    return Table(metric, header, rows, notes)


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


def _average(figures: dict[str, dict[str, float]], datasets: list[str]) -> dict[str, float]:
    if not figures:
        return {}
    return {m: float(np.mean([figures[d][m] for d in datasets])) for m in figures[datasets[0]]}


def _p_value_row(
    ours: dict[str, dict[str, float]], paper: dict[str, dict[str, float]]
) -> list[Cell]:
    """Wilcoxon signed-rank tests of the first method against each other one."""
    row = [Cell("P-value")]
    for method in next(iter(ours.values())):
        row.append(Cell(_p_value(ours, method)))
        if any(method in figures for figures in paper.values()):
            row.append(Cell(_p_value(paper, method)))
    return row


def _p_value(figures: dict[str, dict[str, float]], method: str) -> str:
    """Over the data sets that both methods have; the first method has none against itself."""
    first_method = next(iter(next(iter(figures.values()))))
    pairs = np.array([(row[first_method], row[method]) for row in figures.values()])
    first, other = pairs[~np.isnan(pairs).any(axis=1)].T
    value = wilcoxon(first, other)
    return "-" if value is None else f"{value:.3f}"


def _sweep_table(cells: Cells, metric: str) -> Table:
    """One column for each setting."""
    varied = cells.experiment.varied
    settings = cells.experiment.settings
    header = ["Data"] + [", ".join(f"{s[name]}" for name in varied) for s in settings]
    rows = []
    for method in cells.methods:
        means = []
        for dataset in cells.datasets:
            found = [cells.summary(dataset, method, s, metric) for s in settings]
            means.append([summary.mean if summary else float("nan") for summary in found])
            texts = [_plus_minus(summary) for summary in found]
            rows.append([Cell(_row_name(cells, dataset, method)), *map(Cell, texts)])
        average = np.mean(means, axis=0)
        texts = [_shown(value, 3) for value in average]
        rows.append([Cell(_row_name(cells, "Average", method)), *map(Cell, texts)])
    return Table(f"{metric} by {', '.join(map(in_words, varied))}", header, rows, [])


def _significance_tables(cells: Cells) -> list[Table]:
    (settings,) = cells.experiment.settings
    titles = {"normal": "Normal test rows", "anomalies": "Anomalous test rows"}
    header = ["Data", *(f"{1 - level:.1%}" for level in LEVELS)]
    made = []
    for who, title in titles.items():
        rows = []
        for dataset in cells.datasets:
            for method in cells.methods:
                shares = [
                    cells.mean(dataset, method, settings, f"{who} beyond {level}")
                    for level in LEVELS
                ]
                name = Cell(_row_name(cells, dataset, method))
                rows.append([name, *(Cell(f"{share:.1%}") for share in shares)])
        made.append(Table(f"{title} beyond what this share of the prior exceeds", header, rows, []))
    return made


def _unknown_tables(cells: Cells) -> list[Table]:
    settings = cells.experiment.settings
    made = []
    for metric in reversed(RANKING):
        columns = [(s, kind) for kind in ("this kind", "other kinds") for s in settings]
        header = ["Data", *(f"{kind}, {_is_labelled(s)}" for s, kind in columns)]
        rows = []
        for method in cells.methods:
            for dataset in cells.datasets:
                summaries = [
                    cells.summary(dataset, method, s, f"{metric}, {kind}") for s, kind in columns
                ]
                name = Cell(_row_name(cells, dataset, method))
                rows.append([name, *(Cell(_plus_minus(s)) for s in summaries)])
        title = f"{metric} of one kind, labelled or not, and of the other kinds"
        note = "Behind ± stands the spread over kinds and runs: kinds differ in difficulty."
        made.append(Table(title, header, rows, [note]))
    return made


def _is_labelled(settings: dict[str, Any]) -> str:
    return "labelled" if settings["labelled_kinds"] == "all" else "not labelled"


def _runtime_tables(cells: Cells) -> list[Table]:
    made = []
    for growing, settings in cells.experiment.growths():
        header = [in_words(growing)]
        columns = [(m, what) for m in cells.methods for what in ("fit", "score")]
        header += [f"{method}, {what}, s" for method, what in columns]
        medians = np.array(
            [
                [np.median(cells.values(SYNTHETIC, m, s, what) or np.nan) for m, what in columns]
                for s in settings
            ]
        )
        rows = [
            [Cell(f"{s[growing]:,}"), *(Cell(_shown(value, 3)) for value in line)]
            for s, line in zip(settings, medians, strict=True)
        ]
        sizes = [s[growing] for s in settings]
        slopes = [log_slope(sizes, column) for column in medians.T]
        rows.append([Cell("slope on log axes"), *(Cell(_shown(slope, 2)) for slope in slopes)])
        made.append(Table(f"Median seconds by {in_words(growing)}", header, rows, []))
    return made


BUILDERS: dict[str, Callable[[Cells], list[Table]]] = {
    "ranking": _ranking_tables,
    "significance": _significance_tables,
    "unknown anomalies": _unknown_tables,
    "runtime": _runtime_tables,
}


def _row_name(cells: Cells, name: str, method: str) -> str:
    return name if len(cells.methods) == 1 else f"{name}, {method}"


def _plus_minus(summary: Summary | None) -> str:
    if summary is None:
        return "-"
    return f"{summary.mean:.3f}" + (f" ± {summary.std:.3f}" if summary.n > 1 else " (1 run)")


def _shown(value: float, digits: int) -> str:
    """A number, or a dash for what is not known; never minus zero."""
    return "-" if np.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def _is_best(value: float, values: Any) -> bool:
    """Whether no other is better as shown; there must be another one."""
    shown = [round(v, 3) for v in values if not np.isnan(v)]
    return len(shown) > 1 and round(value, 3) == max(shown)


def _data_notes(cells: Cells) -> list[str]:
    """The data sets that are not quite the paper's."""
    described = dict.fromkeys(record.description for record in cells.records)
    return [text for text in described if "as in the paper" not in text and "made" not in text]


def _run_notes(cells: Cells, records: Sequence[Record]) -> list[str]:
    notes = []
    planned = {run.key for run in cells.experiment.plan()}
    n_missing = len(planned - {record.run.key for record in cells.records})
    if n_missing:
        notes.append(f"{n_missing} of {len(planned)} planned runs are missing.")
    if cells.n_unplanned:
        notes.append(
            f"{cells.n_unplanned} runs are left out: the experiment's file does not ask for them."
        )
    for part in cells.experiment.fewer:
        what = ", ".join([*part.get("methods", []), *part["datasets"]])
        notes.append(f"{part['runs']} runs for {what}: {part['reason']}.")
    failed = [record for record in records if record.error]
    notes += [f"Failed: {r.method} on {r.dataset}, seed {r.seed}: {r.error}" for r in failed]
    return notes
