"""From the feature maps of an image to what the deviation loss sees: one vector, or one score."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from devnet.deep.shrinking_share import ShrinkingShare


class GlobalHead(nn.Module):
    """Feature maps (b, d, h, w) -> their means (b, d); features (b, d) stay as they are.

    The linear unit of the network follows: the paper's scoring network.
    """

    def forward(self, features: Tensor) -> Tensor:
        """Features (b, d)."""
        return features.mean(dim=(2, 3)) if features.ndim == 4 else features


class PatchHead(nn.Module):
    """One score for every patch by a 1x1 convolution; an image has the mean of its highest ones.

    Only the highest patches are trained, and all others could have any score below them. So scores
    are kept from being negative: however normal one patch is, it makes up for no other.

    G. Pang, C. Ding, C. Shen, A. van den Hengel. Explainable deep few-shot anomaly detection with
    deviation networks. arXiv 2108.00462, 2021.

    Parameters
    ----------
    width : int
        Channels d of the feature maps.
    top_share : float
        Share of the patches whose scores count, once it has started to learn.
    """

    def __init__(self, width: int, top_share: float) -> None:
        super().__init__()
        self.unit = nn.Conv2d(width, 1, 1)
        self.top_share = ShrinkingShare(top_share)

    def patches(self, features: Tensor) -> Tensor:
        """The scores of the patches, (b, h, w)."""
        return functional.softplus(self.unit(features)[:, 0])

    def forward(self, features: Tensor) -> Tensor:
        """The scores of the images, (b, 1)."""
        share = self.top_share.next(is_training=self.training)
        return top_mean(self.patches(features), share)[:, None]


def top_mean(patches: Tensor, share: float) -> Tensor:
    """The mean (b,) of the highest share of the patches (b, h, w), at least of one."""
    flat = patches.flatten(1)
    n_top = max(1, round(share * flat.shape[1]))
    return flat.topk(n_top, dim=1, sorted=False).values.mean(dim=1)


def halved(images: Tensor) -> Tensor:
    """The next level of an image pyramid: half as high and half as wide."""
    return functional.avg_pool2d(images, 2, ceil_mode=True)


def enlarged(patches: Tensor, height: int, width: int) -> Tensor:
    """Scores of patches (b, h, w), between which is interpolated, as a map (b, height, width)."""
    size = (height, width)
    with torch.no_grad():
        return functional.interpolate(patches[:, None], size, mode="bilinear", align_corners=False)[
            :, 0
        ]
