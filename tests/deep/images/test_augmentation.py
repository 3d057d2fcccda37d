"""Light changes of training images."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from devnet.deep.images.augmentation import Changes, changed  # noqa: E402


@pytest.fixture(autouse=True)
def _own_draws():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def numbered(n=200, c=2, h=6, w=8):
    return torch.arange(n * c * h * w, dtype=torch.float64).reshape(n, c, h, w)


def test_nothing_is_changed_unless_asked():
    images = numbered()
    assert changed(images, Changes()) is images
    assert Changes().is_none
    assert not Changes(zoom=0.1).is_none


def test_images_are_moved_by_whole_pixels_and_keep_their_own_values():
    images = numbered()
    moved = changed(images, Changes(shift=2))
    assert moved.shape == images.shape
    inner = moved[:, :, 2:-2, 2:-2]
    ways = images[:, :, 2:-2, 2:-2] - inner  # the same for all pixels of an image
    assert torch.equal(ways, ways[:, :1, :1, :1].expand_as(ways))
    assert set(np.unique(ways.numpy())) == {8.0 * y + x for y in range(-2, 3) for x in range(-2, 3)}


@pytest.mark.parametrize(("flip", "axis"), [("horizontal", 3), ("vertical", 2)])
def test_about_half_of_the_images_are_mirrored(flip, axis):
    images = numbered()
    found = changed(images, Changes(flips=(flip,)))
    is_same = (found == images).flatten(1).all(dim=1)
    is_mirrored = (found == images.flip(axis)).flatten(1).all(dim=1)
    assert (is_same ^ is_mirrored).all()
    assert 60 < int(is_mirrored.sum()) < 140


def test_a_turned_spot_keeps_its_distance_from_the_middle():
    images = torch.zeros(100, 1, 21, 41)
    images[:, :, 10, 28] = 1  # 8 to the right of the middle
    turned = changed(images, Changes(turn=90))
    y, x = torch.meshgrid(torch.arange(21.0), torch.arange(41.0), indexing="ij")
    mass = turned[:, 0].sum(dim=(1, 2))
    down = (turned[:, 0] * y).sum(dim=(1, 2)) / mass - 10
    across = (turned[:, 0] * x).sum(dim=(1, 2)) / mass - 20
    assert torch.allclose(torch.hypot(down, across), torch.tensor(8.0), atol=0.3)
    assert down.min() < -5
    assert down.max() > 5
    assert (across > -1).all()


def test_zoom_and_shift_are_bounded():
    images = torch.zeros(200, 1, 21, 21)
    images[:, :, 10, 10] = 1
    moved = changed(images, Changes(shift=3, zoom=0.1))
    x = torch.arange(21.0)
    across = (moved[:, 0].sum(dim=1) * x).sum(dim=1) / moved[:, 0].sum(dim=(1, 2)) - 10
    assert across.abs().max() < 4
    assert across.min() < -2
    assert across.max() > 2
