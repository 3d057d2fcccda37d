"""The torch module of an image network: from flat rows to features or to one score."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from devnet.deep.images.augmentation import Changes, changed
from devnet.deep.images.heads import GlobalHead, PatchHead, halved
from devnet.deep.images.image_rows import Shape
from devnet.deep.images.surprise import PixelSurprise


class FlatImages(nn.Module):
    """Unflattens rows, standardises channels, changes training images lightly, learns features.

    What it measures on training images, the centre and the spread of each channel, the typical
    image and what is expected of a pixel, are buffers: they are saved with the weights.

    Parameters
    ----------
    learner : torch.nn.Module
        Images (b, c, h, w) -> feature maps (b, d, h', w') or features (b, d). With surprises it
        sees twice as many channels.
    head : GlobalHead or PatchHead
    shape : (channels, height, width)
    changes : Changes
        Of training images.
    pyramid : int
        Levels of the image pyramid; each has half the height and width of the one before.
    surprise : PixelSurprise, optional
        What the learner sees beside the pixels.
    """

    centre: Tensor
    spread: Tensor
    typical: Tensor

    def __init__(
        self,
        learner: nn.Module,
        head: GlobalHead | PatchHead,
        shape: Shape,
        *,
        changes: Changes,
        pyramid: int = 1,
        surprise: PixelSurprise | None = None,
    ) -> None:
        super().__init__()
        self.learner = deepcopy(learner)
        self.head = head
        self.shape, self.changes, self.pyramid = shape, changes, pyramid
        self.surprise = surprise
        self.is_frozen = not any(weight.requires_grad for weight in learner.parameters())
        self.register_buffer("centre", torch.zeros(shape[0], 1, 1))
        self.register_buffer("spread", torch.ones(shape[0], 1, 1))
        self.register_buffer("typical", torch.zeros(shape))

    def take(self, measured: dict[str, Tensor]) -> None:
        """Take what was measured on training images, by the names of buffers."""
        buffers = dict(self.named_buffers())
        for name, values in measured.items():
            buffers[name].copy_(values)

    def train(self, mode: bool = True) -> "FlatImages":
        """Switch to training or scoring; a frozen learner always scores."""
        super().train(mode)
        if self.is_frozen:
            self.learner.eval()
        return self

    def images(self, rows: Tensor) -> Tensor:
        """Rows (b, c * h * w) as standardised images (b, c, h, w), and their surprises."""
        images = (rows.reshape(-1, *self.shape) - self.centre) / self.spread
        if self.surprise is None:
            return images
        return torch.cat([images, self.surprise(images)], dim=1)

    def levels(self, rows: Tensor) -> list[Tensor]:
        """Features of each level of the pyramid."""
        images = self.images(rows)
        if self.training:
            images = changed(images, self.changes)
        found = []
        for level in range(self.pyramid):
            images = halved(images) if level else images
            # convolutions on a processor are faster with the channels of a pixel side by side
            found.append(self.learner(images.contiguous(memory_format=torch.channels_last)))
        return found

    def forward(self, rows: Tensor) -> Tensor:
        """Features (b, d), or with a patch head the scores (b, 1): the mean of all levels."""
        outputs = [self.head(features) for features in self.levels(rows)]
        return outputs[0] if len(outputs) == 1 else torch.stack(outputs).mean(dim=0)
