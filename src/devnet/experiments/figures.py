"""Results as figures: plain data for whatever draws them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from devnet.experiments.cells import RANKING, Cells, in_words, published
from devnet.experiments.feedback_results import feedback_figures
from devnet.experiments.figure import Figure, Panel, Point, Series, point
from devnet.experiments.measures import LEVELS
from devnet.experiments.plan import SYNTHETIC, Experiment
from devnet.experiments.results import RunRecord
from devnet.experiments.sensitivity_results import sensitivity_figure
from devnet.experiments.sweep import Standing, fewer_runs, left_out, standing

MOST_BANDS = 3  # methods whose intervals can be told apart in one panel


def figures(experiment: Experiment, records: Sequence[RunRecord]) -> list[Figure]:
    """The figures of an experiment, from whatever runs exist."""
    cells = Cells(experiment, records)
    made = BUILDERS[experiment.measure](cells) if cells.records else []
    if not experiment.remark:
        return made
    return [one._replace(caption=f"{experiment.remark} {one.caption}") for one in made]


def _ranking_figures(cells: Cells) -> list[Figure]:
    varied = cells.experiment.varied
    if cells.experiment.vary:
        return [sensitivity_figure(cells)]
    if not varied:
        return [_comparison_figure(cells)]
    values = [settings[varied[0]] for settings in cells.experiment.settings]
    if not all(isinstance(value, int | float) for value in values):
        return [_setting_figure(cells, varied[0])]
    return [_sweep_figure(cells, varied[0], metric) for metric in reversed(RANKING)]


def _comparison_figure(cells: Cells) -> Figure:
    """One line per set, one dot per method; the paper's figures are hollow."""
    (settings,) = cells.experiment.settings
    panels = []
    for metric in RANKING:
        theirs = published(cells.experiment, metric)
        series = []
        for method in cells.methods:
            series.append(Series(method, _by_dataset(cells, method, settings, metric)))
            paper = [
                Point(i, theirs[dataset][method], np.nan, np.nan)
                for i, dataset in enumerate(cells.datasets)
                if method in theirs.get(dataset, {})
            ]
            if paper:
                series.append(Series(f"{method}, paper", paper, is_reference=True, of=method))
        panels.append(Panel(metric, series, metric, categories=tuple(cells.datasets)))
    return Figure("Ours and the paper's", panels, "Dots are means, lines their 95% intervals.")


def _setting_figure(cells: Cells, setting: str) -> Figure:
    """One line per set, one dot per value of a setting."""
    panels = []
    for metric in RANKING:
        series = [
            Series(f"{settings[setting]}", _by_dataset(cells, method, settings, metric))
            for method in cells.methods
            for settings in cells.experiment.settings
        ]
        panels.append(Panel(metric, series, metric, categories=tuple(cells.datasets)))
    return Figure(f"By {in_words(setting)}", panels, "Dots are means, lines their 95% intervals.")


def _sweep_figure(cells: Cells, setting: str, metric: str) -> Figure:
    """The average, if there are several sets, then one panel per set."""
    found = standing(cells, metric)
    is_crowded = len(cells.methods) > MOST_BANDS
    panels = []
    if len(found.datasets) > 1:
        values = [float(s[setting]) for s in cells.experiment.settings]
        series = [
            Series(method, [Point(x, y, np.nan, np.nan) for x, y in zip(values, row, strict=True)])
            for method, row in zip(found.methods, found.averages.tolist(), strict=True)
        ]
        title = f"average of {len(found.datasets)} sets"
        panels.append(Panel(title, series, in_words(setting), metric))
    for dataset in cells.datasets:
        series = []
        for method in cells.methods:
            points = [
                point(float(s[setting]), cells.values(dataset, method, s, metric))
                for s in cells.experiment.settings
            ]
            series.append(Series(method, points))
        title = f"{dataset} (not the paper's rows)" if cells.is_substitute(dataset) else dataset
        panels.append(Panel(title, series, in_words(setting), metric, has_bands=not is_crowded))
    return Figure(f"{metric} by {in_words(setting)}", panels, _sweep_caption(cells, found))


def _sweep_caption(cells: Cells, found: Standing) -> str:
    """What the lines are, the average ranks, and which lines are of fewer runs."""
    if len(cells.methods) <= MOST_BANDS:
        sentences = ["Bands are 95% intervals of the mean."]
    else:
        sentences = ["Lines are means; a dot shows its 95% interval when pointed at."]
    if len(cells.methods) > 1 and found.datasets:
        order = np.argsort(found.ranks, kind="stable")
        ranks = [f"{found.methods[i]} {found.ranks[i]:.1f}" for i in order]
        sentences.append(f"Average rank over sets and values: {', '.join(ranks)}.")
        sentences.append(left_out(cells, found))
    fewer = fewer_runs(cells)
    sentences += [f"Fewer runs: {'; '.join(fewer)}."] if fewer else []
    return " ".join(filter(None, sentences))


