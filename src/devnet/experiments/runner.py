"""Does the missing runs of an experiment in parallel, and records each as it ends."""

import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from devnet import __version__
from devnet.core.cores import n_cores
from devnet.datasets.image_sets import IMAGE_SETS, load_images
from devnet.datasets.raw_tables import RAW_TABLES
from devnet.datasets.raw_texts import RAW_TEXTS, load_texts
from devnet.datasets.signal_sets import SIGNAL_SETS, load_signals
from devnet.detectors.methods import find_method
from devnet.experiments.equal_runs import EqualRuns
from devnet.experiments.measures import MEASURES
from devnet.experiments.memory import forget_peak_memory, peak_memory
from devnet.experiments.plan import SYNTHETIC, Experiment, Run
from devnet.experiments.results import ResultsFile, RunRecord
from devnet.experiments.shared_data import open_shared, share
from devnet.experiments.shared_tables import open_shared_table, share_table
from devnet.experiments.variations import decoded
from devnet.experiments.workers import Answer, Workers


class Data(NamedTuple):
    """The data set of a run, for people and for programs."""

    description: str
    facts: dict[str, Any]  # likeness and size


class Progress(NamedTuple):
    """How far an experiment has come."""

    n_done: int
    n_runs: int
    seconds_left: float  # for runs whose time can be estimated from others like them
    is_at_least: bool  # whether other runs remain besides these
    record: RunRecord | None  # the run that just ended


