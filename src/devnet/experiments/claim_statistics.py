"""The vocabulary of claims: each word is one number computed from the means of cells.

A statistic gets `at(dataset, settings, method)`, which gives a cell's mean followed by its means in
draws of the runs, and works on all of them at once: what it returns is its number for the runs as
they are, followed by its number for each draw. Handed the paper's own figures, it gives what the
paper says of the same data sets. No statistic knows a verdict.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from devnet.experiments.statistics import wilcoxon as signed_rank_test

Settings = dict[str, Any]
At = Callable[[str, Settings, str], np.ndarray]  # -> (1 + draws,)

SAME = 0.0005  # AUC that tables write alike
COMPARABLE = 0.005  # AUC-PR by which a method may be behind and still be called as good
FALL = 0.01  # AUC-PR that counts as a fall


class Scope(NamedTuple):
    """The cells that a claim is about: all of these sets with all of these settings."""

    datasets: list[str]
    settings: list[Settings]  # in the order of the experiment's file, ascending


def improvement(
    at: At,
    scope: Scope,
    *,
    method: str,
    over: Sequence[str],
    of: str = "averages",
    which: str = "least",
) -> np.ndarray:
    """Percent by which a method is better than another; with several, the least or the largest.

    Of "averages", it is the ratio of both averages over all cells; of "sets", the average over
    cells of the ratio in each, which sets with a poor rival dominate.
    """
    ours = _all(at, scope, method)  # (cells, 1 + draws)
    found = []
    for rival in over:
        theirs = _all(at, scope, rival)
        ratio = ours.mean(axis=0) / theirs.mean(axis=0) if of == "averages" else ours / theirs
        found.append(100 * (ratio if of == "averages" else ratio.mean(axis=0)) - 100)
    return np.asarray(np.min(found, axis=0) if which == "least" else np.max(found, axis=0))


def lead(at: At, scope: Scope, *, method: str, over: Sequence[str]) -> np.ndarray:
    """Average over cells of a method's value minus that of the best of the others there."""
    best = np.max([_all(at, scope, rival) for rival in over], axis=0)
    return np.asarray((_all(at, scope, method) - best).mean(axis=0))


def wins(at: At, scope: Scope, *, method: str, over: Sequence[str], by: str = "cell") -> np.ndarray:
    """Share of cells in which no other method is better as tables write it.

    By "setting", the cells are the averages over data sets.
    """
    ours, *others = (_all(at, scope, one) for one in (method, *over))
    best = np.max(others, axis=0)
    if by == "setting":
        shape = (len(scope.datasets), len(scope.settings), -1)
        ours = ours.reshape(shape).mean(axis=0)
        best = np.max([one.reshape(shape).mean(axis=0) for one in others], axis=0)
    return np.asarray((ours > best - SAME).mean(axis=0))


def ahead(at: At, scope: Scope, *, methods: Sequence[str], over: str) -> np.ndarray:
    """Share of the methods whose average over all cells is higher than that of another."""
    theirs = _all(at, scope, over).mean(axis=0)
    found = [_all(at, scope, method).mean(axis=0) > theirs for method in methods]
    return np.asarray(np.mean(found, axis=0))


def p_value(at: At, scope: Scope, *, method: str, over: Sequence[str]) -> np.ndarray:
    """P-value of the signed-rank test over cells; with several others, the largest.

    It is two-sided, and 1 where the ranks are not in the method's favour: the claim is that it is
    better.
    """
    ours = _all(at, scope, method)[:, 0]
    return np.array([max(_p_value(ours, _all(at, scope, rival)[:, 0]) for rival in over)])


def p_values(at: At, scope: Scope, *, methods: Sequence[str], over: Sequence[str]) -> np.ndarray:
    """The largest p-value that one of several methods has against others."""
    found = [p_value(at, scope, method=method, over=over) for method in methods]
    return np.asarray(np.max(found, axis=0))


def change(at: At, scope: Scope, *, method: str, over: Sequence[str] = ()) -> np.ndarray:
    """Average over sets of the change from the first to the last setting.

    With others, minus the largest such change among them.
    """
    ours = _change(at, scope, method)
    others = [_change(at, scope, one) for one in over]
    return np.asarray(ours - np.max(others, axis=0)) if over else ours


def moving(at: At, scope: Scope, *, methods: Sequence[str], up: bool) -> np.ndarray:
    """Share of the methods that change in this direction from the first to the last setting."""
    found = [(_change(at, scope, method) > 0) == up for method in methods]
    return np.asarray(np.mean(found, axis=0))


