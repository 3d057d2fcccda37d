"""Our small convolutional feature learners."""

from collections.abc import Sequence

from torch import nn

SMALLEST_SIDE = 4  # of maps that are pooled
LARGEST_SIDE = 8  # of maps that are flattened; larger ones are averaged first


def whole_image_learner(widths: Sequence[int], n_channels: int, side: int) -> nn.Sequential:
    """Images (b, c, h, w) -> features (b, d) that keep what is where: for shapes.

    Every convolution is followed by pooling, as long as the shorter side allows it.
    """
    layers: list[nn.Module] = []
    for width in widths:
        layers += [nn.Conv2d(n_channels, width, 3, padding=1), nn.ReLU()]
        n_channels = width
        if side >= SMALLEST_SIDE:
            layers.append(nn.MaxPool2d(2))
            side //= 2
    if side > LARGEST_SIDE:
        layers.append(nn.AdaptiveAvgPool2d(LARGEST_SIDE))
    return nn.Sequential(*layers, nn.Flatten())


def patch_learner(widths: Sequence[int], n_channels: int) -> nn.Sequential:
    """Images (b, c, h, w) -> feature maps (b, d, h / 2, w / 2) of small patches: for local defects.

    With three convolutions a patch is 12 x 12 pixels, and patches are 2 pixels apart.
    """
    layers: list[nn.Module] = []
    for number, width in enumerate(widths):
        layers += [nn.Conv2d(n_channels, width, 3, padding=1), nn.ReLU()]
        n_channels = width
        if number == 0:
            layers.append(nn.MaxPool2d(2, ceil_mode=True))
    return nn.Sequential(*layers)
