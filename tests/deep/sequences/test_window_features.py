"""Fixed features of windows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from support.ensemble_checks import quick as quick_ensemble
from support.sequences import make_signals, ragged

from devnet import WindowFeatures


def named(signals):
    features = WindowFeatures().fit(signals)
    names = features.get_feature_names_out()
    return dict(zip(names, features.transform(signals).T, strict=True))


def test_features_are_what_their_names_say(seed):
    signals = np.random.default_rng(seed).normal(size=(5, 64))
    found = named(signals)
    np.testing.assert_allclose(found["0: mean"], signals.mean(axis=1))
    np.testing.assert_allclose(found["0: spread"], signals.std(axis=1))
    np.testing.assert_allclose(found["0: quantile 0.5"], np.median(signals, axis=1))
    np.testing.assert_allclose(
        found["0: largest change"], np.abs(np.diff(signals, axis=1)).max(axis=1)
    )
    power = [value for name, value in found.items() if "power" in name]
    total = np.exp(power).sum(axis=0)
    spectrum = np.abs(np.fft.rfft(signals - signals.mean(axis=1, keepdims=True))) ** 2 / 64
    np.testing.assert_allclose(total, spectrum.sum(axis=1))


def test_a_wave_has_its_power_in_its_band():
    found = named(np.sin(2 * np.pi * np.arange(128) * 0.2)[None])
    bands = {name: value[0] for name, value in found.items() if "power" in name}
    assert max(bands, key=bands.get) == "0: power below 0.25"


def test_a_sequence_has_the_same_features_alone_and_whatever_its_company(seed):
    signals, *_ = make_signals(seed, channels=2)
    parts = ragged(signals, seed)
    together = WindowFeatures().fit_transform(parts)
    for part, row in zip(parts[:5], together, strict=False):
        np.testing.assert_allclose(WindowFeatures().fit_transform([part])[0], row)


def test_missing_values_are_filled_in_and_counted():
    line = np.linspace(0, 1, 20)[None]
    holes = line.copy()
    holes[:, 5:10] = np.nan
    whole, found = named(line), named(holes)
    assert found.pop("0: share missing") == 0.25
    for name, value in found.items():
        np.testing.assert_allclose(value, whole[name], err_msg=name, atol=1e-9)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_short_and_constant_sequences_have_finite_features(length):
    assert np.isfinite(WindowFeatures().fit_transform(np.ones((2, length)))).all()


def test_an_ensemble_learns_from_them():
    signals, y, truth, _ = make_signals(n=300, n_faults=30, n_labelled=15)
    model = make_pipeline(WindowFeatures(), quick_ensemble(random_state=0)).fit(signals, y)
    scores = model.decision_function(signals)
    assert scores[truth].mean() > scores[~truth].mean()
    clone(model)


def test_other_channels_are_refused():
    with pytest.raises(ValueError, match="have 1 channels, but 2 were there to fit"):
        WindowFeatures().fit(np.zeros((2, 5, 2))).transform(np.zeros((2, 5)))
