"""The share of hidden anomalies in simulated mixtures, and which rows are suspected."""

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.detectors.ensemble.hidden_anomalies import (
    MAX_SHARE,
    MIN_LABELLED,
    HiddenShare,
    hidden_share,
    screen,
)
from devnet.detectors.ensemble.learners import OutOfBag
from devnet.detectors.ensemble.pool import Pool


def simulated(seed, share, *, n=4000, k=30, shift=4.0):
    """Scores of a mixture with a share of hidden anomalies, and which rows these are."""
    generator = np.random.default_rng(seed)
    is_hidden = generator.random(n) < share
    scores = OutOfBag(generator.normal(size=n) + shift * is_hidden, generator.normal(shift, size=k))
    return scores, is_hidden


def screened(scores, weight=None, normals=()):
    n, k = len(scores.unlabelled), len(scores.labelled)
    weight = np.ones(n) if weight is None else weight
    pool = Pool(
        np.zeros((n, 1)), weight, np.zeros((k, 1)), np.ones(k), np.arange(k), np.full(k, -1)
    )
    pool = pool._replace(normals=np.array(normals, dtype=int))
    return screen(pool, lambda: scores)


@pytest.mark.parametrize("share", [0.02, 0.1])
@pytest.mark.parametrize("k", [10, 30, 100])
def test_a_known_share_of_clear_anomalies_is_in_its_interval(share, k, seed):
    found = [screened(simulated([seed, i], share, k=k)[0]).share for i in range(40)]
    assert np.mean([share <= one.high for one in found]) >= 0.85
    assert np.mean([one.low <= share for one in found]) >= 0.85


@pytest.mark.parametrize(("n", "n_hidden", "k"), [(2000, 1, 30), (2000, 5, 30), (200, 4, 10)])
def test_a_few_hidden_anomalies_are_in_the_interval(n, n_hidden, k, seed):
    hits = []
    for i in range(60):
        generator = np.random.default_rng([seed, i])
        unlabelled = generator.normal(size=n) + 8 * (np.arange(n) < n_hidden)
        found = hidden_share(unlabelled, generator.normal(8, size=k))
        hits.append(found.low <= n_hidden / n <= found.high)
    assert np.mean(hits) >= 0.85


@pytest.mark.parametrize("shift", [1.0, 1.5, 2.5])
def test_the_high_end_is_safe_where_other_rows_look_like_anomalies(shift, seed):
    found = [screened(simulated([seed, i], 0.02, shift=shift)[0]).share for i in range(40)]
    assert np.mean([one.high >= 0.02 for one in found]) >= 0.85


def test_where_nothing_hides_hardly_anything_is_found(seed):
    found = [screened(simulated([seed, i], 0.0)[0]).share.value for i in range(20)]
    assert np.max(found) < 0.01


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("k", [10, 100])
def test_the_share_is_found_from_below(share, k, seed):
    found = [screened(simulated([seed, i], share, k=k)[0]).share.value for i in range(20)]
    assert 0.5 * share < np.median(found) < 1.1 * share
    assert np.mean(np.array(found) < 1.3 * share) > 0.8


def test_no_more_than_the_largest_share_is_acted_upon(seed):
    found = screened(simulated(seed, 0.6)[0]).share
    assert MAX_SHARE < found.value <= found.high
    assert screened(simulated(seed, 0.6)[0]).posterior.mean() <= MAX_SHARE + 0.01


def test_hidden_anomalies_are_suspected_and_others_are_not(seed):
    scores, is_hidden = simulated(seed, 0.05)
    posterior = screened(scores).posterior
    assert posterior[is_hidden].mean() > 0.2
    assert posterior[~is_hidden].mean() < 0.03


@given(
    labelled=st.lists(st.integers(0, 12), min_size=MIN_LABELLED),
    unlabelled=st.lists(st.integers(0, 12), min_size=1),
)
def test_a_posterior_is_a_probability_that_grows_with_the_score(labelled, unlabelled):
    scores = OutOfBag(np.array(unlabelled, float), np.array(labelled, float))
    share, posterior = screened(scores)
    assert 0 <= share.low <= share.value <= share.high
    assert share.high <= 1
    assert 0 <= posterior.min() <= posterior.max() < 1
    assert (np.diff(posterior[np.argsort(scores.unlabelled, kind="stable")]) >= 0).all()


def test_rows_of_weight_zero_are_not_looked_at(seed):
    scores, _ = simulated(seed, 0.02)
    spoiled = scores._replace(unlabelled=np.append(scores.unlabelled, np.full(500, 9.0)))
    weight = np.repeat([1.0, 0.0], [4000, 500])
    share, posterior = screened(spoiled, weight)
    expected = screened(scores)
    assert share == expected.share
    np.testing.assert_array_equal(posterior[:4000], expected.posterior)
    np.testing.assert_array_equal(posterior[4000:], 0)


def test_known_normal_rows_are_not_hidden_anomalies_and_tell_nothing_about_them(seed):
    scores, _ = simulated(seed, 0.02)
    more = scores._replace(unlabelled=np.append(scores.unlabelled, np.full(500, 9.0)))
    share, posterior = screened(more, normals=np.arange(4000, 4500))
    expected = screened(scores)
    assert share == expected.share
    np.testing.assert_array_equal(posterior[:4000], expected.posterior)
    np.testing.assert_array_equal(posterior[4000:], 0)
    share, posterior = screened(scores, normals=np.arange(4000))
    assert share == (0, 0, 0)  # nobody hides where all are known
    assert not posterior.any()


@pytest.mark.parametrize("k", range(1, MIN_LABELLED))
def test_too_few_labels_turn_screening_off_and_the_log_says_so(k, seed, caplog):
    scores, _ = simulated(seed, 0.1, k=k)
    pool = Pool(
        np.zeros((4000, 1)),
        np.ones(4000),
        np.zeros((k, 1)),
        np.ones(k),
        np.arange(k),
        np.full(k, -1),
    )

    def look():
        raise AssertionError("nobody needs to look")

    with caplog.at_level(logging.INFO, logger="devnet"):
        share, posterior = screen(pool, look)
    assert share == HiddenShare(0.0, 0.0, 1.0)
    assert not posterior.any()
    assert f"there are {k}" in caplog.text
