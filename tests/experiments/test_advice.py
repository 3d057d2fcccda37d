"""Intervals are the formula's, and the advice follows from them, whosever method it favours."""

import numpy as np
import pytest
from scipy import stats

from devnet.experiments.advice import (
    Evaluated,
    Interval,
    SplitResult,
    advise,
    choose_method,
    evaluate,
    half_width,
    highest_by_chance,
    interval,
)
from devnet.experiments.contest import RECALLS

OURS, THEIRS = "deviation ensemble", "PU trees"


def made(name, auc_pr, lead=(0, 0, 0), auc_roc=(0.9, 0.8, 1.0), is_rival=False):
    intervals = (Interval(*values) for values in (auc_pr, auc_roc, lead))
    return Evaluated(name, *intervals, 1.0, np.ones((3, len(RECALLS))), is_rival)


def runs_of(*auc_pr, auc_roc=0.9):
    return [SplitResult(value, auc_roc, np.full(len(RECALLS), value), 0.1) for value in auc_pr]


def test_the_interval_is_the_formula_s():
    # variance 0.04, times 1/3 + (1/3) / (2/3) = 5/6; Student's t with 2 degrees: 4.302653
    found = interval(np.array([0.2, 0.4, 0.6]), test_share=1 / 3)
    half = 4.302653 * (0.04 * 5 / 6) ** 0.5
    assert found == pytest.approx((0.4, 0.4 - half, 0.4 + half), abs=1e-6)
    assert np.isnan(interval(np.array([0.3]), 1 / 3).low)
    values = np.random.default_rng(0).random((9, 4))
    each = [interval(column, 0.25) for column in values.T]
    assert half_width(values, 0.25) == pytest.approx([(one.high - one.low) / 2 for one in each])


def chosen(runs, by_chance=0.6):
    """The verdict about runs, as a comparison reaches it."""
    taken = choose_method(runs, by_chance, 1 / 3)
    return advise(evaluate(runs, taken, 1 / 3), taken, by_chance)


def test_leads_are_paired_by_split():
    runs = {OURS: runs_of(0.1, 0.5, 0.9), THEIRS: runs_of(0.2, 0.6, 1.0)}
    best, second = evaluate(runs, OURS, 1 / 3)
    assert (best.method, second.method) == (THEIRS, OURS)
    assert best.lead == pytest.approx((0.1, 0.1, 0.1))
    assert (best.auc_pr.low, best.auc_pr.high) == (0, 1)
    assert chosen(runs).recommended == THEIRS


def test_without_the_recommended_method_the_best_is_taken():
    runs = {"b": runs_of(0.2, 0.3), "a": runs_of(0.4, 0.5)}
    assert choose_method(runs, 0.6, 1 / 3) == "a"


def test_a_method_that_is_clearly_ahead_is_taken_whosever_it_is():
    methods = [made(THEIRS, (0.6, 0.5, 0.7)), made(OURS, (0.4, 0.3, 0.5), (-0.2, -0.3, -0.1))]
    assert advise(methods, THEIRS, 0.6) == (
        THEIRS,
        "Take PU trees: AUC-PR 0.600 (0.500 to 0.700), ahead of the deviation ensemble by 0.200 "
        "(0.100 to 0.300).",
        [],
    )


def test_the_method_that_looks_best_is_taken_not_the_worst_of_three():
    """The lead may be chance, but nothing speaks for the recommended method either."""
    runs = {
        OURS: runs_of(0.30, 0.32, 0.28, 0.25, 0.35, 0.30),
        THEIRS: runs_of(0.40, 0.38, 0.33, 0.29, 0.36, 0.46),
        "gradient boosting": runs_of(0.36, 0.30, 0.31, 0.33, 0.34, 0.41),
    }
    found = chosen(runs)
    assert found.recommended == THEIRS
    assert found.undecided == ["gradient boosting"]
    assert found.advice.startswith("Cannot tell PU trees and gradient boosting apart: PU trees ")


def test_a_lead_of_nearly_nothing_does_not_replace_the_recommended_method():
    runs = {OURS: runs_of(0.3, 0.4, 0.5, 0.6), THEIRS: runs_of(0.4, 0.31, 0.59, 0.52)}
    found = chosen(runs)
    assert (found.recommended, found.undecided) == (OURS, [THEIRS])
    assert "PU trees leads the deviation ensemble by 0.005" in found.advice


def test_equal_methods_are_called_the_same():
    found = chosen({THEIRS: runs_of(0.3, 0.4, 0.5), OURS: runs_of(0.3, 0.4, 0.5)})
    assert found.recommended == OURS
    assert "and PU trees apart: their mean AUC-PR is the same. Either will do" in found.advice


