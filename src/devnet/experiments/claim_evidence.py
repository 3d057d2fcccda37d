"""What claims are checked against: the means of committed runs, resampled.

Every number of an answer is computed for the runs as they are and, in the same expression, for a
thousand draws of them with replacement, so its interval needs no formula of its own. All cells of
a data set with the same number of runs are drawn alike: runs of one seed share their split.
"""

import zlib
from collections import Counter
from collections.abc import Sequence
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from devnet.experiments.cells import RANKING, Cells, published
from devnet.experiments.plan import Experiment
from devnet.experiments.results import RunRecord

N_DRAWS = 1000
LEVELS = (0.025, 0.975)


class NotMeasuredError(Exception):
    """Runs that an answer needs are missing; the text is the command that does them."""


class NotTestableError(Exception):
    """An answer would not be about what the paper says; the text is the reason."""


class NotPublishedError(Exception):
    """The paper has no figure of a cell."""


class Place(NamedTuple):
    """One cell of an experiment."""

    experiment: str
    dataset: str
    method: str
    settings: dict[str, Any]


class Evidence:
    """The finished runs of all experiments.

    Parameters
    ----------
    results : sequence of (Experiment, sequence of RunRecord)
        As the page of experiments gets them.
    """

    def __init__(self, results: Sequence[tuple[Experiment, Sequence[RunRecord]]]) -> None:
        self._cells = {one.name: Cells(one, records) for one, records in results}
        self._runs: dict[tuple[str, str, str, str], list[RunRecord]] = {}
        for name, cells in self._cells.items():
            for record in sorted(cells.records, key=lambda record: record.seed):
                place = Place(name, record.dataset, record.method, record.settings)
                self._runs.setdefault(_key(place), []).append(record)
        self._n_planned = Counter(
            _key(Place(one.name, run.dataset, run.method, run.settings))
            for one, _ in results
            for run in one.plan()
        )

    def cells(self, experiment: str) -> Cells:
        """The runs of an experiment, if it has any."""
        found = self._cells.get(experiment)
        if found is None or not found.records:
            raise NotMeasuredError(command(experiment))
        return found

    def experiment(self, name: str) -> Experiment:
        """The plan of an experiment that has runs."""
        return self.cells(name).experiment

    def is_left_out(self, place: Place) -> bool:
        """Whether the experiment has the method, but asks for no runs of this cell."""
        is_known = place.method in self.experiment(place.experiment).methods
        return is_known and not self._n_planned[_key(place)]

    def runs(self, place: Place) -> list[RunRecord]:
        """All runs of a cell, by seed; a few of them are no answer yet."""
        found = self._runs.get(_key(place), [])
        if not found or len(found) < self._n_planned[_key(place)]:
            raise NotMeasuredError(command(place.experiment))
        return found

    def mean(self, place: Place, metric: str) -> np.ndarray:
        """Mean of the runs, then of each draw of them: (1 + draws,)."""
        return np.asarray(np.mean(self._drawn(place, metric), axis=1))

    def median(self, place: Place, metric: str) -> np.ndarray:
        """Median of the runs, then of each draw of them: (1 + draws,)."""
        return np.asarray(np.median(self._drawn(place, metric), axis=1))

    def spread(self, place: Place, metric: str) -> np.ndarray:
        """Standard deviation of the runs, then of each draw of them: (1 + draws,)."""
        if len(self.runs(place)) < 2:
            raise NotMeasuredError(command(place.experiment))
        return np.asarray(np.std(self._drawn(place, metric), axis=1, ddof=1))

    def published(self, place: Place, metric: str) -> np.ndarray:
        """The paper's figure of a cell: (1,)."""
        theirs = published(self.experiment(place.experiment), metric) if metric in RANKING else {}
        if place.method not in theirs.get(place.dataset, {}):
            raise NotPublishedError
        return np.array([theirs[place.dataset][place.method]])

    def _drawn(self, place: Place, metric: str) -> np.ndarray:
        """The runs as they are, then draws of them: (1 + draws, n)."""
        values = np.array([_value(record, metric) for record in self.runs(place)])
        n = len(values)
        generator = np.random.default_rng([zlib.crc32(place.dataset.encode()), n])
        drawn = generator.integers(0, n, (N_DRAWS, n))
        return np.asarray(values[np.vstack([np.arange(n), drawn])])


def interval(numbers: np.ndarray) -> tuple[float, float]:
    """95% interval of the first number by the others, which are draws of it."""
    draws = numbers[np.isfinite(numbers)]
    low, high = np.quantile(draws, LEVELS)
    return min(float(low), float(numbers[0])), max(float(high), float(numbers[0]))


def command(experiment: str) -> str:
    """What does the missing runs."""
    return f"devnet experiment run {quote(experiment)}"


def _value(record: RunRecord, metric: str) -> float:
    """A result of a run; `seconds` are those of training and scoring together."""
    if metric == "seconds":
        return record.seconds["fit"] + record.seconds["score"]
    return (record.metrics | record.seconds)[metric]


def _key(place: Place) -> tuple[str, str, str, str]:
    settings = repr(sorted(place.settings.items()))
    return place.experiment, place.dataset, place.method, settings