def kept(at: At, scope: Scope, *, method: str, over: Sequence[str] = ()) -> np.ndarray:
    """Percent of the first setting's average that is left at the last setting.

    With others, minus the largest such percentage among them.
    """

    def share(one: str) -> np.ndarray:
        first, last = (
            np.mean([at(dataset, s, one) for dataset in scope.datasets], axis=0)
            for s in (scope.settings[0], scope.settings[-1])
        )
        return np.asarray(100 * last / first)

    others = [share(one) for one in over]
    return np.asarray(share(method) - np.max(others, axis=0)) if over else share(method)


def labels_saved(at: At, scope: Scope, *, method: str, over: Sequence[str]) -> np.ndarray:
    """Percent of labels that a method needs less than the best contender; average over sets.

    The best contender of a set has the highest average over label counts there. A count that it
    needs is one with which it is better, by over .005, than with every smaller one. The method
    reaches it with its smallest count that is as good, or at most .005 below. The answer is the
    largest saving over the counts that the contender needs; 0 if there is none.
    """
    counts = np.array([float(s["n_labelled"]) for s in scope.settings])
    saving = 100 * (1 - counts[:, None] / counts)[..., None]  # (ours, theirs, 1)
    saved = []
    for dataset in scope.datasets:
        ours, *others = (
            np.array([at(dataset, s, one) for s in scope.settings])  # (counts, 1 + draws)
            for one in (method, *over)
        )
        best = others[int(np.argmax([one[:, 0].mean() for one in others]))]
        before = np.vstack([np.full_like(best[:1], -np.inf), np.maximum.accumulate(best)[:-1]])
        is_needed = best > before + COMPARABLE
        reaches = ours[:, None] >= best[None] - COMPARABLE  # (ours, theirs, 1 + draws)
        found = np.where(reaches & is_needed[None], saving, 0)
        saved.append(np.max(found, axis=(0, 1)).clip(min=0))
    return np.asarray(np.mean(saved, axis=0))


def falls(at: At, scope: Scope, *, cases: Sequence[Sequence[str]]) -> np.ndarray:
    """Share of cases (method, data set) that fall by over .01 somewhere along the settings."""
    found = [
        _largest_fall(at, scope, method, dataset) > FALL
        for method, dataset in cases
        if dataset in scope.datasets
    ]
    return np.asarray(np.mean(found, axis=0))


def steadier(at: At, scope: Scope, *, method: str, over: Sequence[str]) -> np.ndarray:
    """How much less a method falls along the settings than the steadiest other one.

    A fall is that from a higher mean to a later, lower one; the largest counts, averaged over sets.
    """

    def fall(one: str) -> np.ndarray:
        falls = [_largest_fall(at, scope, one, dataset) for dataset in scope.datasets]
        return np.asarray(np.mean(falls, axis=0))

    return np.asarray(np.min([fall(one) for one in over], axis=0) - fall(method))


def highest(at: At, scope: Scope, *, method: str) -> np.ndarray:
    """The highest value of all cells, in percent."""
    return np.asarray(100 * _all(at, scope, method).max(axis=0))


def ratio(at: At, scope: Scope, *, method: str, over: Sequence[str]) -> np.ndarray:
    """The average of another method as a multiple of a method's, in the last setting.

    With several others, the smallest multiple.
    """
    last = Scope(scope.datasets, scope.settings[-1:])
    ours = _all(at, last, method).mean(axis=0)
    ours[ours == 0] = np.nan  # such as the spread of a draw of equal runs
    return np.asarray(np.min([_all(at, last, one).mean(axis=0) / ours for one in over], axis=0))


def slowest(at: At, scope: Scope, *, method: str, over: Sequence[str]) -> np.ndarray:
    """A method's average as a multiple of the largest of the others, in the last setting."""
    last = Scope(scope.datasets, scope.settings[-1:])
    largest = np.max([_all(at, last, one).mean(axis=0) for one in over], axis=0)
    return np.asarray(_all(at, last, method).mean(axis=0) / largest)


def _p_value(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Two-sided, but 1 where the ranks favour the other."""
    differences = ours - theirs
    favour = np.sign(differences) @ rankdata(np.abs(differences))
    value = signed_rank_test(ours, theirs)
    return 1.0 if value is None or favour <= 0 else value


def _all(at: At, scope: Scope, method: str) -> np.ndarray:
    """All cells of a method: (sets times settings, 1 + draws)."""
    return np.array([at(one, s, method) for one in scope.datasets for s in scope.settings])


def _change(at: At, scope: Scope, method: str) -> np.ndarray:
    first, last = scope.settings[0], scope.settings[-1]
    steps = [at(one, last, method) - at(one, first, method) for one in scope.datasets]
    return np.asarray(np.mean(steps, axis=0))


def _largest_fall(at: At, scope: Scope, method: str, dataset: str) -> np.ndarray:
    means = np.array([at(dataset, s, method) for s in scope.settings])
    return np.asarray((np.maximum.accumulate(means) - means).max(axis=0))
