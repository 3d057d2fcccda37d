"""Views of an image: mirrored, or with its rows and columns exchanged, and the way back."""

from collections.abc import Callable, Collection
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from devnet.deep.images.image_rows import Shape

RISE = 0.25  # of the way from normal images to labelled anomalies, that a usual view may score
TRIED_IMAGES = 128


class View(NamedTuple):
    """One of the eight symmetries of a square."""

    is_transposed: bool
    is_upside_down: bool
    is_reversed: bool  # left to right

    def go(self, images: Tensor) -> Tensor:
        """Images (..., h, w) seen in this way."""
        seen = images.transpose(-1, -2) if self.is_transposed else images
        return seen.flip(self._axes)

    def undo(self, maps: Tensor) -> Tensor:
        """Maps (..., h, w) of images that were seen in this way, as maps of the images."""
        back = maps.flip(self._axes)
        return back.transpose(-1, -2) if self.is_transposed else back

    @property
    def _axes(self) -> list[int]:
        return [-2] * self.is_upside_down + [-1] * self.is_reversed

    def is_said(self, flips: Collection[str]) -> bool:
        """Whether images in this view are those that these flips make."""
        made = {"vertical": self.is_upside_down, "horizontal": self.is_reversed}
        return not self.is_transposed and all(flip in flips for flip in made if made[flip])


AS_IT_IS = View(is_transposed=False, is_upside_down=False, is_reversed=False)


def possible_views(shape: Shape) -> list[View]:
    """Views in which an image keeps its shape, as it is first."""
    _, height, width = shape
    sides = (False, True)
    return [View(*how) for how in product(sides if height == width else sides[:1], sides, sides)]


def usual_views(
    score: Callable[[np.ndarray], np.ndarray],
    unlabelled: np.ndarray,
    labelled: np.ndarray,
    flips: Collection[str] = (),
) -> list[View]:
    """The views in which normal images stay normal: those that `flips` make, and by their scores.

    Parameters
    ----------
    score : callable
        Images (n, c, h, w) -> scores (n,).
    unlabelled, labelled : arrays of shape (n, c, h, w)
        Images that are mostly normal, and labelled anomalies.
    flips : tuple of "horizontal" and "vertical"
        What is said to leave normal images normal.
    """
    views = possible_views(unlabelled.shape[1:])
    usual = [view for view in views if view.is_said(flips)]
    if not len(labelled):
        return usual
    normal, anomalous = (float(np.median(score(images))) for images in (unlabelled, labelled))
    highest = normal + RISE * (anomalous - normal)

    def is_usual(view: View) -> bool:
        seen = view.go(torch.from_numpy(unlabelled)).contiguous().numpy()
        return float(np.median(score(seen))) <= highest

    return [view for view in views if view in usual or is_usual(view)]
