"""Answers about data sets, and about how much a setting matters: queries without rival methods."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from devnet.core.wording import decimals_text, is_number
from devnet.datasets.catalogue import DATASETS
from devnet.datasets.records import Likeness
from devnet.experiments.claim_evidence import Evidence, NotMeasuredError, Place, command
from devnet.experiments.plan import SYNTHETIC
from devnet.experiments.protocol import TEST_SHARE
from devnet.experiments.runtime_results import growth_of


class Fact(NamedTuple):
    """A number, followed by its draws if it has any."""

    numbers: np.ndarray  # (1 + draws,)
    out_of: int = 0
    detail: str = ""
    interval: tuple[float, float] | None = None  # if it is not that of the draws


def sets_as_published(evidence: Evidence, experiment: str) -> Fact:
    """Share of the paper's sets with the paper's rows, columns and anomalies."""
    data = _data(evidence, experiment)
    same = [
        name
        for name, one in data.items()
        if one["likeness"] != Likeness.SUBSTITUTE
        and (one["n_rows"], one["n_columns"]) == (DATASETS[name].n_rows, DATASETS[name].n_columns)
    ]
    others = ", ".join(name for name in data if name not in same)
    detail = f"other rows or columns: {others}" if others else ""
    return Fact(np.array([len(same) / len(DATASETS)]), len(DATASETS), detail)


def labelled_share(
    evidence: Evidence, experiment: str, *, of: str, n_labelled: int, contamination: float
) -> Fact:
    """Percent that the labelled anomalies are of all "training" rows or of all "anomalies".

    The largest over all sets; the training rows are four fifths of the normal ones with hidden
    anomalies added up to the contamination.
    """
    shares = []
    for one in _data(evidence, experiment).values():
        unlabelled = (1 - TEST_SHARE) * (one["n_rows"] - one["n_anomalies"]) / (1 - contamination)
        whole = one["n_anomalies"] if of == "anomalies" else unlabelled + n_labelled
        shares.append(100 * n_labelled / whole)
    return Fact(np.array([max(shares)]), detail=f"from {min(shares):.2g}% to {max(shares):.2g}%")


def anomaly_shares(
    evidence: Evidence, experiment: str, *, percent: dict[str, Sequence[float]]
) -> Fact:
    """Share of sets whose percentage of anomalies lies between these bounds."""
    data = _data(evidence, experiment)
    found = {name: 100 * data[name]["n_anomalies"] / data[name]["n_rows"] for name in percent}
    inside = [percent[name][0] <= found[name] <= percent[name][1] for name in percent]
    detail = "found: " + ", ".join(f"{name} {share:.3g}%" for name, share in found.items())
    return Fact(np.array([np.mean(inside)]), len(inside), detail)


def largest_change(
    evidence: Evidence,
    experiment: str,
    *,
    setting: str,
    default: Any,
    least: float = -np.inf,
    most: float = np.inf,
    metric: str = "AUC-PR",
) -> Fact:
    """Largest change when a setting leaves its default, whether up or down: average over sets.

    The first method of the experiment has all defaults; "margin 1" has another margin. Only values
    from `least` to `most` count.
    """
    changes = _changes(evidence, experiment, setting, default, metric)
    inside = {value: one for value, one in changes.items() if least <= value <= most}
    sizes = np.array([np.abs(one).mean(axis=0) for one in inside.values()])  # (values, 1 + draws)
    worst = list(inside)[int(np.argmax(sizes[:, 0]))]
    datasets = evidence.experiment(experiment).datasets
    by_set = [f"{d} {one[0]:+.3f}" for d, one in zip(datasets, inside[worst], strict=True)]
    return Fact(sizes.max(axis=0), detail=f"largest at {worst:g}: {', '.join(by_set)}")


def best_other_value(
    evidence: Evidence,
    experiment: str,
    *,
    setting: str,
    default: Any,
    most: float = np.inf,
    metric: str = "AUC-PR",
) -> Fact:
    """Gain of the average over sets from the best value of a setting other than its default.

    Only values up to `most` count.
    """
    found = _changes(evidence, experiment, setting, default, metric)
    changes = {value: one.mean(axis=0) for value, one in found.items() if value <= most}
    best = max(changes, key=lambda value: float(changes[value][0]))
    tried = f"{min(changes):g} to {max(changes):g} tried"
    return Fact(changes[best], detail=f"at {best:g}; {tried}")


def exponent(evidence: Evidence, experiment: str, *, methods: Sequence[str], growing: str) -> Fact:
    """Exponent of growth of seconds to fit and score; with several methods, the steepest.

    It is the slope in the experiment's table, with the same interval.
    """
    cells = evidence.cells(experiment)
    for settings in dict(cells.experiment.growths())[growing]:
        for method in methods:
            evidence.runs(Place(experiment, SYNTHETIC, method, settings))  # or it says what to run
    found = {method: growth_of(cells, method, "both", growing) for method in methods}
    steepest = max(found.values(), key=lambda one: one.slope)
    shown = ", ".join(f"{method} {decimals_text(one.slope, 2)}" for method, one in found.items())
    detail = shown if len(found) > 1 else ""
    return Fact(np.array([steepest.slope]), 0, detail, (steepest.low, steepest.high))


def upper_tail(evidence: Evidence, experiment: str, *, deviation: float) -> Fact:
    """Probability that a standard Gaussian exceeds a deviation; no run is asked."""
    one_sided = float(stats.norm.sf(deviation))
    return Fact(np.array([one_sided]), detail=f"{2 * one_sided:.6g} is of both tails")


def _changes(
    evidence: Evidence, experiment: str, setting: str, default: Any, metric: str
) -> dict[float, np.ndarray]:
    """For each value of a setting, the means of all sets minus those of the default.

    Each is of shape (sets, 1 + draws).
    """
    cells = evidence.cells(experiment)
    (settings,) = cells.experiment.settings
    usual, *others = cells.experiment.methods  # the first has all defaults
    named = {name: _value(name, setting) for name in others}
    methods = {value: name for name, value in named.items() if value is not None} | {default: usual}
    if len(methods) < 2:
        raise NotMeasuredError(command(experiment))
    means = {
        value: np.array(
            [
                evidence.mean(Place(experiment, dataset, method, settings), metric)
                for dataset in cells.experiment.datasets
            ]
        )
        for value, method in methods.items()
    }
    at_default = means.pop(default)
    return {value: found - at_default for value, found in means.items()}


def _value(method: str, setting: str) -> float | None:
    """5.0 for a method that is called "margin 5", if the setting is the margin."""
    name, _, value = method.rpartition(" ")
    return float(value) if name == setting and is_number(value) else None


def _data(evidence: Evidence, experiment: str) -> dict[str, dict[str, Any]]:
    """Likeness and size of each of the paper's sets in an experiment."""
    found = {r.dataset: r.data for r in evidence.cells(experiment).records if r.data}
    missing = DATASETS.keys() - found.keys()
    if missing:
        raise NotMeasuredError(f"{command(experiment)} --datasets {','.join(sorted(missing))}")
    return {name: found[name] for name in DATASETS}
