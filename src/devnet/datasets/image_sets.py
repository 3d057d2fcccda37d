"""Images of digits as tasks: unusual digits, and planted defects with true masks."""

import gzip
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from devnet.core.names import known
from devnet.datasets import Folder, locate

MNIST = "mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"
N_NORMAL, N_ANOMALIES = 4_000, 800  # images of MNIST that a task takes
STEPS = 24  # points along a scratch


class ImageSet(NamedTuple):
    """Images, which of them are anomalies, and where."""

    name: str
    images: np.ndarray  # (n, h, w) uint8
    is_anomaly: np.ndarray  # (n,)
    may_be_labelled: np.ndarray  # (n,) anomalies of the kinds that are known
    masks: np.ndarray | None  # (n, h, w) defective pixels, for planted defects
    description: str


class _Source(NamedTuple):
    description: str
    make: Callable[[Folder | None], tuple[np.ndarray, ...]]  # the fields between the two texts


def load_images(name: str, folder: Folder | None = None) -> ImageSet:
    """Make one of `IMAGE_SETS`; MNIST is in the folder that `devnet.datasets.load` looks into."""
    source = IMAGE_SETS[known(name, IMAGE_SETS, "set of images")]
    images, is_anomaly, may_be_labelled, *masks = source.make(folder)
    return ImageSet(
        name,
        images,
        is_anomaly,
        may_be_labelled,
        masks[0] if masks else None,
        f"{name}: {source.description}",
    )


def read_idx(path: Path) -> np.ndarray:
    """An array of bytes in MNIST's format: two zeros, a type, the number of axes, their lengths."""
    content = gzip.decompress(path.read_bytes())
    start = 4 + 4 * content[3]
    shape = np.frombuffer(content[4:start], ">u4").tolist()
    array: np.ndarray = np.frombuffer(content, np.uint8, offset=start).reshape(shape)
    return array


def plant_defect(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw a spot or a scratch into an image (h, w) of uint8; return the mask of its pixels.

    Both are grey, unlike strokes, which are white in the middle: a spot of five pixels across, or
    a straight scratch of 10 to 16 pixels.
    """
    h, w = image.shape
    y, x = np.mgrid[:h, :w]
    centre = generator.uniform(0.25, 0.75, size=2) * (h, w)
    if generator.random() < 0.5:
        mask: np.ndarray = np.hypot(y - centre[0], x - centre[1]) <= 2.5
    else:
        angle, length = generator.uniform(0, np.pi), generator.uniform(10, 16)
        along = np.linspace(-length / 2, length / 2, STEPS)
        points = centre[:, None] + along * np.array([[np.sin(angle)], [np.cos(angle)]])
        rows, columns = points.round().astype(int)
        inside = (rows >= 0) & (rows < h) & (columns >= 0) & (columns < w)
        mask = np.zeros(image.shape, dtype=bool)
        mask[rows[inside], columns[inside]] = True
    image[mask] = generator.integers(100, 156, size=int(mask.sum()))
    found: np.ndarray = mask
    return found


def _unusual_digits(
    folder: Folder | None,
    normal: Sequence[int],
    anomalous: Sequence[int],
    labelled: Sequence[int],
) -> tuple[np.ndarray, ...]:
    """Some classes of MNIST are normal; others are anomalies, and some of these may be labelled."""
    images, digit = (read_idx(locate(file, folder)) for file in MNIST)
    generator = np.random.default_rng(0)
    usual = generator.permutation(np.flatnonzero(np.isin(digit, normal)))[:N_NORMAL]
    odd = generator.permutation(np.flatnonzero(np.isin(digit, anomalous)))[:N_ANOMALIES]
    chosen = np.concatenate([usual, odd])
    is_anomaly = np.arange(len(chosen)) >= len(usual)
    return images[chosen], is_anomaly, is_anomaly & np.isin(digit[chosen], labelled)


def _small_digits(
    folder: Folder | None, normal: Sequence[int], labelled: Sequence[int]
) -> tuple[np.ndarray, ...]:
    """The same of scikit-learn's digits, 8 x 8 pixels."""
    images, digit = load_digits(return_X_y=True)
    is_anomaly = ~np.isin(digit, normal)
    pixels = (images * (255 / 16)).round().astype(np.uint8).reshape(-1, 8, 8)
    return pixels, is_anomaly, np.isin(digit, labelled)


def _defects(folder: Folder | None) -> tuple[np.ndarray, ...]:
    """Digits of all classes; the last ones are spoiled."""
    images = read_idx(locate(MNIST[0], folder))
    generator = np.random.default_rng(0)
    chosen = generator.permutation(len(images))[: N_NORMAL + N_ANOMALIES]
    spoiled = images[chosen].copy()
    masks = np.zeros(spoiled.shape, dtype=bool)
    is_anomaly = np.arange(len(chosen)) >= N_NORMAL
    for row in np.flatnonzero(is_anomaly):
        masks[row] = plant_defect(spoiled[row], generator)
    return spoiled, is_anomaly, is_anomaly, masks


IMAGE_SETS = {
    "mnist-nines": _Source(
        "MNIST, digits 0 to 4 are normal, anomalies are nines",
        partial(_unusual_digits, normal=range(5), anomalous=[9], labelled=[9]),
    ),
    "mnist-two-kinds": _Source(
        "MNIST, digits 1, 4 and 7 are normal, anomalies are 2 and 9",
        partial(_unusual_digits, normal=[1, 4, 7], anomalous=[2, 9], labelled=[2, 9]),
    ),
    "mnist-one-class": _Source(
        "MNIST, sixes are normal, all other digits are anomalies, only 0, 2 and 4 are labelled",
        partial(
            _unusual_digits,
            normal=[6],
            anomalous=[digit for digit in range(10) if digit != 6],
            labelled=[0, 2, 4],
        ),
    ),
    "digits": _Source(
        "scikit-learn's digits, 0 to 4 are normal, others are anomalies, only 5 to 7 are labelled",
        partial(_small_digits, normal=range(5), labelled=[5, 6, 7]),
    ),
    "mnist-defects": _Source(
        "MNIST, anomalies are digits with a planted spot or scratch",
        _defects,
    ),
}
