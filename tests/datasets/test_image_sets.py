"""Tasks of images: unusual digits, and planted defects."""

import gzip

import numpy as np
import pytest

from devnet.datasets.image_sets import IMAGE_SETS, load_images, plant_defect, read_idx


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("devnet.datasets.image_sets.N_NORMAL", 200)
    generator = np.random.default_rng(0)
    images = generator.integers(256, size=(300, 28, 28), dtype=np.uint8)
    digit = (np.arange(300) % 10).astype(np.uint8)
    (tmp_path / "mnist").mkdir()
    for name, values in (("images-idx3", images), ("labels-idx1", digit)):
        header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
        path = tmp_path / "mnist" / f"train-{name}-ubyte.gz"
        path.write_bytes(gzip.compress(header + values.tobytes()))
    return tmp_path


@pytest.mark.parametrize("name", IMAGE_SETS)
def test_every_set_has_normal_images_and_anomalies_that_may_be_labelled(folder, name):
    found = load_images(name, folder)
    assert found.images.dtype == np.uint8
    assert found.images.ndim == 3
    assert 0 < found.is_anomaly.sum() < len(found.images)
    assert found.may_be_labelled.any()
    assert not (found.may_be_labelled & ~found.is_anomaly).any()
    assert name in found.description
    again = load_images(name, folder)
    np.testing.assert_array_equal(found.images, again.images)


def test_defects_lie_in_their_masks(folder):
    found = load_images("mnist-defects", folder)
    assert (found.masks.any(axis=(1, 2)) == found.is_anomaly).all()
    originals = read_idx(folder / "mnist" / "train-images-idx3-ubyte.gz")
    known = {image.tobytes() for image in originals}
    assert [image.tobytes() in known for image in found.images] == (~found.is_anomaly).tolist()


def test_a_defect_is_small_and_changes_nothing_else(seed):
    generator = np.random.default_rng(seed)
    for _ in range(100):
        image = generator.integers(256, size=(28, 28), dtype=np.uint8)
        before = image.copy()
        mask = plant_defect(image, generator)
        assert 4 <= mask.sum() <= 25
        np.testing.assert_array_equal(image[~mask], before[~mask])
        assert ((image[mask] >= 100) & (image[mask] < 156)).all()


def test_an_unknown_set_is_refused():
    with pytest.raises(ValueError, match="unknown set of images"):
        load_images("cats")
