"""Whether repeated runs give the same results."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from devnet.core.whole_file import write_whole
from devnet.core.wording import duration_text, interval_text
from devnet.experiments.results import RunRecord, computing_seconds
from devnet.experiments.statistics import summarise

ROUNDING = 1e-9  # of a mean; equal runs, or a single one, have no interval of their own


class Verdict(NamedTuple):
    """What a second set of runs says about a first one."""

    n_runs: int  # in both sets
    n_missing: int  # in the first set only
    n_equal: int  # with all metrics equal bit for bit
    largest_difference: float
    outside: list[str]  # cells with a new mean outside the old 95% interval
    n_means: int = 0  # cells compared
    n_new: int = 0  # in the second set only
    n_taken: int = 0  # of those in both, runs that another experiment has repeated
    n_taken_equal: int = 0

    @property
    def is_reproduced(self) -> bool:
        """Whether no run is missing, and all agree bit for bit or all means lie in intervals."""
        is_same = self.n_equal == self.n_runs or not self.outside
        return self.n_runs > 0 and not self.n_missing and is_same


def verify(
    old: Sequence[RunRecord], new: Sequence[RunRecord], every: Sequence[RunRecord] = ()
) -> Verdict:
    """Compare the metrics of the runs that are finished in both.

    Parameters
    ----------
    old, new : sequence of RunRecord
        The runs to compare.
    every : sequence of RunRecord, optional
        All runs of which `old` are some: the widths of intervals are theirs. By default `old`.
    """
    finished = {record.run.key: record for record in new if not record.error}
    earlier = {record.run.key: record for record in old if not record.error}
    pairs = [(record, finished[key]) for key, record in earlier.items() if key in finished]
    differences = [
        max((abs(one.metrics[name] - other.metrics[name]) for name in one.metrics), default=0.0)
        for one, other in pairs
    ]
    is_equal = [one.metrics == other.metrics for one, other in pairs]
    is_taken = [bool(other.taken_from) for _, other in pairs]
    outside, n_means = _outside(pairs, every or old)
    return Verdict(
        n_runs=len(pairs),
        n_missing=len(earlier) - len(pairs),
        n_equal=sum(is_equal),
        largest_difference=max(differences, default=0.0),
        outside=outside,
        n_means=n_means,
        n_new=len(finished) - len(pairs),
        n_taken=sum(is_taken),
        n_taken_equal=sum(np.logical_and(is_equal, is_taken).tolist()),
    )


def digest_of(records: Sequence[RunRecord]) -> str:
    """A short text that changes with the metrics of the finished runs, whatever their order."""
    found = sorted((record.run.key, record.metrics) for record in records if not record.error)
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _outside(
    pairs: list[tuple[RunRecord, RunRecord]], every: Sequence[RunRecord]
) -> tuple[list[str], int]:
    """Cells whose new mean is further from the old one than half their interval; and all cells.

    The old mean is of the same runs as the new one; the interval is as wide as that of all runs,
    and never narrower than rounding.
    """
    old, new = (_cells(part) for part in zip(*pairs, strict=True)) if pairs else ({}, {})
    spread = _cells([record for record in every if not record.error])
    outside = []
    for cell, values in old.items():
        low, high = summarise(spread[cell]).interval
        half = float(np.fmax((high - low) / 2, ROUNDING))  # nan for a single run
        was, mean = summarise(values).mean, summarise(new[cell]).mean
        if mean != was and not abs(mean - was) <= half:
            shown = interval_text(was, was - half, was + half, ".4f")
            outside.append(f"{cell}: {mean:.4f}, was {shown}")
    return outside, len(old)


def _cells(records: Sequence[RunRecord]) -> dict[str, list[float]]:
    """The values of each cell, named for people."""
    found: dict[str, list[float]] = {}
    for record in records:
        settings = ", ".join(f"{name}={value}" for name, value in record.settings.items())
        for metric, value in record.metrics.items():
            cell = f"{metric} of {record.method} on {record.dataset} ({settings})"
            found.setdefault(cell, []).append(value)
    return found


class Repeated(NamedTuple):
    """What running one experiment again has shown, or running it on some of its data sets."""

    verdict: Verdict
    source: str  # of the code that ran; see `source_key`
    machine: str
    computing_seconds: float  # of all runs, one after the other
    elapsed_seconds: float  # as it was run, over all sessions; 0 if not known
    digest: str = ""  # of the results that it was compared with
    datasets: Sequence[str] = ()  # none stands for all

    def has(self, dataset: str) -> bool:
        """Whether it includes a data set."""
        return not self.datasets or dataset in self.datasets

    def meets(self, other: "Repeated") -> bool:
        """Whether both include the same data set."""
        return not (self.datasets and other.datasets) or any(map(self.has, other.datasets))

    def among(self, records: Sequence[RunRecord]) -> list[RunRecord]:
        """The runs on its data sets."""
        return [record for record in records if self.has(record.dataset)]


def repeated(
    verdict: Verdict,
    records: Sequence[RunRecord],
    *,
    source: str = "",
    elapsed_seconds: float = 0.0,
    digest: str = "",
    datasets: Sequence[str] = (),
) -> Repeated:
    """A verdict, with what the repeated runs ran on and how long they took."""
    finished = [record for record in records if not record.error]
    machines = sorted({record.versions.get("machine", "") for record in finished})
    seconds = round(computing_seconds(records), 3)
    return Repeated(
        verdict,
        source,
        ", ".join(machines),
        seconds,
        round(elapsed_seconds, 3),
        digest,
        list(datasets),
    )


def _joined(parts: Sequence[Repeated]) -> Repeated:
    """Parts of an experiment, none of which shares a data set with another, as one."""
    columns = dict(
        zip(Verdict._fields, zip(*(one.verdict for one in parts), strict=True), strict=True)
    )
    verdict = Verdict(
        largest_difference=max(columns.pop("largest_difference")),
        outside=list(chain.from_iterable(columns.pop("outside"))),
        **{name: sum(counts) for name, counts in columns.items()},
    )
    is_whole = not all(one.datasets for one in parts)
    return Repeated(
        verdict,
        source=", ".join(dict.fromkeys(one.source for one in parts)),
        machine=", ".join(dict.fromkeys(one.machine for one in parts)),
        computing_seconds=sum(one.computing_seconds for one in parts),
        elapsed_seconds=sum(one.elapsed_seconds for one in parts),
        datasets=[] if is_whole else [name for one in parts for name in one.datasets],
    )


@dataclass(frozen=True)
class Verification:
    """What running experiments again has shown; a small JSON file next to them.

    They need not be repeated on one day, nor by one state of the code: each has entries of its own,
    of all its data sets or of some.
    """

    experiments: dict[str, list[Repeated]]

    @property
    def entries(self) -> list[tuple[str, Repeated]]:
        """All entries, each with what it is of, for people."""
        return [
            (": ".join(filter(None, [name, ", ".join(one.datasets)])), one)
            for name, found in self.experiments.items()
            for one in found
        ]

    @property
    def joined(self) -> dict[str, Repeated]:
        """The parts of each experiment as one."""
        return {name: _joined(found) for name, found in self.experiments.items()}

    @property
    def totals(self) -> dict[str, float]:
        """Sums over the experiments; a run of several counts once."""
        found = [one.verdict for _, one in self.entries]
        return {
            "n_runs": sum(verdict.n_runs - verdict.n_taken for verdict in found),
            "n_missing": sum(verdict.n_missing for verdict in found),
            "n_new": sum(verdict.n_new for verdict in found),
            "n_equal": sum(verdict.n_equal - verdict.n_taken_equal for verdict in found),
            "n_means": sum(verdict.n_means for verdict in found),
            "n_outside": sum(len(verdict.outside) for verdict in found),
            "computing_seconds": self._sum("computing_seconds"),
            "elapsed_seconds": self._sum("elapsed_seconds"),
        }

    @property
    def sentences(self) -> list[str]:
        """What it says, for people."""
        found = self.totals
        n_inside = found["n_means"] - found["n_outside"]
        missing = f"; {found['n_missing']:,} are missing" if found["n_missing"] else ""
        if found["n_new"]:
            missing += f"; {found['n_new']:,} more have no committed result"
        elapsed = found["elapsed_seconds"]
        within = f" in {duration_text(elapsed)}" if elapsed else ""
        machines = "; ".join(sorted({one.machine for _, one in self.entries}))
        n_sources = len({one.source for _, one in self.entries})
        states = f", by {n_sources} states of the code" if n_sources > 1 else ""
        return [
            f"{found['n_equal']:,} of {found['n_runs']:,} repeated runs are equal bit for bit"
            f"{missing}.",
            f"{n_inside:,} of {found['n_means']:,} means lie within the 95% intervals of the "
            "committed ones.",
            f"Computing time: {duration_text(found['computing_seconds'])}{within} "
            f"({machines}{states}).",
        ]

    @property
    def is_reproduced(self) -> bool:
        """Whether every entry is."""
        return all(one.verdict.is_reproduced for _, one in self.entries)

    def updated(self, name: str, newer: Repeated) -> "Verification":
        """With a newer entry of an experiment, in place of those that share a data set with it."""
        kept = [one for one in self.experiments.get(name, []) if not one.meets(newer)]
        return Verification({**self.experiments, name: [*kept, newer]})

    def current(
        self, results: Mapping[str, Sequence[RunRecord]]
    ) -> tuple["Verification", list[str]]:
        """The entries whose results are still those compared with, and the names of the others."""
        kept: dict[str, list[Repeated]] = {}
        outdated: dict[str, None] = {}
        for name, entries in self.experiments.items():
            for one in entries:
                if one.digest and one.digest == digest_of(one.among(results.get(name, []))):
                    kept.setdefault(name, []).append(one)
                else:
                    outdated[name] = None
        return Verification(kept), list(outdated)

    def left(self, name: str, datasets: Sequence[str]) -> list[str]:
        """Those of an experiment's data sets on which it has not been repeated."""
        found = self.experiments.get(name, [])
        return [dataset for dataset in datasets if not any(one.has(dataset) for one in found)]

    def to_json(self) -> dict[str, Any]:
        """Totals, then each experiment, as JSON values."""
        entries = {
            name: [{**one._asdict(), "verdict": one.verdict._asdict()} for one in found]
            for name, found in self.experiments.items()
        }
        return {**self.totals, "experiments": entries}

    def write(self, path: Path) -> None:
        """Save as JSON."""
        write_whole(path, (json.dumps(self.to_json(), indent=2) + "\n").encode())

    def _sum(self, name: str) -> float:
        return round(float(sum(getattr(one, name) for _, one in self.entries)), 3)


def read_verification(path: Path) -> Verification | None:
    """The verification that was saved there, if any."""
    if not path.exists():
        return None
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["experiments"]
        return Verification(
            {
                name: [Repeated(**{**one, "verdict": Verdict(**one["verdict"])}) for one in found]
                for name, found in entries.items()
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is not a verification: {error}. Remove it, or verify the results again."
        ) from error
