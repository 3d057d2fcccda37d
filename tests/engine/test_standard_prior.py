"""Priors by name: draws follow their law, and tails are those of SciPy's distributions."""

import numpy as np
import pytest
from scipy import stats

from devnet import DevNet, StandardPrior
from devnet.engine import standard_prior

# Written by hand: location and scale that give mean 0 and standard deviation 1.
STANDARDISED = {
    "laplace": stats.laplace(scale=1 / np.sqrt(2)),
    "logistic": stats.logistic(scale=np.sqrt(3) / np.pi),
    "student": stats.t(5, scale=np.sqrt(3 / 5)),
    "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
    "exponential": stats.expon(-1),
    "gumbel": stats.gumbel_r(-np.euler_gamma * np.sqrt(6) / np.pi, np.sqrt(6) / np.pi),
}


def test_every_distribution_is_covered_here():
    assert set(standard_prior._LAWS) == set(STANDARDISED)


@pytest.mark.parametrize(("name", "law"), STANDARDISED.items())
def test_draws_mean_and_standard_deviation_of_scores_of_the_law(name, law, seed):
    assert law.mean() == pytest.approx(0, abs=1e-12)
    assert law.std() == pytest.approx(1)
    drawn = StandardPrior(name, n_scores=40).draw((3000, 1, 2), np.random.default_rng(seed))
    assert drawn.mean.shape == drawn.std.shape == (3000, 1, 2)
    assert drawn.mean.dtype == drawn.std.dtype == np.float32
    scores = law.rvs((6000, 40), random_state=np.random.default_rng([seed, 1]))
    assert stats.ks_2samp(drawn.mean.ravel(), scores.mean(1)).pvalue > 1e-3
    assert stats.ks_2samp(drawn.std.ravel(), scores.std(1)).pvalue > 1e-3
    joint = np.corrcoef(drawn.mean.ravel(), drawn.std.ravel())[0, 1]
    assert joint == pytest.approx(np.corrcoef(scores.mean(1), scores.std(1))[0, 1], abs=0.08)


@pytest.mark.parametrize(("name", "law"), STANDARDISED.items())
def test_p_value_and_quantile_are_the_law_s(name, law):
    prior = StandardPrior(name)
    deviation = np.array([-9, -1.7, -0.3, 0, 0.5, 1.645, 3, 8])
    np.testing.assert_allclose(prior.p_value(deviation), law.sf(deviation), rtol=1e-9)
    outside = law.sf(np.abs(deviation)) + law.cdf(-np.abs(deviation))
    np.testing.assert_allclose(prior.p_value(deviation, two_sided=True), outside, rtol=1e-9)
    for confidence in (0.05, 0.5, 0.95, 0.999):
        assert prior.quantile(confidence) == pytest.approx(law.ppf(confidence), abs=1e-9)
        assert prior.p_value(prior.quantile(confidence)) == pytest.approx(1 - confidence)


def test_the_size_of_a_block_changes_nothing(monkeypatch):
    def drawn():
        return StandardPrior("gumbel", 30).draw((50,), np.random.default_rng(0))

    whole = drawn()
    monkeypatch.setattr(standard_prior, "DRAWN_SCORES", 70)
    np.testing.assert_array_equal(drawn()[:2], whole[:2])


def test_the_detector_s_threshold_and_p_values_are_the_prior_s(task):
    rows, y, _ = task
    prior = StandardPrior("exponential", 100)
    model = DevNet(reference=prior, n_epochs=3, confidence=0.9, random_state=0).fit(rows, y)
    assert model.threshold_ == pytest.approx(-np.log(0.1) - 1)
    scores = model.anomaly_score(rows)
    np.testing.assert_allclose(model.p_value(rows), prior.p_value(scores))
    np.testing.assert_array_equal(model.p_value(rows) < 0.1, model.predict(rows) == 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"distribution": "cauchy"}, "distribution='cauchy'.*'laplace' or 'logistic'"),
        ({"distribution": ["laplace"]}, "distribution"),
        ({"n_scores": 1}, "n_scores=1.*at least 2"),
    ],
)
def test_impossible_priors_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        StandardPrior(**arguments)
