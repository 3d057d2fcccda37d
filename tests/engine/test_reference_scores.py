"""The closed form of the reference against plain draws of every prior score."""

import numpy as np
import pytest
from scipy import stats

from devnet import GaussianPrior


def drawn_reference(prior, n, generator):
    """Equations 4 and 5 as written: n times l scores."""
    scores = generator.normal(prior.mean, prior.std, (n, prior.n_scores))
    return scores.mean(1), scores.std(1)


@pytest.mark.parametrize("prior", [GaussianPrior(1.5, 2.0, 50), GaussianPrior(0, 1, 2)])
def test_has_the_law_of_the_drawn_reference(prior, seed):
    generator = np.random.default_rng(seed)
    closed = prior.draw((4000,), generator)
    mean, std = drawn_reference(prior, 4000, generator)
    assert stats.ks_2samp(closed.mean, mean).pvalue > 1e-3
    assert stats.ks_2samp(closed.std, std).pvalue > 1e-3
    assert abs(np.corrcoef(closed.mean, closed.std)[0, 1]) < 0.06  # independent


def test_the_paper_s_reference_is_nearly_zero_and_one(seed):
    reference = GaussianPrior().draw((1000,), np.random.default_rng(seed))
    assert np.abs(reference.mean).max() < 0.1
    assert np.abs(reference.std - 1).max() < 0.05
    assert np.unique(reference.mean).size > 900  # a new reference every step


def test_quantile_and_p_value():
    prior = GaussianPrior()
    assert prior.quantile(0.95) == pytest.approx(1.6449, abs=1e-4)
    assert prior.quantile(0.975) == pytest.approx(1.9600, abs=1e-4)
    assert prior.p_value(1.959964) == pytest.approx(0.025)
    assert prior.p_value(-1.959964, two_sided=True) == pytest.approx(0.05)
    assert prior.p_value(5, two_sided=True) == pytest.approx(5.73303e-07, rel=1e-5)  # section 4.3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"std": 0}, "std must be a finite number above 0"),
        ({"mean": np.nan}, "finite"),
        ({"n_scores": 1}, "at least 2"),
        ({"n_scores": 2.5}, "whole number"),
    ],
)
def test_impossible_priors_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        GaussianPrior(**arguments)
