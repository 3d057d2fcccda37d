"""Light changes of training images that leave what they show as it is."""

from math import pi
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

AXES = {"horizontal": 3, "vertical": 2}  # that a flip reverses


class Changes(NamedTuple):
    """How much an image may be changed each time it is drawn for training."""

    shift: int = 0  # pixels, both ways
    turn: float = 0.0  # degrees, both ways
    zoom: float = 0.0  # share of its size, both ways
    flips: tuple[str, ...] = ()  # axes that may be mirrored

    @property
    def is_none(self) -> bool:
        """Whether images stay as they are."""
        return not (self.shift or self.turn or self.zoom or self.flips)


def changed(images: Tensor, changes: Changes) -> Tensor:
    """Each image (b, c, h, w) changed in a way of its own.

    Labelled and unlabelled images are changed alike, or the change itself would tell them apart.
    Draws from torch's generator.
    """
    for flip in changes.flips:
        is_flipped = _between(images, -1, 1) < 0
        turned = images.flip(AXES[flip])
        images = torch.where(is_flipped[:, None, None, None], turned, images)
    if changes.turn or changes.zoom:
        return _moved_and_turned(images, changes)
    return _moved(images, changes.shift) if changes.shift else images


def _moved(images: Tensor, shift: int) -> Tensor:
    """Each image moved by whole pixels; its edge goes on outside of it."""
    b, _, h, w = images.shape
    padded = functional.pad(images, (shift,) * 4, mode="replicate")
    start = torch.randint(2 * shift + 1, (2, b, 1), device=images.device)
    rows = start[0] + torch.arange(h, device=images.device)  # (b, h)
    columns = start[1] + torch.arange(w, device=images.device)  # (b, w)
    image = torch.arange(b, device=images.device)[:, None, None]
    # channels last while it is gathered, so that a pixel is one piece of memory
    gathered = padded.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]]
    return gathered.permute(0, 3, 1, 2)


def _moved_and_turned(images: Tensor, changes: Changes) -> Tensor:
    """Each image moved, turned about its middle and zoomed, with interpolated pixels."""
    _, _, h, w = images.shape
    angle = _between(images, -1, 1) * changes.turn * pi / 180
    size = 1 + _between(images, -1, 1) * changes.zoom
    cosine, sine = size * torch.cos(angle), size * torch.sin(angle)
    across = _between(images, -1, 1) * 2 * changes.shift / w
    down = _between(images, -1, 1) * 2 * changes.shift / h
    rows = [[cosine, -sine * h / w, across], [sine * w / h, cosine, down]]
    way = torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)  # (b, 2, 3)
    grid = functional.affine_grid(way, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _between(images: Tensor, low: float, high: float) -> Tensor:
    """A number for each image."""
    drawn = torch.rand(len(images), device=images.device, dtype=images.dtype)
    return low + (high - low) * drawn
