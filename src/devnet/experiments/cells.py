"""The runs of an experiment by cell of its tables, and the paper's figures next to them."""

from collections.abc import Iterable, Sequence
from typing import Any

from devnet.datasets.catalogue import DATASETS
from devnet.datasets.records import Likeness
from devnet.experiments.plan import Experiment
from devnet.experiments.published import P_VALUES, TABLE_1, TABLE_2
from devnet.experiments.results import RunRecord
from devnet.experiments.statistics import Summary, summarise

RANKING = ("AUC-ROC", "AUC-PR")
TOLERANCE = 2  # of our standard deviations; cells further from the paper's differ


class Cells:
    """The finished runs of an experiment, by cell.

    Only runs that the experiment's file asks for: those from before it changed are left out.
    """

    def __init__(self, experiment: Experiment, records: Sequence[RunRecord]) -> None:
        self.experiment = experiment
        planned = {run.key for run in experiment.plan()}
        finished = [record for record in records if not record.error]
        self.records = [record for record in finished if record.run.key in planned]
        self.n_unplanned = len(finished) - len(self.records)
        self._of: dict[tuple[str, str], list[RunRecord]] = {}  # by set and method
        for record in sorted(self.records, key=lambda record: record.seed):
            self._of.setdefault((record.dataset, record.method), []).append(record)
        self.datasets = [
            name for name in experiment.datasets if any(r.dataset == name for r in self.records)
        ]
        self.methods = [
            name for name in experiment.methods if any(r.method == name for r in self.records)
        ]

    def values(
        self, dataset: str, method: str, settings: dict[str, Any], metric: str
    ) -> list[float]:
        """One value per run, ordered by seed."""
        return list(self.by_seed(dataset, method, settings, metric).values())

    def by_seed(
        self, dataset: str, method: str, settings: dict[str, Any], metric: str
    ) -> dict[int, float]:
        """The value of each run by seed, ascending."""
        return {
            record.seed: (record.metrics | record.seconds)[metric]
            for record in self._of.get((dataset, method), [])
            if record.settings == settings
        }

    def summary(
        self, dataset: str, method: str, settings: dict[str, Any], metric: str
    ) -> Summary | None:
        """Mean and standard deviation over the runs, if any."""
        values = self.values(dataset, method, settings, metric)
        return summarise(values) if values else None

    def is_substitute(self, dataset: str) -> bool:
        """Whether the rows are not the paper's, so that its results cannot be compared."""
        found = [record.data for record in self.records if record.dataset == dataset]
        return any(data.get("likeness") == Likeness.SUBSTITUTE for data in found)

    def mean(self, dataset: str, method: str, settings: dict[str, Any], metric: str) -> float:
        """Mean over the runs; nan if there are none."""
        found = self.summary(dataset, method, settings, metric)
        return found.mean if found else float("nan")


def published(experiment: Experiment, metric: str) -> dict[str, dict[str, float]]:
    """The paper's figures by data set and method; empty if it has none."""
    if experiment.paper == "Table 1":
        column = 2 * RANKING.index(metric)
        return {
            name: {method: figures[column] for method, figures in row.items()}
            for name, row in TABLE_1.items()
        }
    if experiment.paper == "Table 2":
        column = RANKING.index(metric)
        return {
            name: {method: figures[column] for method, figures in row.items()}
            for name, row in TABLE_2.items()
        }
    return {}


def published_p_values(experiment: Experiment, metric: str) -> dict[str, float]:
    """The paper's p-values of its first method against each other one; empty if it has none."""
    found = P_VALUES.get(experiment.paper, {})
    return {method: values[RANKING.index(metric)] for method, values in found.items()}


def differing_data(records: Iterable[RunRecord]) -> list[str]:
    """Descriptions of the data sets that are not known to be exactly the paper's."""
    differing = [
        record
        for record in records
        if record.dataset in DATASETS and record.data.get("likeness") != Likeness.EXACT
    ]
    return list(dict.fromkeys(record.description for record in differing if record.description))


def differing_cells(cells: Cells, metric: str) -> list[str]:
    """Cells that differ from the paper by more than two of our standard deviations, on its data."""
    (settings,) = cells.experiment.settings
    theirs = published(cells.experiment, metric)
    sentences = []
    for dataset in cells.datasets:
        for method in cells.methods:
            paper = theirs.get(dataset, {}).get(method)
            ours = cells.summary(dataset, method, settings, metric)
            if paper is None or ours is None or cells.is_substitute(dataset):
                continue
            if not abs(ours.mean - paper) > TOLERANCE * ours.std:
                continue
            sentences.append(
                f"{metric} of {method} on {dataset}: {ours.mean:.3f} ± {ours.std:.3f} "
                f"against {paper:.3f}"
            )
    return sentences


def in_words(setting: str) -> str:
    """A setting as a reader calls it."""
    words = {"n_labelled": "labelled anomalies", "n_rows": "rows", "n_columns": "columns"}
    return words.get(setting, setting.replace("_", " "))
