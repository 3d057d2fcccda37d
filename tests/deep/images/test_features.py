"""Images as a matrix of features, for the detectors of tables."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from support.pictures import make_images, write_files

from devnet import DeviationEnsemble

torch = pytest.importorskip("torch")
nn = torch.nn
from devnet.deep.images.features import ImageFeatures  # noqa: E402

SMALL = {"n_kernels": 8, "patch": 4, "cells": 2, "random_state": 0}


def test_features_rank_images_in_a_pipeline():
    images, y, truth, _ = make_images(n_labelled=15)
    model = make_pipeline(
        ImageFeatures(**SMALL), DeviationEnsemble(n_networks=2, n_trees=8, random_state=0)
    )
    scores = model.fit(images, y).decision_function(images)
    assert roc_auc_score(truth, scores) > 0.9


def test_an_image_has_the_same_features_alone():
    images, _, _, _ = make_images(n=70)
    transformer = ImageFeatures(**SMALL).fit(images)
    together = transformer.transform(images)
    assert together.shape == (70, 32)
    assert together.dtype == np.float32
    np.testing.assert_array_equal(transformer.transform(images[66:67]), together[66:67])
    again = clone(transformer).fit(images / 255.0).transform(images / 255.0)
    np.testing.assert_allclose(again, together, atol=1e-4)


def test_brightness_and_contrast_hardly_matter():
    images, _, _, _ = make_images(n=40)
    transformer = ImageFeatures(**SMALL).fit(images)
    features = transformer.transform(images / 255.0)
    np.testing.assert_allclose(transformer.transform(images / 255.0 + 5), features, atol=1e-4)


def test_global_random_states_are_left_alone():
    state = torch.get_rng_state()
    ImageFeatures(n_kernels=4).fit_transform(make_images(n=20)[0])
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("last", [nn.Identity(), nn.Flatten()])
def test_a_backbone_gives_the_features(last, tmp_path):
    images, _, _, _ = make_images(n=20)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        backbone = nn.Sequential(nn.Conv2d(1, 5, 3), nn.Dropout(0.5), last)
    features = ImageFeatures(backbone).fit_transform(images)
    assert features.shape == ((20, 5) if isinstance(last, nn.Identity) else (20, 500))
    assert backbone.training  # as it was
    from_files = ImageFeatures(backbone).fit_transform(write_files(tmp_path, images))
    np.testing.assert_array_equal(features, from_files)


def test_wrong_backbones_and_images_are_refused():
    images, _, _, _ = make_images(n=20)
    with pytest.raises(ValueError, match="is no torch.nn.Module"):
        ImageFeatures("resnet").fit(images)
    with pytest.raises(ValueError, match=r"to shape \(240, 12\)"):
        ImageFeatures(nn.Flatten(0, 2)).fit_transform(images)
    transformer = ImageFeatures(**SMALL).fit(images)
    with pytest.raises(ValueError, match="12 x 11 pixels"):
        transformer.transform(images[:, :, 1:])
    broken = images / 255.0
    broken[3, 1, 1] = np.nan
    for use in (transformer.transform, ImageFeatures(**SMALL).fit):
        with pytest.raises(ValueError, match="image 3 contains NaN"):
            use(broken)


def test_black_images_are_no_trouble():
    assert np.isfinite(ImageFeatures(**SMALL).fit_transform(np.zeros((9, 12, 12)))).all()
