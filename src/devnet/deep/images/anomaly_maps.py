"""Where the anomaly is, by the scores of patches."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from devnet.deep.images.heads import enlarged
from devnet.deep.images.image_rows import Shape
from devnet.deep.images.reading import Pictures
from devnet.deep.images.views import View
from devnet.engine.reference_scores import Reference

TOGETHER = 64  # images
MOVES = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]


def patch_scores(network: Any, pictures: Pictures, reference: Reference) -> list[np.ndarray]:
    """The deviations of all patches: for each level of the pyramid (m, n, h, w)."""
    tiles = list(_tiles(network, pictures, reference))
    return [
        np.concatenate([level.cpu().numpy() for level in of], axis=1)
        for of in zip(*tiles, strict=True)
    ]


def patch_maps(
    network: Any, pictures: Pictures, reference: Reference, shape: Shape, views: Sequence[View]
) -> np.ndarray:
    """The deviations of the patches, as maps (n, height, width): the mean of members and levels.

    Patches are some pixels apart. So images are also moved by a pixel, and their maps moved back. A
    network may know a defect by one of its edges, and its map would lie to one side. So images are
    seen in several views, and their maps brought back.
    """
    found = np.zeros((pictures.shape[0], *shape[1:]))
    ways = [_Way(*move, view) for move in MOVES for view in views]
    for way in ways:
        maps = []
        for levels in _tiles(network, pictures, reference, way):
            parts = [enlarged(level.mean(dim=0), *shape[1:]) for level in levels]
            maps.append(way.undo(torch.stack(parts).mean(dim=0)).cpu().numpy())
        found += np.concatenate(maps)
    return found / len(ways)


class _Way(NamedTuple):
    """How images are looked at."""

    down: int  # pixels that they are moved by
    right: int
    view: View

    def go(self, images: Tensor) -> Tensor:
        return moved(self.view.go(images), self.down, self.right)

    def undo(self, maps: Tensor) -> Tensor:
        return self.view.undo(moved(maps, -self.down, -self.right))


def moved(images: Tensor, down: int, right: int) -> Tensor:
    """Images (..., h, w) moved by pixels; what comes in at an edge repeats it."""
    h, w = images.shape[-2:]
    rows = (torch.arange(h, device=images.device) - down).clamp(0, h - 1)
    columns = (torch.arange(w, device=images.device) - right).clamp(0, w - 1)
    return images[..., rows[:, None], columns]


def _tiles(
    network: Any,
    pictures: Pictures,
    reference: Reference,
    way: "_Way | None" = None,
) -> Iterator[list[Tensor]]:
    """For some images at a time, the deviations (m, b, h, w) of the patches of each level."""
    scoring = network.for_scoring()
    for start in range(0, pictures.shape[0], TOGETHER):
        part = slice(start, min(start + TOGETHER, pictures.shape[0]))
        pictures.check_finite(part)
        rows = scoring.to_device(pictures.dense(part).astype(np.float64))
        if way is not None:
            rows = way.go(rows.reshape(-1, *pictures.image_shape)).flatten(1)
        by_member = []
        with torch.no_grad():
            for member, mean, std in zip(
                scoring.members, reference.mean, reference.std, strict=True
            ):
                module = member[0]
                patches = [module.head.patches(features) for features in module.levels(rows)]
                by_member.append([(scores - mean[0]) / std[0] for scores in patches])
        yield [torch.stack(level) for level in zip(*by_member, strict=True)]
