"""Whether repeated runs give the same results."""

from collections.abc import Sequence
from typing import NamedTuple

from devnet.core.wording import interval_text
from devnet.experiments.results import RunRecord
from devnet.experiments.statistics import summarise


class Verdict(NamedTuple):
    """What a second set of runs says about a first one."""

    n_runs: int  # in both sets
    n_missing: int  # in the first set only
    n_equal: int  # with all metrics equal bit for bit
    largest_difference: float
    outside: list[str]  # cells with a new mean outside the old 95% interval

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
        _outside(pairs),
    )


def _outside(pairs: list[tuple[RunRecord, RunRecord]]) -> list[str]:
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
    return outside