def run_experiment(
    experiment: Experiment,
    runs: list[Run],
    results: Path,
    *,
    others: Iterable[Path] = (),
    n_workers: int | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> list[RunRecord]:
    """Do the runs that are not in the results file yet.

    Parameters
    ----------
    experiment : Experiment
    runs : list of Run
        All or some runs of its plan.
    results : Path
        Each run becomes a line of this file when it ends. After an interruption, another call
        does only what is missing; failed runs are tried again.
    others : iterable of Path, optional
        Results files of other experiments. A run that one of them has done on the same data with
        the same versions is taken from there, unless the experiment measures time.
    n_workers : int, optional
        Processes; by default one per core, or a single one if the experiment measures time.
    on_progress : callable, optional
        Called at the start and after each run.

    Returns
    -------
    records : list of RunRecord
        The records of all these runs, finished or failed.
    """
    if n_workers is None:
        n_workers = n_cores() if experiment.in_parallel else 1
    with ResultsFile(results) as file:
        done_elsewhere = EqualRuns(others if experiment.in_parallel else ())
        session = _Session(runs, file, done_elsewhere, on_progress)
        session.go(n_workers, fresh=not experiment.in_parallel)
        file.tidy(experiment.plan())
        wanted = {run.key for run in runs}
        return [record for record in file.records if record.run.key in wanted]


class _Session:
    """One call of `run_experiment`."""

    def __init__(
        self,
        runs: list[Run],
        file: ResultsFile,
        done_elsewhere: EqualRuns,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._file = file
        self._done_elsewhere = done_elsewhere
        self._on_progress = on_progress
        finished = {record.run.key for record in file.records if not record.error}
        self._n_runs = len(runs)
        self._missing = [run for run in runs if run.key not in finished]
        self._n_done = self._n_runs - len(self._missing)
        self._n_workers = 1
        self._data: dict[str, Data] = {}

    def go(self, n_workers: int, *, fresh: bool) -> None:
        self._n_workers = n_workers
        self._report(None)
        if not self._missing:
            return
        _refuse_unknown_methods(self._missing)
        if n_workers > 1:  # so that all workers end at about the same time
            self._missing = longest_first(self._missing, self._alike())
        to_share = deque(dict.fromkeys(run.dataset for run in self._missing))
        ready: deque[Run] = deque()
        with self._file.scratch_folder() as folder, Workers(n_workers, fresh=fresh) as workers:
            while self._missing:
                while workers.n_free and (ready or to_share):
                    if ready:
                        run = ready.popleft()
                        workers.start(run, perform, run, folder)
                    else:
                        workers.start(to_share[0], prepare, to_share.popleft(), folder)
                for answer in workers.answers():
                    if opened := self._take(answer):
                        wanted = {run.key for run in [*ready, *opened]}
                        ready = deque(run for run in self._missing if run.key in wanted)

    def _take(self, answer: Answer) -> list[Run]:
        """Record an ended run; once a data set is ready, return its runs."""
        if isinstance(answer.label, Run):
            self._record(answer.label, answer)
            return []
        runs = [run for run in self._missing if run.dataset == answer.label]
        error = answer.error or self._other_data(answer.label, answer.result)
        if error:
            for run in runs:
                self._record(run, Answer(run, None, error))
            return []
        self._data[answer.label] = answer.result
        return [run for run in runs if not self._take_from_others(run, answer.result)]

    def _take_from_others(self, run: Run, data: Data) -> bool:
        found = self._done_elsewhere.find(run, data.facts, versions())
        if found is not None:
            self._add(run, found)
        return found is not None

    def _other_data(self, dataset: str, found: Data) -> str:
        """Why runs on this copy of a set must not join earlier ones, or nothing."""
        done = [r for r in self._file.records if r.dataset == dataset and not r.error]
        others = dict.fromkeys(r.description for r in done if r.data != found.facts)
        if not others:
            return ""
        return (
            f"the results hold runs on another copy ({', '.join(others)}) than this one "
            f"({found.description}); put new results elsewhere, or move that file away."
        )

    def _record(self, run: Run, answer: Answer) -> None:
        measured = answer.result or {"metrics": {}, "seconds": {}, "peak_memory_mb": 0.0}
        data = self._data.get(run.dataset, Data("", {}))
        record = RunRecord(
            **run._asdict(),
            **measured,
            error=answer.error,
            description=data.description,
            versions=versions(),
            data=data.facts,
        )
        self._add(run, record)

    def _add(self, run: Run, record: RunRecord) -> None:
        self._file.add(record)
        self._missing.remove(run)
        self._n_done += 1
        self._report(record)

    def _alike(self) -> list[RunRecord]:
        """Runs that tell how long the missing ones take."""
        measures = {run.measure for run in self._missing}
        elsewhere = [r for r in self._done_elsewhere.records if r.measure in measures]
        return [*elsewhere, *self._file.records]

    def _report(self, record: RunRecord | None) -> None:
        seconds, is_at_least = estimate(self._missing, self._alike())
        seconds /= min(self._n_workers, max(1, len(self._missing)))
        self._on_progress(Progress(self._n_done, self._n_runs, seconds, is_at_least, record))


def _refuse_unknown_methods(runs: list[Run]) -> None:
    """Refuse an estimator that cannot be imported before any run begins."""
    for method in dict.fromkeys(run.parameters["method"] for run in runs):
        find_method(method)


def estimate(missing: list[Run], records: list[RunRecord]) -> tuple[float, bool]:
    """Seconds for the missing runs, judged by runs of the same method on the same set.

    Also says whether some could not be estimated, so that this is a lower bound.
    """
    means = _mean_seconds(records)
    found = [means.get((run.dataset, run.method)) for run in missing]
    return sum(seconds for seconds in found if seconds is not None), None in found


def longest_first(runs: list[Run], records: list[RunRecord]) -> list[Run]:
    """Runs of unknown length, then the others in descending order of their expected seconds."""
    means = _mean_seconds(records)
    return sorted(runs, key=lambda run: -means.get((run.dataset, run.method), float("inf")))


def _mean_seconds(records: list[RunRecord]) -> dict[tuple[str, str], float]:
    """Mean seconds of the finished runs of a method on a set."""
    known: dict[tuple[str, str], list[float]] = {}
    for record in records:
        if not record.error:
            known.setdefault((record.dataset, record.method), []).append(record.seconds["total"])
    return {alike: sum(seconds) / len(seconds) for alike, seconds in known.items()}


def prepare(dataset: str, folder: Path) -> Data:
    """In a worker: prepare a data set for all workers, and describe it."""
    if dataset == SYNTHETIC:
        return Data("synthetic: made for each run.", {})
    if dataset in RAW_TABLES:
        return Data(*share_table(dataset, folder))
    if dataset in RAW_TEXTS:
        found = load_texts(dataset)
        counts = {"n_rows": len(found.texts), "n_anomalies": int(found.is_anomaly.sum())}
        return Data(found.description, counts)
    if dataset in IMAGE_SETS:
        pictures = load_images(dataset)
        counts = {
            "n_rows": len(pictures.images),
            "n_anomalies": int(pictures.is_anomaly.sum()),
        }
        return Data(pictures.description, counts)
    if dataset in SIGNAL_SETS:
        signals = load_signals(dataset)
        counts = {"n_rows": len(signals.X), "n_anomalies": int(signals.is_anomaly.sum())}
        return Data(signals.description, counts)
    share(dataset, folder)
    shared = open_shared(dataset, folder)
    return Data(shared.description, {"likeness": shared.likeness, **shared.size._asdict()})


def perform(run: Run, folder: Path) -> dict[str, Any]:
    """In a worker: do one run; return metrics, seconds and memory for its record."""
    start = time.perf_counter()
    forget_peak_memory()
    parameters = decoded(run.parameters)
    method = find_method(parameters.pop("method"))
    detector = method(**parameters, random_state=run.seed)
    dataset = _open(run.dataset, folder)
    outcome = MEASURES[run.measure](detector, dataset, run.seed, **run.settings)
    seconds = outcome.seconds | {"total": time.perf_counter() - start}
    return {
        "metrics": outcome.metrics,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "peak_memory_mb": round(peak_memory() / 1e6, 1),
    }


def _open(dataset: str, folder: Path) -> Any:
    """What a measure takes as its data set."""
    if dataset == SYNTHETIC:
        return None
    if dataset in RAW_TEXTS:
        return load_texts(dataset)
    if dataset in IMAGE_SETS:
        return load_images(dataset)
    if dataset in SIGNAL_SETS:
        return load_signals(dataset)
    return (open_shared_table if dataset in RAW_TABLES else open_shared)(dataset, folder)


@cache
def versions() -> dict[str, str]:
    """Versions that results may depend on."""
    return {
        "devnet": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