def test_methods_that_cannot_be_told_apart_are_named_with_the_one_to_take():
    methods = [
        made(THEIRS, (0.62, 0.5, 0.7), (0.02, -0.1, 0.14), is_rival=True),
        made(OURS, (0.6, 0.5, 0.7)),
        made("DevNet", (0.59, 0.5, 0.7), (-0.01, -0.1, 0.08), is_rival=True),
        made("iForest", (0.2, 0.1, 0.3), (-0.4, -0.5, -0.3)),
    ]
    assert advise(methods, OURS, 0.6) == (
        OURS,
        "Cannot tell the deviation ensemble, PU trees and DevNet apart: PU trees leads the "
        "deviation ensemble by 0.020 (-0.100 to 0.140). Any of them will do; by default, take the "
        "deviation ensemble: AUC-PR 0.600 (0.500 to 0.700), as it has p-values without holding "
        "rows back.",
        [THEIRS, "DevNet"],
    )


@pytest.mark.parametrize(("high", "told"), [(-0.1, ", ahead of"), (0.1, ", probably ahead of")])
def test_a_method_wins_clearly_or_probably(high, told):
    methods = [made(OURS, (0.6, 0.5, 0.7)), made(THEIRS, (0.4, 0.3, 0.5), (-0.2, -0.3, high))]
    recommended, advice, undecided = advise(methods, OURS, 0.6)
    assert (recommended, undecided) == (OURS, [])
    assert advice.startswith("Take the deviation ensemble: AUC-PR 0.600 (0.500 to 0.700)" + told)
    assert advice.endswith(f"PU trees by 0.200 ({-high:.3f} to 0.300).")


def test_a_method_at_chance_is_not_taken_beside_one_that_is_not():
    at_chance = runs_of(0.9, 0.9, 0.9, auc_roc=0.5)
    found = chosen({OURS: at_chance, THEIRS: runs_of(0.3, 0.2, 0.4)})
    assert (found.recommended, found.undecided) == (THEIRS, [])
    assert found.advice.endswith("No other method ranks clearly above chance here.")


def test_at_chance_the_recommended_method_is_named_and_none_is_told_apart():
    runs = {THEIRS: runs_of(0.4, 0.5, auc_roc=0.5), OURS: runs_of(0.1, 0.2, auc_roc=0.4)}
    found = chosen(runs)
    assert (found.recommended, found.undecided) == (OURS, [THEIRS])
    assert found.advice.startswith("No method ranks labelled anomalies clearly above chance")


def test_no_method_is_above_chance_by_its_place_among_many(seed):
    """Random scores by ten methods: the highest AUC-ROC is seldom beyond what chance gives."""
    generator = np.random.default_rng(seed)
    ranks = stats.rankdata(generator.normal(size=(400, 10, 60)), axis=-1)
    areas = (ranks[..., :12].sum(axis=-1) - 12 * 13 / 2) / (12 * 48)
    exceeds = areas.max(axis=1) > highest_by_chance(12, 48, n_methods=10)
    assert exceeds.mean() < 0.06
    assert areas.max() > highest_by_chance(12, 48, n_methods=1)


def test_little_precision_among_hidden_anomalies_is_not_chance():
    methods = [made(OURS, (0.08, 0.0, 0.2), auc_roc=(0.98, 0.96, 1))]
    advice = advise(methods, OURS, 0.6).advice
    assert advice.startswith("Take the deviation ensemble: AUC-PR 0.080")


def test_intervals_that_hold_together_are_wider():
    values = np.array([0.2, 0.4, 0.6])
    one, eight = interval(values, 1 / 3), interval(values, 1 / 3, n_together=8)
    ratio = stats.t.isf(0.025 / 8, 2) / stats.t.isf(0.025, 2)
    assert eight.high - eight.mean == pytest.approx(ratio * (one.high - one.mean))


def test_eight_rivals_that_are_as_good_seldom_look_clearly_ahead():
    generator = np.random.default_rng(0)
    names = [OURS, *(f"rival {place}" for place in range(8))]
    n_ahead = 0
    for _ in range(300):
        of_method = np.sqrt(1 / 3) * generator.normal(size=(9, 1))  # what all its splits share
        auc_pr = 0.5 + 0.03 * (of_method + np.sqrt(2 / 3) * generator.normal(size=(9, 9)))
        runs = {name: runs_of(*values) for name, values in zip(names, auc_pr, strict=True)}
        n_ahead += any(one.lead.low > 0 for one in evaluate(runs, OURS, 1 / 3))
    assert n_ahead / 300 < 0.06
