"""Views of images: there and back, and which of them leave normal images normal."""

import json

import numpy as np
import pytest
from support.pictures import make_images, quick

torch = pytest.importorskip("torch")
import devnet  # noqa: E402 - needs torch
from devnet.core.model_file import ModelFileError  # noqa: E402
from devnet.deep.images.views import (  # noqa: E402
    AS_IT_IS,
    View,
    possible_views,
    usual_views,
)

SQUARE, OBLONG = (1, 6, 6), (2, 4, 6)


@pytest.mark.parametrize("shape", [SQUARE, OBLONG])
def test_every_view_has_a_way_back(shape, seed):
    images = torch.from_numpy(np.random.default_rng(seed).normal(size=(3, *shape)))
    views = possible_views(shape)
    for view in views:
        assert torch.equal(view.undo(view.go(images)), images)
        assert view.go(images).shape == images.shape
    assert views[0] == AS_IT_IS
    assert torch.equal(AS_IT_IS.go(images), images)


@pytest.mark.parametrize(("shape", "n"), [(SQUARE, 8), (OBLONG, 4)])
def test_no_two_views_are_the_same(shape, n):
    image = torch.arange(np.prod(shape)).reshape(shape)
    seen = {tuple(view.go(image).flatten().tolist()) for view in possible_views(shape)}
    assert len(seen) == len(possible_views(shape)) == n


def rows_differ(images):
    """High for images whose rows differ from each other, as those of horizontal stripes."""
    return np.abs(np.diff(images, axis=2)).mean(axis=(1, 2, 3))


def stripes(seed, n=20):
    """Images that change from column to column alone, and others that also change by row."""
    noise = np.random.default_rng(seed).normal(size=(n, 1, 6, 6))
    return np.repeat(noise[:, :, :1], 6, axis=2), noise


def test_views_in_which_normal_images_score_high_are_left_out(seed):
    normal, anomalous = stripes(seed)
    found = usual_views(rows_differ, normal, anomalous)
    assert found == [view for view in possible_views(SQUARE) if not view.is_transposed]
    assert usual_views(lambda images: np.zeros(len(images)), normal, anomalous) == possible_views(
        SQUARE
    )


def test_what_is_said_to_leave_images_normal_needs_no_proof(seed):
    _, normal = stripes(seed)
    anomalous = normal + 1

    def score(images):
        return np.where((images == normal).all(axis=(1, 2, 3)), 0.0, 5.0)

    assert usual_views(score, normal, anomalous) == [AS_IT_IS]
    upside_down = View(is_transposed=False, is_upside_down=True, is_reversed=False)
    said = usual_views(score, normal, anomalous, flips=("vertical",))
    assert said == [AS_IT_IS, upside_down]
    both = ("horizontal", "vertical")
    assert len(usual_views(score, normal, anomalous, flips=both)) == 4


def test_without_labelled_anomalies_nothing_is_proven(seed):
    normal, _ = stripes(seed)
    assert usual_views(rows_differ, normal, normal[:0]) == [AS_IT_IS]


def test_views_are_saved_with_the_model(tmp_path):
    images, y, _, _ = make_images()
    model = quick(head="patches").fit(images, y)
    model.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    assert loaded.views_ == model.views_
    np.testing.assert_array_equal(loaded.anomaly_map(images), model.anomaly_map(images))


@pytest.mark.parametrize(
    "views", [None, [], [[True, False]], [[1, 0, 0]], [[False] * 3] * 2, [[True, False, False]]]
)
def test_edited_views_are_refused(views):
    images, y, _, _ = make_images()
    model = quick(head="patches").fit(images[:, :, :10], y)  # oblong: none is transposed
    facts = json.loads(json.dumps(model._facts()))
    with pytest.raises(ModelFileError, match="edited"):
        model._read_views({**facts, "views": views})
