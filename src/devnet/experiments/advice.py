"""From runs of several methods on one table to intervals, and to a recommendation."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from devnet.core.wording import interval_text
from devnet.detectors.methods import RECOMMENDED

LEVEL = 0.95  # of intervals
TELLING = 0.8  # level of the interval that excludes 0 if two methods can be told apart
ENOUGH = 0.5  # standard errors by which a method must lead the recommended one
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
    lead: Interval  # AUC-PR minus that of the method to take; valid for all methods at once
    seconds: float  # median fit time
    precision: np.ndarray  # (n_splits, n_recalls)
    is_rival: bool = False  # cannot be told apart from the method to take


def choose_method(runs: dict[str, list[SplitResult]], by_chance: float, test_share: float) -> str:
    """The method to take: the best on average, or the recommended one where that is as good.

    The recommended method is taken if the best is ahead of it by less than half a standard error.
    On tables with a known truth, this rule named the better method more often than the highest
    mean alone, and than asking for a clear lead. Methods that do not rank clearly above chance are
    taken only if none does.

    Parameters
    ----------
    runs : dict
        The runs of each method, in the same order of splits.
    by_chance : float
        Highest AUC-ROC that may be chance.
    test_share : float
        Share of rows that a split tests on.
    """
    able = [name for name in runs if np.mean([run.auc_roc for run in runs[name]]) > by_chance]
    auc_pr = {name: np.array([run.auc_pr for run in runs[name]]) for name in able or runs}
    if not able and RECOMMENDED in runs:
        return RECOMMENDED
    best = max(auc_pr, key=lambda name: auc_pr[name].mean())
    if RECOMMENDED not in auc_pr:
        return best
    ahead = auc_pr[best] - auc_pr[RECOMMENDED]
    is_clear = ahead.mean() > ENOUGH * standard_error(ahead, test_share)
    return best if is_clear else RECOMMENDED


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
                method != to_beat and not _is_behind(auc_pr - auc_pr_to_beat, test_share),
            )
        )
    return sorted(found, key=lambda one: (-one.auc_pr.mean, one.method != to_beat))


def _is_behind(leads: np.ndarray, test_share: float) -> bool:
    """Whether a method is clearly behind; in simulations, this was right about 19 times in 20."""
    enough = stats.t.isf((1 - TELLING) / 2, len(leads) - 1) * standard_error(leads, test_share)
    return bool(leads.mean() < -enough)


def interval(values: np.ndarray, test_share: float, n_together: int = 1) -> Interval:
    """Mean and 95% interval of values on splits that share rows.

    With `n_together` intervals, all of them hold at once with 95% confidence (Bonferroni).
    """
    mean, half = float(values.mean()), float(half_width(values, test_share, n_together))
    return Interval(mean, mean - half, mean + half)


def half_width(values: np.ndarray, test_share: float, n_together: int = 1) -> np.ndarray:
    """Half the 95% interval of a mean over splits, (n_splits, ...) -> (...); nan for one split."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    quantile = stats.t.isf((1 - LEVEL) / 2 / n_together, len(values) - 1)
    return np.asarray(quantile * standard_error(values, test_share))


def standard_error(values: np.ndarray, test_share: float) -> np.ndarray:
    """Standard error of a mean over splits, (n_splits, ...) -> (...); 0 for one split.

    The splits share training rows, so their values vary less than those of fresh tables would.
    Nadeau and Bengio's correction (2003) allows for it.
    """
    n = len(values)
    if n < 2:
        return np.zeros(values.shape[1:])
    variance = (1 / n + test_share / (1 - test_share)) * values.var(axis=0, ddof=1)
    return np.asarray(np.sqrt(variance))


