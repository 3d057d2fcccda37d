"""Our small convolutional feature learners.

The first convolution moves by two pixels, and maps are pooled before the ReLU: the same function
as after it, in half of the time.
"""

from collections.abc import Sequence

from torch import nn

SMALLEST_SIDE = 4  # of maps that are pooled
LARGEST_SIDE = 8  # of maps that are flattened; larger ones are averaged first


def whole_image_learner(widths: Sequence[int], n_channels: int, side: int) -> nn.Sequential:
    """Images (b, c, h, w) -> features (b, d) that keep what is where: for shapes.

    Convolutions are followed by pooling, as long as the shorter side allows it.
    """
    layers: list[nn.Module] = []
    for number, width in enumerate(widths):
        layers.append(_convolution(number, n_channels, width))
        n_channels = width
        if number == 0:
            side //= 2
        elif side >= SMALLEST_SIDE:
            layers.append(nn.MaxPool2d(2))
            side //= 2
        layers.append(nn.ReLU())
    if side > LARGEST_SIDE:
        layers.append(nn.AdaptiveAvgPool2d(LARGEST_SIDE))
    return nn.Sequential(*layers, nn.Flatten())


def patch_learner(widths: Sequence[int], n_channels: int) -> nn.Sequential:
    """Images (b, c, h, w) -> feature maps (b, d, h / 2, w / 2) of small patches: for local defects.

    With three convolutions a patch is 12 x 12 pixels, and patches are 2 pixels apart.
    """
    layers: list[nn.Module] = []
    for number, width in enumerate(widths):
        layers += [_convolution(number, n_channels, width), nn.ReLU()]
        n_channels = width
    return nn.Sequential(*layers)


def _convolution(number: int, n_channels: int, width: int) -> nn.Conv2d:
    if number == 0:
        return nn.Conv2d(n_channels, width, 4, stride=2, padding=1)
    return nn.Conv2d(n_channels, width, 3, padding=1)
