"""Results as tables: plain data for whatever shows them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from devnet.core.wording import decimals_text
from devnet.experiments.cells import RANKING, Cells, differing_data
from devnet.experiments.comparison_table import comparison_table
from devnet.experiments.feedback_results import feedback_tables
from devnet.experiments.image_measure import PEAKS, PIXELS
from devnet.experiments.measures import LEVELS
from devnet.experiments.plan import Experiment
from devnet.experiments.raw_results import raw_results
from devnet.experiments.results import RunRecord
from devnet.experiments.runtime_results import runtime_tables
from devnet.experiments.sensitivity_results import sensitivity_tables
from devnet.experiments.sequence_results import event_tables, sequence_tables
from devnet.experiments.sweep import fewer_runs, sweep_tables
from devnet.experiments.table import Cell, ResultTable, plus_minus


def tables(experiment: Experiment, records: Sequence[RunRecord]) -> list[ResultTable]:
    """The tables of an experiment, from whatever runs exist."""
    cells = Cells(experiment, records)
    if not cells.records:
        return []
    made = BUILDERS[experiment.measure](cells)
    for table in made if experiment.remark else []:
        table.notes.insert(0, experiment.remark)
    made[-1].notes.extend(differing_data(cells.records) + _run_notes(cells, records))
    return made


def _ranking_tables(cells: Cells) -> list[ResultTable]:
    if cells.experiment.vary:
        return sensitivity_tables(cells)
    if len(cells.experiment.settings) > 1:
        return [table for metric in reversed(RANKING) for table in sweep_tables(cells, metric)]
    return [comparison_table(cells, metric) for metric in RANKING]


def _image_tables(cells: Cells) -> list[ResultTable]:
    """Ranking quality, and how well maps show where defects are, for methods that have maps."""
    columns = [(what, s) for what in (PIXELS, PEAKS) for s in cells.experiment.settings]
    header = ["Data", *(f"{what}, {s['n_labelled']} labels" for what, s in columns)]
    rows = []
    located = {(one.dataset, one.method) for one in cells.records if PIXELS in one.metrics}
    for dataset, method in sorted(located):
        means = [cells.mean(dataset, method, s, what) for what, s in columns]
        texts = [decimals_text(mean, 3) if np.isfinite(mean) else "-" for mean in means]
        rows.append([Cell(_row_name(cells, dataset, method)), *map(Cell, texts)])
    note = (
        "Of test images with a defect: whether defective pixels are higher than others, and the "
        "share of images whose highest pixel is defective."
    )
    where = ResultTable("Where the defect is", header, rows, [note])
    return _ranking_tables(cells) + ([where] if rows else [])


def _significance_tables(cells: Cells) -> list[ResultTable]:
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
        made.append(ResultTable(f"{title} with a p-value below", header, rows, []))
    return made


def _calibration_tables(cells: Cells) -> list[ResultTable]:
    header = ["Data", "calibrated", "95% band", "runs within", "binomial band alone", "nominal"]
    made = []
    for settings in cells.experiment.settings:
        rows = []
        for dataset in cells.datasets:
            for method in cells.methods:
                where = (dataset, method, settings)
                means = [cells.mean(*where, name) for name in ("calibrated", "low", "high")]
                counts = ("within", "within the binomial band")
                within = [cells.values(*where, name) for name in counts]
                texts = [
                    f"{means[0]:.2%}",
                    f"{means[1]:.2%} to {means[2]:.2%}",
                    *(f"{sum(found):.0f} of {len(found)}" for found in within),
                    f"{cells.mean(*where, 'nominal'):.2%}",
                ]
                rows.append([Cell(_row_name(cells, dataset, method)), *map(Cell, texts)])
        hidden = f"{settings['contamination']:.0%} hidden anomalies"
        title = f"Normal test rows with a p-value of at most 1%, {hidden}"
        made.append(ResultTable(title, header, rows, []))
    return made


def _expectation_tables(cells: Cells) -> list[ResultTable]:
    (settings,) = cells.experiment.settings
    titles = {
        "AUC-PR expected from the training rows, and observed on the test rows": {
            "expected": "expected AUC-PR",
            "low": "low",
            "high": "high",
            "test rows": "AUC-PR",
            "runs within": "within",
        },
        "Estimated share of hidden anomalies; the truth is " + f"{settings['contamination']:.0%}": {
            "estimate": "hidden share",
            "low": "hidden share, low",
            "high": "hidden share, high",
            "runs within": "hidden share within",
        },
    }
    made = []
    for title, columns in titles.items():
        rows = []
        for method in cells.methods:
            for dataset in cells.datasets:
                *found, within = (
                    cells.values(dataset, method, settings, name) for name in columns.values()
                )
                texts = [decimals_text(float(np.mean(values)), 3) for values in found]
                texts.append(f"{sum(within):.0f} of {len(within)}")
                rows.append([Cell(_row_name(cells, dataset, method)), *map(Cell, texts)])
        made.append(ResultTable(title, ["Data", *columns], rows, []))
    return made


def _unknown_tables(cells: Cells) -> list[ResultTable]:
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
                rows.append([name, *(Cell(plus_minus(s)) for s in summaries)])
        title = f"{metric} of one kind, labelled or not, and of the other kinds"
        note = "± is the spread over kinds and runs: kinds differ in difficulty."
        made.append(ResultTable(title, header, rows, [note]))
    return made


def _is_labelled(settings: dict[str, Any]) -> str:
    return "labelled" if settings["labelled_kinds"] == "all" else "not labelled"


BUILDERS: dict[str, Callable[[Cells], list[ResultTable]]] = {
    "ranking": _ranking_tables,
    "significance": _significance_tables,
    "calibration": _calibration_tables,
    "expectation": _expectation_tables,
    "unknown anomalies": _unknown_tables,
    "runtime": runtime_tables,
    "raw tables": raw_results,
    "text": _ranking_tables,
    "feedback": feedback_tables,
    "images": _image_tables,
    "sequences": sequence_tables,
    "events": event_tables,
}


def _row_name(cells: Cells, name: str, method: str) -> str:
    return name if len(cells.methods) == 1 else f"{name}, {method}"


def _run_notes(cells: Cells, records: Sequence[RunRecord]) -> list[str]:
    notes = []
    planned = {run.key for run in cells.experiment.plan()}
    n_missing = len(planned - {record.run.key for record in cells.records})
    if n_missing:
        notes.append(f"{n_missing} of {len(planned)} planned runs are missing.")
    if cells.n_unplanned:
        notes.append(
            f"{cells.n_unplanned} runs are left out: the experiment's file does not ask for them."
        )
    notes += [f"{one[0].upper()}{one[1:]}." for one in fewer_runs(cells)]
    failed = [record for record in records if record.error]
    notes += [f"Failed: {r.method} on {r.dataset}, seed {r.seed}: {r.error}" for r in failed]
    return notes
