"""How scores become one deviation, and what the rank error of a learner is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from devnet.detectors.ensemble.combination import (
    PRIOR_LABELLED,
    Combination,
    combine,
    rank_error,
    top_rank,
)
from devnet.detectors.ensemble.learners import OutOfBag


def make_votes(seed, n=400, k=12, n_learners=2):
    generator = np.random.default_rng(seed)
    shifts = generator.uniform(0.5, 3, size=n_learners)
    votes = [
        OutOfBag(
            7 + (10**exponent) * generator.normal(size=n),
            7 + (10**exponent) * generator.normal(shift, size=k),
        )
        for exponent, shift in enumerate(shifts)
    ]
    return votes, generator.random(n) * (generator.random(n) < 0.8)


def area(vote, weight):
    """scikit-learn's area under the ROC curve."""
    labelled, unlabelled = vote.labelled, vote.unlabelled
    return roc_auc_score(
        np.repeat([1, 0], [len(labelled), len(unlabelled)]),
        np.concatenate([labelled, unlabelled]),
        sample_weight=np.concatenate([np.ones(len(labelled)), weight]),
    )


@given(
    labelled=st.lists(st.integers(0, 9), min_size=1),
    unlabelled=st.lists(st.integers(0, 9), min_size=1),
    seed=st.integers(0, 99),
)
def test_the_rank_error_is_the_area_above_the_curve(labelled, unlabelled, seed):
    weight = np.random.default_rng(seed).integers(0, 4, len(unlabelled)) / 3
    weight[0] = 1
    vote = OutOfBag(np.array(unlabelled, float), np.array(labelled, float))
    assert rank_error(vote, weight) == pytest.approx(1 - area(vote, weight), abs=1e-9)


@pytest.mark.parametrize("n_learners", [1, 2, 5])
def test_unlabelled_rows_have_mean_zero_and_spread_one(n_learners, seed):
    votes, weight = make_votes(seed, n_learners=n_learners)
    scores = combine(votes, weight)([vote.unlabelled for vote in votes])
    assert np.average(scores, weights=weight) == pytest.approx(0, abs=1e-9)
    assert np.average(scores**2, weights=weight) == pytest.approx(1)


def shares_above(vote, weight):
    """The share of the unlabelled rows above each labelled anomaly, pair by pair."""
    above = vote.unlabelled[None] > vote.labelled[:, None]
    ties = vote.unlabelled[None] == vote.labelled[:, None]
    return (above + ties / 2) @ weight / weight.sum()


@given(
    labelled=st.lists(st.integers(0, 9), min_size=1),
    unlabelled=st.lists(st.integers(0, 9), min_size=1),
)
def test_the_top_rank_is_a_geometric_mean_of_shares(labelled, unlabelled):
    vote = OutOfBag(np.array(unlabelled, float), np.array(labelled, float))
    n = len(unlabelled)
    expected = np.prod(shares_above(vote, np.ones(n)) + 1 / n) ** (1 / len(labelled))
    assert top_rank(vote, np.ones(n)) == pytest.approx(expected)


def test_a_learner_weighs_by_the_inverse_square_of_its_top_rank(seed):
    votes, weight = make_votes(seed)
    spread = np.array([np.sqrt(np.cov(v.unlabelled, aweights=weight, ddof=0)) for v in votes])
    n = (weight > 0).sum()
    rank = np.array([np.exp(np.log(shares_above(v, weight) + 1 / n).mean()) for v in votes])
    shrunk = (12 * rank + PRIOR_LABELLED * rank.mean()) / (12 + PRIOR_LABELLED)
    expected = 1 / (shrunk**2 * spread)
    found = combine(votes, weight).scale
    np.testing.assert_allclose(found / found[0], expected / expected[0])
    found = combine(votes, weight, np.array([1, 0.5])).scale
    np.testing.assert_allclose(found[1] / found[0], expected[1] / expected[0] / 2)


def test_a_learner_with_anomalies_at_the_very_top_outweighs_one_with_a_better_mean_rank():
    unlabelled = np.arange(1000.0)
    top = OutOfBag(unlabelled, np.array([999.5] * 7 + [500.0] * 3))  # three of ten are missed
    even = OutOfBag(unlabelled, np.full(10, 900.0))
    weight = np.ones(1000)
    assert rank_error(top, weight) > rank_error(even, weight)
    scale = combine([top, even], weight).scale
    assert scale[0] > 2 * scale[1]


def test_scores_without_any_spread_divide_nothing_by_zero():
    same = OutOfBag(np.full(50, 3.0), np.full(4, 3.0))
    found = combine([same, same], np.ones(50))
    for scores in (same.unlabelled, same.labelled):
        np.testing.assert_allclose(found([scores, scores]), 0, atol=1e-6)
    assert (found([np.array([4.0])] * 2) > 0).all()


def test_one_row_of_each_kind_is_enough():
    vote = OutOfBag(np.array([1.0]), np.array([2.0]))
    found = combine([vote], np.ones(1))
    assert found([np.array([1.0])])[0] == pytest.approx(0, abs=1e-9)
    assert found([np.array([2.0])])[0] > 1


def test_a_row_of_weight_zero_does_not_matter(seed):
    votes, weight = make_votes(seed)
    weight[:50] = 0
    short = [vote._replace(unlabelled=vote.unlabelled[50:]) for vote in votes]
    one, other = combine(votes, weight), combine(short, weight[50:])
    np.testing.assert_allclose(one.scale, other.scale)
    assert one.shift == pytest.approx(other.shift)


def test_a_combination_is_a_weighted_sum_minus_the_shift():
    combination = Combination(np.array([2.0, -1.0]), 3.0)
    np.testing.assert_array_equal(
        combination([np.array([1.0, 5.0]), np.array([4.0, 0.0])]), [-5, 7]
    )
