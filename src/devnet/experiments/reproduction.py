"""Runs all experiments again, over as many sessions as it takes, and compares with the committed.

New results have a folder of their own, named after the code that made them: another call with the
same code goes on where the last one ended, and committed results are never written.
"""

import json
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from devnet.core.whole_file import write_whole
from devnet.experiments.first_look import first_look
from devnet.experiments.plan import Experiment, read_experiments
from devnet.experiments.results import RunRecord, computing_seconds, read_results
from devnet.experiments.runner import Progress, run_experiment
from devnet.experiments.source_key import source_key
from devnet.experiments.verification import (
    Repeated,
    Verification,
    digest_of,
    repeated,
    verify,
)

ELAPSED = "elapsed.json"  # seconds by experiment, over all sessions


class Reproduction(NamedTuple):
    """What was run again."""

    place: Path  # where the new results are
    found: list[tuple[Experiment, list[RunRecord]]]
    left_out: list[str]  # titles of experiments without a first look
    verification: Verification

    @property
    def failed(self) -> list[RunRecord]:
        """Runs that ended with an error."""
        return [record for _, records in self.found for record in records if record.error]


def place_of(folder: Path, *, is_quick: bool) -> Path:
    """Where the results of this code are kept; a first look has a folder of its own."""
    return folder / "reproduced" / f"{'quick-' if is_quick else ''}{source_key()}"


def reproduce(
    folder: Path,
    committed: Path,
    names: Collection[str] = (),
    datasets: Collection[str] = (),
    *,
    is_quick: bool = False,
    n_workers: int | None = None,
    on_progress: Callable[[str], Callable[[Progress], None]] = lambda name: lambda progress: None,
    on_repeated: Callable[[str, Repeated], None] = lambda name, found: None,
) -> Reproduction:
    """Do all missing runs, and compare them with the committed ones.

    Parameters
    ----------
    folder : Path
        The experiments.
    committed : Path
        The folder of results to compare with.
    names : collection of str, optional
        Only these experiments; by default all.
    datasets : collection of str, optional
        Only these data sets of each of them.
    is_quick : bool, default=False
        Only one run on the small sets; see `first_look`.
    n_workers : int, optional
        As for `run_experiment`.
    on_progress : callable, optional
        Called with the name of each experiment; returns what `run_experiment` tells its progress.
    on_repeated : callable, optional
        Called with the name of each experiment that is done, and what that has shown.

    Raises
    ------
    ValueError
        If one of the experiments does not have one of the data sets.
    """
    place = place_of(folder, is_quick=is_quick)
    place.mkdir(parents=True, exist_ok=True)
    experiments = [one for one in read_experiments(folder) if not names or one.name in names]
    chosen = [first_look(one) if is_quick else one for one in experiments]
    plans = [(one, one.plan(datasets)) for one in filter(None, chosen)]
    found: list[tuple[Experiment, list[RunRecord]]] = []
    verification = Verification({})
    for one, plan in plans:
        path = place / f"{one.name}.jsonl"
        clock = _Clock(place / ELAPSED, one.name)
        records = run_experiment(
            one,
            plan,
            path,
            others=[other for other in sorted(place.glob("*.jsonl")) if other != path],
            n_workers=n_workers,
            on_progress=clock.noting(on_progress(one.name)),
        )
        clock.note()
        found.append((one, records))
        some = [name for name in one.datasets if name in datasets]
        entry = _entry(
            one,
            records,
            read_results(committed / path.name),
            elapsed_seconds=_share(path, records) * clock.seconds,
            datasets=[] if some == one.datasets else some,
        )
        verification = verification.updated(one.name, entry)
        on_repeated(one.name, entry)
    left_out = [one.title for one, kept in zip(experiments, chosen, strict=True) if kept is None]
    return Reproduction(place, found, left_out, verification)


def _entry(
    experiment: Experiment,
    records: Sequence[RunRecord],
    committed: Sequence[RunRecord],
    *,
    elapsed_seconds: float,
    datasets: Sequence[str],
) -> Repeated:
    """Compare repeated runs with the committed ones."""
    plan = planned(experiment, committed)
    old = [record for record in plan if not datasets or record.dataset in datasets]
    return repeated(
        verify(old, planned(experiment, records), committed),
        records,
        source=source_key(),
        elapsed_seconds=elapsed_seconds,
        digest=digest_of(old),
        datasets=datasets,
    )


def _share(path: Path, records: Sequence[RunRecord]) -> float:
    """The share that runs have in the computing time of all in their file."""
    every = computing_seconds(read_results(path))
    return computing_seconds(records) / every if every else 1.0


def planned(experiment: Experiment, records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs that the plan asks for."""
    asked = {run.key for run in experiment.plan()}
    return [record for record in records if record.run.key in asked]


class _Clock:
    """Counts the seconds of an experiment over all sessions, and notes them after each run.

    So even a process that is killed loses no more than those of the runs under way.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self.seconds = self._earlier = self._noted().get(name, 0.0)
        self._start = time.perf_counter()

    def note(self) -> None:
        """Write the seconds until now to the file."""
        self.seconds = round(self._earlier + time.perf_counter() - self._start, 3)
        noted = self._noted() | {self._name: self.seconds}
        write_whole(self._path, (json.dumps(noted) + "\n").encode())

    def noting(self, on_progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """Note the time, then go on to tell the progress."""

        def noted(progress: Progress) -> None:
            self.note()
            on_progress(progress)

        return noted

    def _noted(self) -> dict[str, float]:
        found: dict[str, float] = {}
        if self._path.exists():
            found = json.loads(self._path.read_text())
        return found