def _significance_figures(cells: Cells) -> list[Figure]:
    """Observed against promised shares; on the diagonal the promise is kept."""
    (settings,) = cells.experiment.settings
    nominal = [1 - level for level in LEVELS]
    promise = [Point(share, share, np.nan, np.nan) for share in nominal]
    panels = []
    for dataset in cells.datasets:
        series = []
        for method in cells.methods:
            points = [
                point(1 - level, cells.values(dataset, method, settings, f"normal beyond {level}"))
                for level in LEVELS
            ]
            series.append(Series(method, [one for one in points if one.y > 0]))
        series.append(Series("as promised", promise, is_reference=True))
        panels.append(Panel(dataset, series, "promised share", "observed share", is_log=True))
    return [
        Figure(
            "Normal test rows by p-value",
            panels,
            "Above the diagonal: more false alarms than promised. Bands are 95% intervals.",
        )
    ]


def _calibration_figures(cells: Cells) -> list[Figure]:
    """One line per set: the share of normal rows below 1%, calibrated and nominal."""
    panels = []
    for settings in cells.experiment.settings:
        series = [
            Series(f"{method}, {what}", _by_dataset(cells, method, settings, what))
            for method in cells.methods
            for what in ("calibrated", "nominal")
        ]
        title = f"{settings['contamination']:.0%} hidden anomalies"
        panels.append(Panel(title, series, "share", categories=tuple(cells.datasets)))
    caption = "The promise is 1%. Lines are 95% intervals of the mean."
    return [Figure("Normal test rows with a p-value of at most 1%", panels, caption)]


def _expectation_figures(cells: Cells) -> list[Figure]:
    """One line per set: the expected quality with its interval, and the observed one."""
    (settings,) = cells.experiment.settings
    series = []
    for method in cells.methods:
        names = ("expected AUC-PR", "low", "high")
        expected, low, high = (_by_dataset(cells, method, settings, name) for name in names)
        points = [Point(e.x, e.y, a.y, b.y) for e, a, b in zip(expected, low, high, strict=True)]
        series.append(Series(f"{method}, expected", points))
        observed = _by_dataset(cells, method, settings, "AUC-PR")
        series.append(Series(f"{method}, test rows", observed, is_reference=True))
    panel = Panel("AUC-PR", series, "AUC-PR", categories=tuple(cells.datasets))
    caption = "Lines are the means of the expected intervals."
    return [Figure("Expected and observed", [panel], caption)]


def _unknown_figures(cells: Cells) -> list[Figure]:
    panels = []
    for metric in RANKING:
        series = []
        for method in cells.methods:
            for settings in cells.experiment.settings:
                found = _by_dataset(cells, method, settings, f"{metric}, this kind")
                points = [
                    Point(p.x, p.y, np.nan, np.nan) for p in found
                ]  # kinds differ, so an interval would mislead
                prefix = "" if len(cells.methods) == 1 else f"{method}, "
                is_labelled = settings["labelled_kinds"] == "all"
                name = f"{prefix}{'labelled' if is_labelled else 'not labelled'}"
                series.append(Series(name, points))
        panels.append(Panel(metric, series, metric, categories=tuple(cells.datasets)))
    caption = "Test rows: normal ones and anomalies of one kind. Means over three kinds."
    return [Figure("One kind, labelled or not", panels, caption)]


def _runtime_figures(cells: Cells) -> list[Figure]:
    panels = []
    for growing, chosen in cells.experiment.growths():
        for what in ("fit", "score"):
            series = [
                Series(method, _median_points(cells, method, growing, chosen, what))
                for method in cells.methods
            ]
            if any(one.points for one in series):
                title = f"{what}, by {in_words(growing)}"
                panels.append(Panel(title, series, in_words(growing), "s", is_log=True))
    return [Figure("Seconds", panels, "Medians; bands reach from the fastest to the slowest run.")]


def _median_points(
    cells: Cells, method: str, growing: str, chosen: list[dict[str, Any]], what: str
) -> list[Point]:
    runs = [(s[growing], cells.values(SYNTHETIC, method, s, what)) for s in chosen]
    return [Point(float(x), float(np.median(v)), min(v), max(v)) for x, v in runs if v]


BUILDERS: dict[str, Callable[[Cells], list[Figure]]] = {
    "ranking": _ranking_figures,
    "significance": _significance_figures,
    "calibration": _calibration_figures,
    "expectation": _expectation_figures,
    "unknown anomalies": _unknown_figures,
    "runtime": _runtime_figures,
    "raw tables": lambda cells: [],
    "text": lambda cells: [],
    "feedback": feedback_figures,
    "images": _ranking_figures,
    "sequences": lambda cells: [],
    "events": lambda cells: [],
}


def _by_dataset(cells: Cells, method: str, settings: dict[str, Any], metric: str) -> list[Point]:
    found = [cells.values(dataset, method, settings, metric) for dataset in cells.datasets]
    return [point(i, values) for i, values in enumerate(found) if values]
