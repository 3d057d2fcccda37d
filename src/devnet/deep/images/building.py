"""The module of an image network from a detector's parameters, and what it measures on images."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from devnet.core.arrays import is_module
from devnet.core.sentence import UserError
from devnet.deep.images.convolutions import patch_learner, whole_image_learner
from devnet.deep.images.flat_images import FlatImages
from devnet.deep.images.heads import GlobalHead, PatchHead
from devnet.deep.images.image_rows import Shape
from devnet.deep.images.reading import Pictures
from devnet.deep.images.surprise import PixelSurprise, learn_surprise, n_enough

MEASURED_IMAGES = 4_000  # unlabelled images that centre, spread and typical image are taken from
MEASURED_TOGETHER = 256
WRONG_CALLS = (RuntimeError, ValueError, TypeError, IndexError, AttributeError)


def image_module(
    hidden: Any, shape: Shape, *, head: str, top_share: float, **options: Any
) -> FlatImages:
    """The module that maps flat images to features, or with a patch head to scores.

    `options` are those of `FlatImages`. The weights of its own parts are yet to be drawn.
    """
    pyramid = options.get("pyramid", 1)
    if pyramid > 1 and head != "patches":
        raise UserError(
            f"pyramid={pyramid} is for head='patches', but head={head!r}; leave pyramid out."
        )
    with torch.random.fork_rng():  # torch draws first weights, the caller's draws are left alone
        if is_module(hidden):
            learner, surprise = hidden, None
        elif head == "global":
            learner, surprise = whole_image_learner(hidden, shape[0], min(shape[1:])), None
        else:
            learner, surprise = patch_learner(hidden, 2 * shape[0]), PixelSurprise(shape[0])
        seen = shape if surprise is None else (2 * shape[0], *shape[1:])
        width = _feature_width(learner, seen, head, pyramid)
        last = GlobalHead() if head == "global" else PatchHead(width, top_share)
        return FlatImages(learner, last, shape, surprise=surprise, **options)


def measured(module: FlatImages, pictures: Pictures, numbers: np.ndarray) -> dict[str, Tensor]:
    """What a module takes from these images, by the names of its buffers."""
    found = _spreads(pictures, numbers)
    if module.surprise is None:
        return found
    enough = n_enough(pictures.shape[1] // module.shape[0])
    some = pictures.dense(numbers[:: -(-len(numbers) // enough)]).astype(np.float64)
    images = some.reshape(-1, *module.shape)
    images = (images - found["centre"].numpy()) / found["spread"].numpy()
    state = learn_surprise(images)
    return {**found, **{f"surprise.{name}": values for name, values in state.items()}}


def _spreads(pictures: Pictures, numbers: np.ndarray) -> dict[str, Tensor]:
    """Centre and spread of the channels of these images, and their mean."""
    chosen = numbers[:: -(-len(numbers) // MEASURED_IMAGES)]
    total = np.zeros(pictures.shape[1])
    squares = np.zeros(pictures.shape[1])
    for start in range(0, len(chosen), MEASURED_TOGETHER):
        rows = pictures.dense(chosen[start : start + MEASURED_TOGETHER]).astype(np.float64)
        total += rows.sum(axis=0)
        squares += (rows**2).sum(axis=0)
    typical, second = (
        part.reshape(pictures.image_shape) / len(chosen) for part in (total, squares)
    )
    centre = typical.mean(axis=(1, 2), keepdims=True)
    variance = second.mean(axis=(1, 2), keepdims=True) - centre**2
    spread = np.sqrt(np.maximum(variance, 0))
    is_constant = spread <= 1e-6 * np.abs(centre)
    found = {"typical": typical, "centre": centre, "spread": np.where(is_constant, 1, spread)}
    return {name: torch.from_numpy(values) for name, values in found.items()}


def _feature_width(learner: nn.Module, shape: Shape, head: str, pyramid: int) -> int:
    """Channels of the learner's output, if it suits the head."""
    name, smallest = (
        type(learner).__name__,
        tuple(-(-side // 2 ** (pyramid - 1)) for side in shape[1:]),
    )
    given = (2, shape[0], *smallest)
    device = next((weight.device for weight in learner.parameters()), torch.device("cpu"))
    was_training = learner.training
    try:
        with torch.no_grad():
            found = tuple(learner.eval()(torch.zeros(given, device=device)).shape)
    except WRONG_CALLS as error:
        raise UserError(
            f"hidden={name} failed on images of shape {given}: {error}. A backbone maps images "
            "(b, channels, height, width) to feature maps (b, d, height', width')."
        ) from error
    finally:
        learner.train(was_training)
    n_axes = (4,) if head == "patches" else (2, 4)
    if len(found) not in n_axes or found[0] != 2 or 0 in found:
        wanted = "feature maps (b, d, height', width')"
        raise UserError(
            f"hidden={name} maps images of shape {given} to shape {found}, but head={head!r} needs "
            f"{wanted}{' or features (b, d)' if head == 'global' else ''}."
        )
    return int(found[1])
