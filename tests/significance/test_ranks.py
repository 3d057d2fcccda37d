"""P-values by ranks: valid whatever the scores are, and in step with the threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.significance.ranks import ConformalRanks

SCORES = st.lists(st.integers(0, 20), min_size=1, max_size=60)


@pytest.mark.parametrize("kind", ["normal", "cauchy", "ties"])
@pytest.mark.parametrize("n", [1, 9, 99])
def test_a_small_p_value_is_as_rare_as_it_says(kind, n, seed):
    generator = np.random.default_rng(seed)
    draw = {
        "normal": generator.normal,
        "cauchy": generator.standard_cauchy,
        "ties": lambda size: generator.integers(4, size=size).astype(float),
    }[kind]
    scores = draw(size=(4000, n + 1))
    p_values = np.array([ConformalRanks(s[:-1], np.ones(n)).p_value(s[-1:])[0] for s in scores])
    for rate in (0.01, 0.05, 0.1, 0.5, 0.9):
        allowed = rate + 4 * np.sqrt(rate * (1 - rate) / len(scores))
        assert (p_values <= rate).mean() <= allowed


@given(scores=SCORES, new=SCORES, seed=st.integers(0, 99))
def test_a_p_value_is_the_weighted_share_that_scores_as_high(scores, new, seed):
    weight = np.random.default_rng(seed).random(len(scores))
    found = ConformalRanks(np.array(scores), weight).p_value(np.array(new))
    for one, p_value in zip(new, found, strict=True):
        above = weight[np.array(scores) >= one].sum()
        assert p_value == pytest.approx((1 + above) / (1 + weight.sum()))
    assert (found > 0).all()
    assert (found <= 1).all()


@given(scores=SCORES, rate=st.floats(0, 1))
def test_above_the_threshold_p_values_are_at_most_the_rate(scores, rate):
    ranks = ConformalRanks(np.array(scores), np.ones(len(scores)))
    threshold = ranks.threshold(rate)
    assert threshold in scores
    if ranks.p_value(np.array([threshold]))[0] <= rate:
        lower = [one for one in scores if one < threshold]
        assert not lower or ranks.p_value(np.array([max(lower)]))[0] > rate
    else:
        assert threshold == max(scores)


def test_a_row_of_weight_zero_does_not_matter(seed):
    generator = np.random.default_rng(seed)
    scores, weight = generator.normal(size=100), generator.random(100)
    weight[:40] = 0
    new = generator.normal(size=20)
    one, other = ConformalRanks(scores, weight), ConformalRanks(scores[40:], weight[40:])
    np.testing.assert_allclose(one.p_value(new), other.p_value(new))


def test_nothing_is_extrapolated():
    ranks = ConformalRanks(np.arange(99.0), np.ones(99))
    np.testing.assert_array_equal(ranks.p_value(np.array([98.5, 1e9, np.inf])), 0.01)
    np.testing.assert_array_equal(ranks.p_value(np.array([-1e9, 0])), 1)


def test_nan_has_no_rank():
    ranks = ConformalRanks(np.arange(9.0), np.ones(9))
    for call in (ranks.rank, ranks.p_value):
        with pytest.raises(ValueError, match="score of row 1 is not a number"):
            call(np.array([3.0, np.nan, 2.0]))
    with pytest.raises(ValueError, match="score of row 0 is not a number"):
        ConformalRanks(np.array([np.nan, 1.0]), np.ones(2))
