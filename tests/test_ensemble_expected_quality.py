"""The expected quality against scikit-learn's average precision of simulated new rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from devnet.ensemble.expected_quality import expect_quality
from devnet.ensemble.learners import OutOfBag


def simulate(seed, n=3000, k=40, shift=2.0):
    generator = np.random.default_rng(seed)
    return OutOfBag(generator.normal(size=n), generator.normal(shift, size=k))


def expected(scores, share, weight=None, seed=0):
    weight = np.ones(len(scores.unlabelled)) if weight is None else weight
    return expect_quality(scores, weight, share, np.random.default_rng(seed))


def average_precision(scores, share, weight):
    """Scikit-learn's, with the rows weighted so that anomalies are a share of them."""
    k = len(scores.labelled)
    truth = np.repeat([1, 0], [k, len(weight)])
    weights = np.append(np.full(k, share / k), (1 - share) * weight / weight.sum())
    return average_precision_score(truth, np.concatenate(scores[::-1]), sample_weight=weights)


@given(
    labelled=st.lists(st.integers(0, 9), min_size=1),
    unlabelled=st.lists(st.integers(0, 9), min_size=1),
    share=st.floats(0.001, 1),
    seed=st.integers(0, 99),
)
def test_it_is_scikit_learn_s_average_precision(labelled, unlabelled, share, seed):
    scores = OutOfBag(np.array(unlabelled, float), np.array(labelled, float))
    weight = np.random.default_rng(seed).random(len(unlabelled)) + 0.01
    quality = expected(scores, share, weight)
    assert quality.auc_pr == pytest.approx(average_precision(scores, share, weight), rel=1e-6)
    assert quality.anomaly_share == share


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_new_rows_of_the_same_kind_fall_into_the_interval(share, seed):
    hits = []
    truth = simulate([seed, 99], n=200_000, k=20_000)
    actual = average_precision(truth, share, np.ones(200_000))
    for i in range(20):
        quality = expected(simulate([seed, i]), share)
        assert 0 <= quality.low <= quality.high <= 1
        hits.append(quality.low <= actual <= quality.high)
    assert np.mean(hits) >= 0.6


def test_more_anomalies_among_the_rows_make_the_ranking_look_better(seed):
    scores = simulate(seed)
    found = [expected(scores, share).auc_pr for share in (0.001, 0.01, 0.1, 0.5, 1)]
    assert (np.diff(found) > 0).all()
    assert found[-1] == 1


def test_a_row_of_weight_zero_does_not_matter(seed):
    scores = simulate(seed)
    spoiled = scores._replace(unlabelled=np.append(scores.unlabelled, np.full(100, 9.0)))
    weight = np.repeat([1.0, 0.0], [3000, 100])
    assert expected(spoiled, 0.05, weight) == expected(scores, 0.05)


def test_one_label_has_an_interval_without_width():
    quality = expected(OutOfBag(np.arange(10.0), np.array([8.5])), 0.5)
    assert quality.low == quality.auc_pr == quality.high == pytest.approx(0.5 / (0.5 + 0.05))
