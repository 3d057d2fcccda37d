"""Light changes of training images that leave what they show as it is."""

import torch
from torch import Tensor
from torch.nn import functional

AXES = {"horizontal": 3, "vertical": 2}  # that a flip reverses


def augmented(images: Tensor, shift: int, flips: tuple[str, ...]) -> Tensor:
    """Each image (b, c, h, w) moved by up to `shift` pixels, and flipped or not.

    Labelled and unlabelled images are changed alike, or the change itself would tell them apart.
    Draws from torch's generator.
    """
    for flip in flips:
        is_flipped = torch.rand(len(images), device=images.device) < 0.5
        turned = images.flip(AXES[flip])
        images = torch.where(is_flipped[:, None, None, None], turned, images)
    return moved(images, shift) if shift else images


def moved(images: Tensor, shift: int) -> Tensor:
    """Each image moved by up to `shift` pixels both ways; its edge goes on outside of it."""
    b, c, h, w = images.shape
    padded = functional.pad(images, (shift,) * 4, mode="replicate")
    start = torch.randint(2 * shift + 1, (2, b, 1), device=images.device)
    rows = start[0] + torch.arange(h, device=images.device)  # (b, h)
    columns = start[1] + torch.arange(w, device=images.device)  # (b, w)
    image = torch.arange(b, device=images.device)[:, None, None]
    # channels last while it is gathered, so that a pixel is one piece of memory
    gathered = padded.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]]
    return gathered.permute(0, 3, 1, 2)
