"""Surprise of pixels: what unlabelled images do not lead to expect, and what that adds."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

torch = pytest.importorskip("torch")
from devnet import ImageDevNet  # noqa: E402 - needs torch
from devnet.deep.images.surprise import (  # noqa: E402
    REACH,
    SIDE,
    PixelSurprise,
    learn_surprise,
)


def fields(seed=0, n=40, size=(20, 16), channels=1):
    """Smooth random images (n, c, h, w), standardised."""
    noise = np.random.default_rng(seed).normal(size=(n, channels, *size))
    for axis in (2, 3):
        noise = noise + np.roll(noise, 1, axis) + np.roll(noise, 2, axis)
    return (noise - noise.mean()) / noise.std()


def learned(images):
    surprise = PixelSurprise(images.shape[1]).double()
    surprise.load_state_dict(learn_surprise(images))
    return lambda X: surprise(torch.from_numpy(X)).numpy()


def test_pixels_are_expected_as_a_regression_on_those_around_says(seed):
    X = fields(seed)
    inner = np.lib.stride_tricks.sliding_window_view(X[:, 0], (SIDE, SIDE), axis=(1, 2))
    patches = inner.reshape(-1, SIDE * SIDE)
    inputs, output = np.delete(patches, SIDE * SIDE // 2, axis=1), patches[:, SIDE * SIDE // 2]
    expected = LinearRegression(fit_intercept=False).fit(inputs, output).predict(inputs)
    found = learned(X)(X)[:, 0, REACH:-REACH, REACH:-REACH].ravel()
    order = np.argsort(np.abs(output - expected))
    assert np.corrcoef(np.argsort(order), np.argsort(np.argsort(found)))[0, 1] > 0.99


def test_surprises_are_standardised(seed):
    found = learned(fields(seed, channels=3))(fields(seed, channels=3))
    np.testing.assert_allclose(found.mean(axis=(0, 2, 3)), 0, atol=1e-9)
    np.testing.assert_allclose(found.std(axis=(0, 2, 3)), 1, atol=1e-9)


def test_a_speck_is_the_most_surprising_pixel_of_its_channel(seed):
    surprises = learned(fields(seed, channels=2))
    X = fields(seed + 1, n=10, channels=2)
    before = surprises(X)
    X[:, 1, 7, 9] += 10
    found = surprises(X)
    assert (found[:, 1].reshape(10, -1).argmax(axis=1) == 7 * 16 + 9).all()
    np.testing.assert_array_equal(found[:, 0], before[:, 0])


def test_very_many_pixels_are_sampled_from_all_columns(monkeypatch):
    from devnet.deep.images import surprise

    X = fields(n=64, size=(16, 16))
    whole = learn_surprise(X)
    monkeypatch.setattr(surprise, "MOST_PIXELS", X.size // 16)  # every 16th would be one column
    some = learn_surprise(X)
    for name, values in whole.items():
        np.testing.assert_allclose(some[name], values, atol=0.1)


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (3, 2)])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_small_and_constant_images_surprise_by_nothing(size, value):
    images = np.full((5, 1, *size), value)
    found = learned(images)(images)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, found.flat[0], atol=1e-6)


def test_few_labels_find_specks_in_smooth_images():
    generator = np.random.default_rng(0)
    images = fields(n=440)[:, 0]
    place = generator.integers(2, 14, size=(45, 2))
    images[np.arange(45), place[:, 0], place[:, 1]] += 3
    chosen, y = np.r_[:10, 45:440], np.arange(405) < 5  # of ten with specks, five are labelled
    model = ImageDevNet((8, 8), head="patches", top_share=0.05, n_epochs=20, random_state=0)
    model.set_params(learning_rate=0.003, l2=0.0, flips=("horizontal", "vertical"))
    model.fit(images[chosen], y)
    spoiled, usual = images[10:45], images[45:]
    scores = model.anomaly_score(spoiled)
    assert (scores[:, None] > model.anomaly_score(usual)).mean() > 0.85
    peaks = model.anomaly_map(spoiled).reshape(len(spoiled), -1).argmax(axis=1)
    off = np.abs(np.stack(np.unravel_index(peaks, images.shape[1:]), axis=1) - place[10:])
    assert (off.max(axis=1) <= 2).mean() > 0.9


def test_a_patch_is_never_below_zero(seed):
    images = fields(seed, n=60)[:, 0]
    y = np.arange(60) < 5
    model = ImageDevNet((4,), head="patches", n_epochs=3, random_state=seed).fit(images, y)
    (patches,) = model.patch_scores(images)
    lowest = -model.reference_.mean[0] / model.reference_.std[0]
    assert (patches >= lowest).all()


def test_a_backbone_of_the_caller_sees_the_pixels_alone():
    seen = []

    class Backbone(torch.nn.Conv2d):
        def forward(self, images):
            seen.append(images.shape[1])
            return super().forward(images)

    y = np.arange(20) < 3
    model = ImageDevNet(Backbone(1, 4, 3), head="patches", n_epochs=1, n_batches=1)
    model.fit(fields(n=20)[:, 0], y)
    assert set(seen) == {1}
