"""Where the anomaly is, by the scores of patches."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from devnet.deep.images.heads import enlarged
from devnet.deep.images.image_rows import Shape
from devnet.deep.images.reading import Pictures
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


def patch_maps(network: Any, pictures: Pictures, reference: Reference, shape: Shape) -> np.ndarray:
    """The deviations of the patches, as maps (n, height, width): the mean of members and levels.

    Patches are some pixels apart. So images are also moved by a pixel, and their maps moved back.
    """
    found = np.zeros((pictures.shape[0], *shape[1:]))
    for move in MOVES:
        maps = []
        for levels in _tiles(network, pictures, reference, move):
            parts = [enlarged(level.mean(dim=0), *shape[1:]) for level in levels]
            maps.append(moved(torch.stack(parts).mean(dim=0), -move[0], -move[1]).cpu().numpy())
        found += np.concatenate(maps)
    return found / len(MOVES)


def moved(images: Tensor, down: int, right: int) -> Tensor:
    """Images (..., h, w) moved by pixels; what comes in at an edge repeats it."""
    h, w = images.shape[-2:]
    rows = (torch.arange(h, device=images.device) - down).clamp(0, h - 1)
    columns = (torch.arange(w, device=images.device) - right).clamp(0, w - 1)
    return images[..., rows[:, None], columns]


def _tiles(
    network: Any, pictures: Pictures, reference: Reference, move: tuple[int, int] = (0, 0)
) -> Iterator[list[Tensor]]:
    """For some images at a time, the deviations (m, b, h, w) of the patches of each level."""
    scoring = network.for_scoring()
    for start in range(0, pictures.shape[0], TOGETHER):
        part = slice(start, min(start + TOGETHER, pictures.shape[0]))
        pictures.check_finite(part)
        rows = scoring.to_device(pictures.dense(part).astype(np.float64))
        if move != (0, 0):
            rows = moved(rows.reshape(-1, *pictures.image_shape), *move).flatten(1)
        by_member = []
        with torch.no_grad():
            for member, mean, std in zip(
                scoring.members, reference.mean, reference.std, strict=True
            ):
                module = member[0]
                patches = [module.head.patches(features) for features in module.levels(rows)]
                by_member.append([(scores - mean[0]) / std[0] for scores in patches])
        yield [torch.stack(level) for level in zip(*by_member, strict=True)]
