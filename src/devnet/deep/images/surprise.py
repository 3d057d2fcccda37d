"""How unexpected each pixel is beside its neighbours, as learned from unlabelled images.

With few labels a network cannot learn what is usual, but the images without a label tell: a pixel
is expected to be what a linear regression on the pixels around it says. Labels then need only tell
which surprises are defects.
"""

from math import gcd

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor, nn
from torch.nn import functional

REACH = 2  # pixels on each side that a pixel is expected from
SIDE = 2 * REACH + 1
RIDGE = 1e-5  # share of the neighbours' variance, so that equal ones share their weight
SMALLEST = 1e-6  # usual distance, in standard deviations
LEAST_SPREAD = 1e-3  # of surprises; where all pixels are alike, they differ by rounding alone
MOST_PIXELS = 1 << 18  # of each channel, from which surprises are learned
FEWEST_IMAGES = 16  # that these pixels are of, if there are as many


class PixelSurprise(nn.Module):
    """The distance of pixels from what is expected, as log(1 + distance / usual), standardised.

    Parameters
    ----------
    n_channels : int
    """

    weights: Tensor  # (c, 1, SIDE, SIDE) of the pixels around; 0 in the middle
    usual: Tensor  # (c, 1, 1) mean distance in training
    centre: Tensor  # (c, 1, 1) mean surprise
    spread: Tensor  # (c, 1, 1) and its standard deviation

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.register_buffer("weights", torch.zeros(n_channels, 1, SIDE, SIDE))
        self.register_buffer("usual", torch.ones(n_channels, 1, 1))
        self.register_buffer("centre", torch.zeros(n_channels, 1, 1))
        self.register_buffer("spread", torch.ones(n_channels, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Surprises (b, c, h, w) of standardised images; beyond an edge its pixels go on."""
        around = functional.pad(images, (REACH,) * 4, mode="replicate")
        expected = functional.conv2d(around, self.weights, groups=len(self.weights))
        surprise = torch.log1p((images - expected).abs() / self.usual)
        standardised: Tensor = (surprise - self.centre) / self.spread
        return standardised


def learn_surprise(images: np.ndarray) -> dict[str, Tensor]:
    """What is expected of standardised images (n, c, h, w), as the state of a `PixelSurprise`."""
    n_channels = images.shape[1]
    kernels = np.zeros((n_channels, SIDE * SIDE))
    facts = np.zeros((3, n_channels, 1, 1))
    middle = SIDE * SIDE // 2
    others = np.delete(np.arange(SIDE * SIDE), middle)
    for channel in range(n_channels):
        patches = _patches(images[:, channel])
        inputs, output = patches[:, others], patches[:, middle]
        squares = inputs.T @ inputs
        ridge = RIDGE * np.trace(squares) + SMALLEST
        weights = np.linalg.solve(squares + ridge * np.eye(len(others)), inputs.T @ output)
        distance = np.abs(output - inputs @ weights)
        usual = max(SMALLEST, float(distance.mean()))
        surprise = np.log1p(distance / usual)
        kernels[channel, others] = weights
        facts[:, channel, 0, 0] = usual, surprise.mean(), max(LEAST_SPREAD, float(surprise.std()))
    found = {"weights": kernels.reshape(n_channels, 1, SIDE, SIDE)}
    found |= dict(zip(("usual", "centre", "spread"), facts, strict=True))
    return {name: torch.from_numpy(values) for name, values in found.items()}


def n_enough(n_pixels: int) -> int:
    """How many images of so many pixels surprises are learned from."""
    return max(FEWEST_IMAGES, MOST_PIXELS // n_pixels)


def _patches(images: np.ndarray) -> np.ndarray:
    """Pixels of images (n, h, w) with those around, (p, SIDE * SIDE); of very many, some."""
    n, h, w = images.shape
    every = -(-n * h * w // MOST_PIXELS)
    while gcd(every, w) > 1:  # or they would be of few columns
        every += 1
    chosen = np.arange(0, n * h * w, every)
    image, y, x = np.unravel_index(chosen, (n, h, w))
    padded = np.pad(images, ((0, 0), (REACH, REACH), (REACH, REACH)), mode="edge")
    patches = sliding_window_view(padded, (SIDE, SIDE), axis=(1, 2))[image, y, x]
    return patches.reshape(len(chosen), SIDE * SIDE).astype(np.float64)
