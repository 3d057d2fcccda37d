"""Alert policies: each threshold against what it promises, and against brute force."""

import json
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom
from support.tasks import make_task

from devnet import DeviationEnsemble, DevNet, ModelFileError
from devnet.core.sentence import UserError
from devnet.significance.calibration import Calibration, calibrate
from devnet.significance.policies import (
    POLICIES,
    Alarm,
    Budget,
    Confidence,
    ExpectedCost,
    FalseAlarmRate,
    FalseDiscoveryRate,
    policy_from_json,
    policy_to_json,
)

EXAMPLES = [
    Confidence(),
    Confidence(0.5),
    FalseAlarmRate(0.01),
    Budget(7),
    FalseDiscoveryRate(0.1),
    ExpectedCost(100, 2.5),
]
SCORES = st.lists(st.integers(-9, 9).map(float), max_size=50)
KNOWN = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=50)


def calibration_of(scores, weight=None, labelled=None, share=None):
    scores = np.asarray(scores, dtype=float)
    weight = np.ones(len(scores)) if weight is None else weight
    return Calibration(scores, weight, labelled, share)


def in_batches(scores, seed, n_batches=4):
    edges = np.sort(np.random.default_rng(seed).integers(len(scores) + 1, size=n_batches))
    return np.split(np.asarray(scores, dtype=float), edges)


@given(known=KNOWN, rate=st.floats(0.01, 0.99), seed=st.integers(0, 99))
def test_alerts_are_exactly_the_rows_whose_p_value_is_at_most_the_rate(known, rate, seed):
    calibration = calibration_of(known, np.random.default_rng(seed).random(len(known)) * 20)
    threshold = FalseAlarmRate(rate).threshold(calibration).score
    new = np.arange(-10, 10, 0.25)
    is_rare = calibration.ranks().p_value(new) <= rate
    np.testing.assert_array_equal(new > threshold, is_rare)


def test_the_false_alarm_rate_is_kept_on_fresh_rows(seed):
    generator = np.random.default_rng(seed)
    rate, n_known, n_new = 0.05, 999, 1000
    n_alarms = 0
    for _ in range(100):
        calibration = calibration_of(generator.standard_cauchy(n_known))
        new = generator.standard_cauchy(n_new)
        n_alarms += int((new > FalseAlarmRate(rate).threshold(calibration).score).sum())
    worth = 100 * n_new * n_known // (n_new + n_known)  # rows, as the known scores are random too
    low, high = binom.ppf([0.001, 0.999], worth, rate) / worth
    assert low <= n_alarms / (100 * n_new) <= high


@example(known=[0.0] * 4, scores=[0.0, 0.0, 1.0], tenths=6, seed=0)  # 0.2 * 3 is above 0.6
@given(known=KNOWN, scores=SCORES, tenths=st.integers(1, 9), seed=st.integers(0, 99))
def test_false_discoveries_are_those_of_benjamini_and_hochberg(known, scores, tenths, seed):
    calibration = calibration_of(known)
    new = np.array(scores)
    threshold = (
        FalseDiscoveryRate(tenths / 10).threshold(calibration, in_batches(scores, seed)).score
    )
    n, n_known = len(new), len(known)
    as_high = np.array([1 + sum(one >= score for one in known) for score in scores], dtype=int)
    ordered = np.sort(as_high)  # p-values times n_known + 1; whole numbers compare exactly
    passing = [k for k in range(1, n + 1) if ordered[k - 1] * n * 10 <= tenths * k * (n_known + 1)]
    expected = as_high <= ordered[passing[-1] - 1] if passing else np.zeros(n, dtype=bool)
    np.testing.assert_array_equal(new > threshold, expected)


def test_the_share_of_false_discoveries_is_below_the_rate_in_the_mean(seed):
    generator = np.random.default_rng(seed)
    rate, n_anomalies = 0.2, 40
    shares, found = [], []
    for _ in range(300):
        calibration = calibration_of(generator.random(500))
        new = np.append(generator.random(360), 0.97 + 0.1 * generator.random(n_anomalies))
        is_alert = new > FalseDiscoveryRate(rate).threshold(calibration, [new]).score
        shares.append(is_alert[:-n_anomalies].sum() / max(1, is_alert.sum()))
        found.append(is_alert[-n_anomalies:].mean())
    assert np.mean(shares) < rate
    assert np.mean(found) > 0.5


