"""Whether repeated runs give the same results."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from devnet.core.whole_file import write_whole
from devnet.core.wording import duration_text, interval_text
from devnet.experiments.results import RunRecord, computing_seconds
from devnet.experiments.statistics import summarise


class Verdict(NamedTuple):
    """What a second set of runs says about a first one."""

    n_runs: int  # in both sets
    n_missing: int  # in the first set only
    n_equal: int  # with all metrics equal bit for bit
    largest_difference: float
    outside: list[str]  # cells with a new mean outside the old 95% interval
    n_means: int = 0  # cells compared

    @property
    def is_reproduced(self) -> bool:
        """Whether no run is missing, and all agree bit for bit or all means lie in intervals."""
        is_same = self.n_equal == self.n_runs or not self.outside
        return self.n_runs > 0 and not self.n_missing and is_same


def verify(old: Sequence[RunRecord], new: Sequence[RunRecord]) -> Verdict:
    """Compare the metrics of the runs that are finished in both."""
    finished = {record.run.key: record for record in new if not record.error}
    pairs = [
        (record, finished[record.run.key])
        for record in old
        if not record.error and record.run.key in finished
    ]
    differences = [
        max((abs(one.metrics[name] - other.metrics[name]) for name in one.metrics), default=0.0)
        for one, other in pairs
    ]
    n_finished = sum(not record.error for record in old)
    return Verdict(
        len(pairs),
        n_finished - len(pairs),
        sum(one.metrics == other.metrics for one, other in pairs),
        max(differences, default=0.0),
        *_outside(pairs),
    )


def _outside(pairs: list[tuple[RunRecord, RunRecord]]) -> tuple[list[str], int]:
    cells: dict[str, list[tuple[float, float]]] = {}
    for one, other in pairs:
        settings = ", ".join(f"{name}={value}" for name, value in one.settings.items())
        for metric, value in one.metrics.items():
            cell = f"{metric} of {one.method} on {one.dataset} ({settings})"
            cells.setdefault(cell, []).append((value, other.metrics[metric]))
    outside = []
    for cell, values in cells.items():
        old, new = (summarise(part) for part in zip(*values, strict=True))
        low, high = old.interval
        if old.mean != new.mean and not low <= new.mean <= high:
            outside.append(
                f"{cell}: {new.mean:.4f}, was {interval_text(old.mean, low, high, '.4f')}"
            )
    return outside, len(cells)


class Repeated(NamedTuple):
    """What running one experiment again has shown."""

    verdict: Verdict
    source: str  # of the code that ran; see `source_key`
    machine: str
    computing_seconds: float  # of all runs, one after the other
    elapsed_seconds: float  # as it was run, over all sessions; 0 if not known


def repeated(
    verdict: Verdict,
    records: Sequence[RunRecord],
    *,
    source: str = "",
    elapsed_seconds: float = 0.0,
) -> Repeated:
    """A verdict, with what the repeated runs ran on and how long they took."""
    finished = [record for record in records if not record.error]
    machines = sorted({record.versions.get("machine", "") for record in finished})
    seconds = round(computing_seconds(records), 3)
    return Repeated(verdict, source, ", ".join(machines), seconds, round(elapsed_seconds, 3))


@dataclass(frozen=True)
class Verification:
    """What running experiments again has shown; a small JSON file next to them.

    They need not be repeated on one day, nor by one state of the code: each has its own entry.
    """

    experiments: dict[str, Repeated]

    @property
    def totals(self) -> dict[str, float]:
        """Sums over the experiments."""
        found = [one.verdict for one in self.experiments.values()]
        return {
            "n_runs": sum(verdict.n_runs for verdict in found),
            "n_missing": sum(verdict.n_missing for verdict in found),
            "n_equal": sum(verdict.n_equal for verdict in found),
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
        elapsed = found["elapsed_seconds"]
        within = f" in {duration_text(elapsed)}" if elapsed else ""
        machines = "; ".join(sorted({one.machine for one in self.experiments.values()}))
        n_sources = len({one.source for one in self.experiments.values()})
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
        """Whether every experiment is."""
        return all(one.verdict.is_reproduced for one in self.experiments.values())

    def updated(self, experiments: Mapping[str, Repeated]) -> "Verification":
        """With newer entries of some experiments."""
        return Verification({**self.experiments, **experiments})

    def to_json(self) -> dict[str, Any]:
        """Totals, then each experiment, as JSON values."""
        entries = {
            name: {**one._asdict(), "verdict": one.verdict._asdict()}
            for name, one in self.experiments.items()
        }
        return {**self.totals, "experiments": entries}

    def write(self, path: Path) -> None:
        """Save as JSON."""
        write_whole(path, (json.dumps(self.to_json(), indent=2) + "\n").encode())

    def _sum(self, name: str) -> float:
        return round(float(sum(getattr(one, name) for one in self.experiments.values())), 3)


def read_verification(path: Path) -> Verification | None:
    """The verification that was saved there, if any."""
    if not path.exists():
        return None
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["experiments"]
        return Verification(
            {
                name: Repeated(**{**entry, "verdict": Verdict(**entry["verdict"])})
                for name, entry in entries.items()
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path} is not a verification: {error}. Remove it, or verify the results again."
        ) from error