def highest_by_chance(
    n_labelled: int | np.ndarray, n_unlabelled: int | np.ndarray, n_methods: int
) -> float:
    """The AUC-ROC that the best of several methods rarely exceeds if labels mean nothing.

    Unlike AUC-PR, AUC-ROC then has a known distribution for any method, that of Mann and Whitney's
    statistic. A repeat ranks each row once; further repeats only steady the mean. Arrays are the
    numbers of rows of several sets without common rows, by whose mean AUC-ROC methods are judged.
    """
    labelled, unlabelled = np.atleast_1d(n_labelled), np.atleast_1d(n_unlabelled)
    variance = ((labelled + unlabelled + 1) / (12 * labelled * unlabelled)).mean() / len(labelled)
    return float(0.5 + stats.norm.isf((1 - LEVEL) / 2 / n_methods) * np.sqrt(variance))


class Verdict(NamedTuple):
    """What a comparison comes to."""

    recommended: str
    advice: str  # in plain words
    undecided: list[str]  # methods that cannot be told apart from the recommended one


def advise(methods: list[Evaluated], to_beat: str, by_chance: float) -> Verdict:
    """The method to take and why, in plain words, and the methods that may be as good.

    Parameters
    ----------
    methods : list of Evaluated
        The best first.
    to_beat : str
        The method to take, with which the others are compared.
    by_chance : float
        Highest AUC-ROC that may be chance.
    """
    able = [one for one in methods if one.auc_roc.mean > by_chance]
    if not able:
        others = [one.method for one in methods if one.method != to_beat]
        return Verdict(to_beat, _at_chance(methods, by_chance), others)
    taken = next(one for one in methods if one.method == to_beat)
    rivals = [one for one in able if one.is_rival]
    if rivals:
        return Verdict(to_beat, _undecided(taken, rivals), [one.method for one in rivals])
    behind = [one for one in methods if one is not taken and not one.is_rival]
    return Verdict(to_beat, _decided(taken, behind, len(methods)), [])


def _at_chance(methods: list[Evaluated], by_chance: float) -> str:
    highest = max(methods, key=lambda one: one.auc_roc.mean)
    return (
        "No method ranks labelled anomalies clearly above chance: the highest AUC-ROC is "
        f"{highest.auc_roc.mean:.3f}, by {_named(highest.method)}, and up to {by_chance:.3f} "
        "may be chance here. The columns may say nothing about them, or there are too few "
        "labels; check the labels first."
    )


def _undecided(taken: Evaluated, rivals: list[Evaluated]) -> str:
    """Advice if methods cannot be told apart: which to take by default."""
    *names, last = (_named(one.method) for one in (taken, *rivals))
    rival = rivals[0]
    lead = rival.lead if rival.lead.mean > 0 else _reversed(rival.lead)
    ahead, behind = (rival, taken) if rival.lead.mean > 0 else (taken, rival)
    how = (
        f"{_named(ahead.method)} leads {_named(behind.method)} by {interval_text(*lead)}"
        if lead.mean >= NO_LEAD
        else "their mean AUC-PR is the same"
    )
    default = (
        ", as it has p-values without holding rows back" if taken.method == RECOMMENDED else ""
    )
    return (
        f"Cannot tell {', '.join(names)} and {last} apart: {how}. "
        f"{'Either' if len(rivals) == 1 else 'Any of them'} will do; by default, take "
        f"{_praised(taken)}{default}."
    )


def _decided(taken: Evaluated, others: list[Evaluated], n_methods: int) -> str:
    """Advice if one method is ahead of all others."""
    if n_methods == 1:
        return f"Take {_praised(taken)}. It was compared with no other method."
    if not others:
        return f"Take {_praised(taken)}. No other method ranks clearly above chance here."
    lead = _reversed(others[0].lead)
    sure = "" if lead.low > 0 else "probably "
    return (
        f"Take {_praised(taken)}, {sure}ahead of {_named(others[0].method)} by "
        f"{interval_text(*lead)}."
    )


def _reversed(lead: Interval) -> Interval:
    return Interval(*(0.0 - part for part in (lead.mean, lead.high, lead.low)))


def _praised(one: Evaluated) -> str:
    return f"{_named(one.method)}: AUC-PR {interval_text(*one.auc_pr)}"


def _named(method: str) -> str:
    return f"the {method}" if method == RECOMMENDED else method


def _as_shares(value: Interval) -> Interval:
    return Interval(*(float(np.clip(part, 0, 1)) for part in value))
