"""From runs of several methods on one table to intervals, and to a recommendation."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from devnet.core.wording import interval_text
from devnet.detectors.methods import RECOMMENDED

LEVEL = 0.95  # of intervals
NO_LEAD = 0.0005  # AUC-PR that would be written as 0.000


class SplitResult(NamedTuple):
    """One method on one split."""

    auc_pr: float
    auc_roc: float
    precision: np.ndarray  # (n_recalls,) of its precision-recall curve
    seconds: float  # fit time


class Interval(NamedTuple):
    """A mean over splits, and the range in which other splits of such rows would put it."""

    mean: float
    low: float
    high: float


class Evaluated(NamedTuple):
    """One method on all splits."""

    method: str
    auc_pr: Interval
    auc_roc: Interval
    lead: Interval  # AUC-PR minus that of the method to beat; valid for all methods at once
    seconds: float  # median fit time
    precision: np.ndarray  # (n_splits, n_recalls)


def method_to_beat(runs: dict[str, list[SplitResult]]) -> str:
    """The method that all others must beat: the recommended one, or else the best."""
    if RECOMMENDED in runs:
        return RECOMMENDED
    return max(runs, key=lambda method: np.mean([run.auc_pr for run in runs[method]]))


def evaluate(
    runs: dict[str, list[SplitResult]], to_beat: str, test_share: float
) -> list[Evaluated]:
    """All methods with their intervals, the best first.

    Parameters
    ----------
    runs : dict
        The runs of each method, in the same order of splits.
    to_beat : str
        The method that all others must beat.
    test_share : float
        Share of rows that a split tests on.
    """
    auc_pr_to_beat = np.array([run.auc_pr for run in runs[to_beat]])
    found = []
    for method, parts in runs.items():
        auc_pr = np.array([run.auc_pr for run in parts])
        auc_roc = np.array([run.auc_roc for run in parts])
        found.append(
            Evaluated(
                method,
                _as_shares(interval(auc_pr, test_share)),
                _as_shares(interval(auc_roc, test_share)),
                interval(auc_pr - auc_pr_to_beat, test_share, max(1, len(runs) - 1)),
                float(np.median([run.seconds for run in parts])),
                np.stack([run.precision for run in parts]),
            )
        )
    return sorted(found, key=lambda one: (-one.auc_pr.mean, one.method != to_beat))


def interval(values: np.ndarray, test_share: float, n_together: int = 1) -> Interval:
    """Mean and 95% interval of values on splits that share rows.

    With `n_together` intervals, all of them hold at once with 95% confidence (Bonferroni).
    """
    mean, half = float(values.mean()), float(half_width(values, test_share, n_together))
    return Interval(mean, mean - half, mean + half)


def half_width(values: np.ndarray, test_share: float, n_together: int = 1) -> np.ndarray:
    """Half the 95% interval of a mean over splits, (n_splits, ...) -> (...); nan for one split.

    The splits share training rows, so their values vary less than those of fresh tables would.
    Nadeau and Bengio's correction (2003) widens the interval to allow for it.
    """
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    scale = np.sqrt((1 / n + test_share / (1 - test_share)) * values.var(axis=0, ddof=1))
    return np.asarray(stats.t.isf((1 - LEVEL) / 2 / n_together, n - 1) * scale)


def highest_by_chance(n_labelled: int, n_unlabelled: int, n_methods: int) -> float:
    """The AUC-ROC that the best of several methods rarely exceeds if labels mean nothing.

    Unlike AUC-PR, AUC-ROC then has a known distribution for any method, that of Mann and Whitney's
    statistic. A repeat ranks each row once; further repeats only steady the mean.
    """
    variance = (n_labelled + n_unlabelled + 1) / (12 * n_labelled * n_unlabelled)
    return float(0.5 + stats.norm.isf((1 - LEVEL) / 2 / n_methods) * np.sqrt(variance))


def advise(methods: list[Evaluated], to_beat: str, by_chance: float) -> tuple[str, str]:
    """The method to take, and why, in plain words.

    Another method is recommended only if it is clearly ahead of the method to beat.

    Parameters
    ----------
    methods : list of Evaluated
        The best first.
    to_beat : str
        The method that all others must beat.
    by_chance : float
        Highest AUC-ROC that may be chance.
    """
    able = [one for one in methods if one.auc_roc.mean > by_chance]
    if not able:
        highest = max(methods, key=lambda one: one.auc_roc.mean)
        return to_beat, (
            "No method ranks labelled anomalies clearly above chance: the highest AUC-ROC is "
            f"{highest.auc_roc.mean:.3f}, by {_named(highest.method)}, and up to {by_chance:.3f} "
            "may be chance here. The columns may say nothing about them, or there are too few "
            "labels; check the labels first."
        )
    ahead = [one for one in able if one.lead.low > 0]
    base = next((one for one in able if one.method == to_beat), None)
    if ahead:
        return ahead[0].method, (
            f"Take {_praised(ahead[0])}, ahead of {_named(to_beat)} by "
            f"{interval_text(*ahead[0].lead)}."
        )
    if base is None:
        return able[0].method, (
            f"Take {_praised(able[0])}. {_capital(_named(to_beat))} does not clearly rank above "
            "chance here."
        )
    if base is methods[0]:
        return to_beat, _for_best(methods)
    best = methods[0]
    return to_beat, (
        f"Take {_praised(base)}. {best.method} is ahead by {interval_text(*best.lead)}, "
        f"which may be chance, so either will do; {_named(to_beat)} has p-values without holding "
        "rows back."
    )


def _for_best(methods: list[Evaluated]) -> str:
    best = methods[0]
    if len(methods) == 1:
        return f"Take {_praised(best)}. It was compared with no other method."
    second = methods[1]
    lead = Interval(*(-part for part in (second.lead.mean, second.lead.high, second.lead.low)))
    if abs(lead.mean) < NO_LEAD:
        return f"Take {_praised(best)}; {_named(second.method)} is as good."
    sure = "" if lead.low > 0 else ", which may be chance"
    return (
        f"Take {_praised(best)}, ahead of {_named(second.method)} by {interval_text(*lead)}{sure}."
    )


def _praised(one: Evaluated) -> str:
    return f"{_named(one.method)}: AUC-PR {interval_text(*one.auc_pr)}"


def _named(method: str) -> str:
    return f"the {method}" if method == RECOMMENDED else method


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _as_shares(value: Interval) -> Interval:
    return Interval(*(float(np.clip(part, 0, 1)) for part in value))
