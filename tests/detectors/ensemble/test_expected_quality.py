"""The expected quality against scikit-learn's average precision of simulated new rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from devnet.detectors.ensemble.expected_quality import expect_quality
from devnet.detectors.ensemble.hidden_anomalies import HiddenShare
from devnet.detectors.ensemble.learners import OutOfBag


def simulate(seed, share=0.05, n=4000, k=40, shift=2.5):
    """Scores of unlabelled rows with a share of anomalies, of labelled anomalies, and the truth."""
    generator = np.random.default_rng(seed)
    is_anomaly = generator.random(n) < share
    unlabelled = generator.normal(size=n) + shift * is_anomaly
    return OutOfBag(unlabelled, generator.normal(shift, size=k)), is_anomaly


def expected(scores, low, value=None, high=None):
    share = HiddenShare(low if value is None else value, low, low if high is None else high)
    return expect_quality(scores, share, np.random.default_rng(0))


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("shift", [1.5, 2.5, 5.0])
def test_with_a_known_share_it_is_the_average_precision_of_such_rows(share, shift, seed):
    scores, is_anomaly = simulate(seed, share, n=200_000, k=20_000, shift=shift)
    truth = average_precision_score(is_anomaly, scores.unlabelled)
    assert expected(scores, share).auc_pr == pytest.approx(truth, abs=0.03)


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_new_rows_of_the_same_kind_fall_into_the_interval(share, seed):
    new, is_anomaly = simulate([seed, 99], share, n=200_000)
    truth = average_precision_score(is_anomaly, new.unlabelled)
    found = [expected(simulate([seed, i], share)[0], share) for i in range(30)]
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.7


@given(
    labelled=st.lists(st.integers(0, 9), min_size=2),
    unlabelled=st.lists(st.integers(0, 9), min_size=1),
    share=st.floats(0, 1),
)
def test_it_is_a_share_inside_of_its_interval(labelled, unlabelled, share):
    scores = OutOfBag(np.array(unlabelled, float), np.array(labelled, float))
    quality = expected(scores, share / 2, share, 1.0)
    assert 0 <= quality.low <= quality.auc_pr <= quality.high <= 1


def test_an_uncertain_share_widens_the_interval(seed):
    scores, _ = simulate(seed)
    sure, unsure = expected(scores, 0.05), expected(scores, 0.01, 0.05, 0.2)
    assert sure.auc_pr == unsure.auc_pr
    assert unsure.low < sure.low < sure.high < unsure.high


def test_more_anomalies_among_the_rows_make_the_ranking_look_better(seed):
    scores, _ = simulate(seed)
    found = [expected(scores, share).auc_pr for share in (0.001, 0.01, 0.05, 0.1)]
    assert (np.diff(found) > 0).all()
