"""Whether repeated runs give the same results."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from devnet.core.whole_file import write_whole
from devnet.core.wording import duration_text, interval_text
from devnet.experiments.results import RunRecord
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


@dataclass(frozen=True)
class Verification:
    """What running everything again has shown; a small JSON file next to the experiments."""

    source: str  # of the code that ran; see `source_key`
    machine: str
    computing_seconds: float  # of all runs, one after the other
    elapsed_seconds: float  # as it was run, over all sessions; 0 if not known
    n_runs: int
    n_missing: int
    n_equal: int  # runs with all metrics equal bit for bit
    n_means: int
    n_outside: int  # means outside the committed ones' 95% intervals
    experiments: dict[str, dict[str, Any]]  # the verdict on each

    @property
    def sentences(self) -> list[str]:
        """What it says, for people."""
        missing = f"; {self.n_missing:,} are missing" if self.n_missing else ""
        elapsed = f" in {duration_text(self.elapsed_seconds)}" if self.elapsed_seconds else ""
        return [
            f"{self.n_equal:,} of {self.n_runs:,} repeated runs are equal bit for bit{missing}.",
            f"{self.n_means - self.n_outside:,} of {self.n_means:,} means lie within the 95% "
            "intervals of the committed ones.",
            f"Computing time: {duration_text(self.computing_seconds)}{elapsed} ({self.machine}).",
        ]

    @property
    def is_reproduced(self) -> bool:
        """Whether every experiment is."""
        return all(Verdict(**one).is_reproduced for one in self.experiments.values())

    def write(self, path: Path) -> None:
        """Save as JSON."""
        write_whole(path, (json.dumps(asdict(self), indent=2) + "\n").encode())


def summarise_verdicts(
    verdicts: Mapping[str, Verdict],
    records: Sequence[RunRecord],
    *,
    source: str = "",
    elapsed_seconds: float = 0.0,
) -> Verification:
    """All verdicts in one, with the time that the repeated runs took."""
    finished = [record for record in records if not record.error]
    machines = sorted({record.versions.get("machine", "") for record in finished})
    seconds = sum(record.seconds["total"] for record in finished)
    found = verdicts.values()
    return Verification(
        source,
        ", ".join(machines),
        round(seconds, 3),
        round(elapsed_seconds, 3),
        sum(verdict.n_runs for verdict in found),
        sum(verdict.n_missing for verdict in found),
        sum(verdict.n_equal for verdict in found),
        sum(verdict.n_means for verdict in found),
        sum(len(verdict.outside) for verdict in found),
        {name: verdict._asdict() for name, verdict in verdicts.items()},
    )


def read_verification(path: Path) -> Verification | None:
    """The verification that was saved there, if any."""
    if not path.exists():
        return None
    try:
        return Verification(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is not a verification: {error}. Remove it, or verify the results again."
        ) from error