@given(scores=SCORES, n=st.integers(1, 60), seed=st.integers(0, 99))
def test_a_budget_is_spent_on_the_highest_rows_of_equal_ones_on_the_first(scores, n, seed):
    calibration = calibration_of([0])
    alarm = Alarm(Budget(n).threshold(calibration, in_batches(scores, seed)))
    is_alert = np.concatenate(
        [np.empty(0, bool), *(alarm(b) for b in in_batches(scores, seed + 1))]
    )
    order = np.argsort(-np.array(scores), kind="stable")  # ties go to the first
    assert sorted(order[:n].tolist()) == np.flatnonzero(is_alert).tolist()


def test_no_rows_are_no_alerts():
    calibration = calibration_of(np.arange(99))
    for policy in (Budget(3), FalseDiscoveryRate(0.1)):
        assert policy.threshold(calibration, []).score == np.inf
        assert policy.threshold(calibration, [np.empty(0)]).score == np.inf


@given(
    known=KNOWN,
    labelled=KNOWN,
    share=st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.5]),
    missed=st.sampled_from([0.1, 0.5, 1.0, 2.0, 50.0]),
    seed=st.integers(0, 99),
)
def test_no_threshold_costs_less(known, labelled, share, missed, seed):
    weight = 0.1 + np.random.default_rng(seed).random(len(known))
    known, labelled = np.array(known), np.array(labelled)

    def cost(threshold):
        n_anomalies_above = (labelled > threshold).mean()
        above = weight[known > threshold].sum() / weight.sum()
        false = max(0.0, above - share * n_anomalies_above)
        return missed * share * (1 - n_anomalies_above) + false

    calibration = calibration_of(known, weight, labelled, share)
    found = ExpectedCost(missed, 1.0).threshold(calibration).score
    assert cost(found) == pytest.approx(min(map(cost, np.arange(-10, 10, 0.5))), abs=1e-9)


def test_dearer_misses_lower_the_threshold_and_dearer_alarms_raise_it(seed):
    generator = np.random.default_rng(seed)
    known = np.append(generator.normal(size=980), generator.normal(3, 1, size=20))
    calibration = calibration_of(known, None, generator.normal(3, 1, size=50), 0.02)
    thresholds = [ExpectedCost(missed, 1.0).threshold(calibration).score for missed in (1, 10, 100)]
    assert thresholds[0] > thresholds[1] > thresholds[2]
    assert ExpectedCost(10, 10).threshold(calibration).score == thresholds[0]


@given(scores=SCORES.filter(len), seeds=st.tuples(st.integers(0, 99), st.integers(0, 99)))
def test_batches_and_order_do_not_matter(scores, seeds):
    calibration = calibration_of(np.arange(-5, 5, 0.1), None, np.array([3.0, 4.0, 6.0]), 0.01)
    shuffled = np.random.default_rng(seeds[0]).permutation(scores)
    for policy in EXAMPLES:
        one = policy.threshold(calibration, [np.array(scores)]).score
        assert policy.threshold(calibration, in_batches(shuffled, seeds[1])).score == one
        assert policy.needs_scores or policy.threshold(calibration).score == one


@given(scores=SCORES, cuts=st.lists(st.integers(0, 50), max_size=4), n=st.integers(1, 60))
def test_summaries_of_parts_give_the_threshold_of_the_table(scores, cuts, n):
    calibration = calibration_of(np.arange(-5, 5, 0.1), None, np.array([3.0, 4.0, 6.0]), 0.01)
    parts = np.split(np.array(scores), sorted(min(cut, len(scores)) for cut in cuts))
    for policy in [*EXAMPLES, Budget(n)]:
        summaries = [policy.summary(calibration, [part]) for part in parts]
        whole = policy.threshold(calibration, [np.array(scores)])
        assert policy.threshold_of(calibration, summaries) == whole


def test_confidence_is_the_quantile_of_the_prior_where_there_is_one():
    calibration = calibration_of(np.arange(99.0))
    assert Confidence(0.95).threshold(calibration, (), lambda level: 10 * level).score == 9.5
    assert DevNet().prior_quantile(0.95) == pytest.approx(1.645, abs=1e-3)
    assert DeviationEnsemble().prior_quantile is None


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_confidence_without_a_prior_is_a_share_of_the_unlabelled_rows(level):
    calibration = calibration_of(np.arange(99.0))
    threshold = Confidence(level).threshold(calibration).score
    assert threshold == pytest.approx(100 * level - 1)
    assert threshold == FalseAlarmRate(round(1 - level, 2)).threshold(calibration).score


