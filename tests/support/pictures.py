"""Small images with planted defects, as arrays and as files."""

from functools import cache

import numpy as np

SIDE = 12


def make_images(seed=0, n=160, n_labelled=8, side=SIDE):
    """Noisy stripes; the first images have a bright spot. Images, labels, truth and masks."""
    generator = np.random.default_rng(seed)
    stripes = np.sin(np.arange(side) / 2 + generator.uniform(0, 6, size=(n, 1)))[:, None, :]
    images = 0.4 + 0.15 * stripes + generator.normal(0, 0.03, size=(n, side, side))
    truth = np.arange(n) < 2 * n_labelled
    masks = np.zeros(images.shape, dtype=bool)
    for row in np.flatnonzero(truth):
        y, x = generator.integers(1, side - 4, size=2)
        masks[row, y : y + 3, x : x + 3] = True
    images[masks] += 0.4
    images = np.clip(images, 0, 1)
    return (255 * images).astype(np.uint8), (np.arange(n) < n_labelled).astype(int), truth, masks


def quick(**parameters):
    """A detector that is fitted in a moment."""
    from devnet import ImageDevNet

    chosen = {"hidden": (6, 8), "n_epochs": 4, "n_batches": 10, "batch_size": 32}
    return ImageDevNet(**{**chosen, "random_state": 0, **parameters})


@cache
def fitted(head="global"):
    """A fitted detector; tests leave it as it is."""
    images, y, _, _ = make_images()
    return quick(head=head).fit(images, y)


def write_files(folder, images, ending="png"):
    """Write images as files, in order of their names."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:03d}.{ending}" for number in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    return paths
