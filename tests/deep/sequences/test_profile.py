"""When: profiles point to the planted fault, and add up."""

import numpy as np
import pytest
from support.sequences import make_signals, quick, ragged

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("learner", ["convolution", "recurrent"])
def test_step_scores_make_the_score(learner, seed):
    signals, y, _, _ = make_signals(seed)
    parts = ragged(signals, seed)
    model = quick(head="steps", learner=learner, top_share=0.2).fit(parts, y)
    profiles = model.anomaly_profile(parts)
    for profile, part, score in zip(profiles, parts, model.anomaly_score(parts), strict=True):
        size = int(np.ceil(np.float32(0.2) * len(part)))
        assert profile.shape == (len(part),)
        assert np.sort(profile)[-size:].mean() == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("learner", ["convolution", "recurrent"])
def test_integrated_gradients_add_up_to_the_score_minus_the_baselines(learner, seed):
    signals, y, _, _ = make_signals(seed, channels=2)
    signals[np.random.default_rng(seed).random(signals.shape) < 0.1] = np.nan
    model = quick(learner=learner, n_members=2).fit(signals, y)
    baseline = np.where(np.isnan(signals), np.nan, model.encoding_.mean)
    change = model.anomaly_score(signals) - model.anomaly_score(baseline)
    profiles = model.anomaly_profile(signals)
    assert profiles.shape == signals.shape[:2]
    np.testing.assert_allclose(profiles.sum(axis=1), change, atol=1e-5)


def test_most_of_the_sum_is_gradients_not_what_was_left():
    """The correction for finitely many points is small beside the contributions."""
    from devnet.deep.sequences import profile

    signals, y, _, _ = make_signals()
    model = quick(n_epochs=10, learning_rate=0.01).fit(signals, y)
    left = []
    add_up = profile._adding_up

    def noted(parts, change, inputs):
        left.append((change - parts.sum(dim=1)).abs().max() / change.abs().max())
        return add_up(parts, change, inputs)

    profile._adding_up = noted
    try:
        model.anomaly_profile(signals)
    finally:
        profile._adding_up = add_up
    assert max(left) < 0.03


@pytest.mark.parametrize("head", ["global", "steps"])
def test_the_peak_is_in_the_fault(head, seed):
    signals, y, _, starts = make_signals(seed, n=150, t=60, n_faults=30, n_labelled=20)
    model = quick(head=head, n_epochs=20, learning_rate=0.01).fit(signals, y)
    peak = model.anomaly_profile(signals[20:30]).argmax(axis=1)
    inside = (starts[20:30] <= peak) & (peak < starts[20:30] + 10)
    assert inside.mean() >= 0.9


def test_a_profile_does_not_depend_on_company_and_has_the_form_of_its_sequences():
    signals, y, _, _ = make_signals()
    parts = ragged(signals)
    model = quick(symbols=False).fit(parts, y)
    together = model.anomaly_profile(parts)
    assert isinstance(together, list)
    for alone, part in zip(together, parts[:4], strict=False):
        np.testing.assert_allclose(model.anomaly_profile([part])[0], alone, atol=1e-9)


def test_symbols_have_profiles_too():
    X = [list("abababab"), list("abaXabab"), list("abababa")] * 6
    y = [0, 1, 0] * 6
    model = quick(symbols=True, n_epochs=20, learning_rate=0.01).fit(X, y)
    assert abs(model.anomaly_profile([list("abaXabab")])[0].argmax() - 3) <= 2