@pytest.mark.parametrize("policy", EXAMPLES, ids=str)
def test_a_policy_survives_json(policy):
    assert policy_from_json(json.loads(json.dumps(policy_to_json(policy)))) == policy
    assert {type(policy) for policy in EXAMPLES} == set(POLICIES.values())


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        "budget",
        {},
        {"policy": "bugdet", "n": 3},
        {"policy": ["budget"], "n": 3},
        {"policy": "budget"},
        {"policy": "budget", "n": 0},
        {"policy": "budget", "n": "many"},
        {"policy": "budget", "n": 3, "rate": 0.1},
        {"policy": "false-alarm rate", "rate": float("nan")},
    ],
)
def test_edited_json_gets_a_sentence(value):
    with pytest.raises(ModelFileError, match="impossible alert policy.* save the model again"):
        policy_from_json(value)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: FalseAlarmRate(0), "FalseAlarmRate.rate=0. .*above 0 and below 1"),
        (lambda: FalseAlarmRate(1.0), "rate=1.0.*above 0 and below 1"),
        (lambda: FalseDiscoveryRate(-0.1), "FalseDiscoveryRate.rate=-0.1.*above 0 and below 1"),
        (lambda: Confidence(1), "Confidence.level=1.*above 0 and below 1"),
        (lambda: Budget(0), "Budget.n=0. .*whole number of at least 1"),
        (lambda: Budget(2.5), "n=2.5.*whole number of at least 1"),
        (lambda: ExpectedCost(0, 1), "missed=0.*above 0"),
        (lambda: ExpectedCost(1, -1), "false_alarm=-1.*above 0"),
    ],
)
def test_an_impossible_parameter_gets_a_sentence(build, says):
    with pytest.raises(ValueError, match=says):
        build()


def test_a_rate_that_is_too_small_for_the_calibration_gets_a_sentence():
    calibration = calibration_of(np.arange(99.0))
    says = "is 0.001, but with 99 unlabelled rows .* smallest possible is 0.01;"
    for policy in (FalseAlarmRate(0.001), FalseDiscoveryRate(0.001), Confidence(0.999)):
        assert re.search(says, policy.warning(calibration))
        assert policy.threshold(calibration, [np.full(5, 1e9)]).score == np.inf
    for policy in (FalseAlarmRate(0.01), FalseDiscoveryRate(0.01), Confidence(0.99), Budget(5)):
        assert policy.warning(calibration) is None
        assert Alarm(policy.threshold(calibration, [np.full(5, 1e9)]))(np.full(5, 1e9)).all()
    assert Confidence(0.999).warning(calibration, lambda level: 3.0) is None


@pytest.mark.parametrize("n", [1, 7, 99, 607, 730, 12345])
def test_the_rate_that_a_warning_names_is_possible(n):
    calibration = calibration_of(np.arange(float(n)))
    named = re.search("smallest possible is (.*?);", FalseAlarmRate(1e-9).warning(calibration))
    rate = float(named.group(1))
    assert 1 / (n + 1) <= rate < 1.11 / (n + 1)
    assert FalseAlarmRate(rate).threshold(calibration).score == n - 1


def test_scores_that_are_no_numbers_get_a_sentence():
    for policy in (Budget(3), FalseDiscoveryRate(0.1)):
        with pytest.raises(ValueError, match="row 2 is not a number"):
            policy.threshold(calibration_of([1.0, 2.0]), [np.array([1, 2, np.nan])])


def test_the_cost_needs_what_only_the_ensemble_knows(seed):
    rows, y, truth = make_task(seed, shift=3)
    says = r"from 5 labelled .* fit again with method='deviation ensemble'\.$"
    with pytest.raises(UserError, match=says) as caught:
        ExpectedCost(10, 1).threshold(calibration_of(np.arange(99.0)))
    spelled = caught.value.spelled(lambda setting: f'--{setting.name} "{setting.value}"')
    assert spelled.endswith('fit again with --method "deviation ensemble".')
    model = DeviationEnsemble(random_state=seed)
    threshold = ExpectedCost(10, 1).threshold(calibrate(model, rows, y)).score
    is_alert = model.anomaly_score(rows[y == 0]) > threshold
    assert is_alert[truth[y == 0] == 1].mean() > 0.5
    assert is_alert[truth[y == 0] == 0].mean() < 0.1
