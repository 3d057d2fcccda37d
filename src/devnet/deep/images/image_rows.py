"""Images in memory as flat rows (b, c * h * w), the form in which the engine draws and scores."""

import numpy as np

from devnet.core.rows import CHECKED_VALUES, has_finite_sum
from devnet.core.sentence import UserError

LARGEST = {"uint8": 255.0, "uint16": 65535.0, "bool": 1.0}  # whole numbers, scaled to [0, 1]

Shape = tuple[int, int, int]
"""Channels, height and width."""


class ImageRows:
    """Images (n, c, h, w) of one array, of any layout; each is scaled when it is drawn."""

    is_sparse = False

    def __init__(self, images: np.ndarray) -> None:
        self.shape = (len(images), int(np.prod(images.shape[1:])))
        self._images = images

    @property
    def image_shape(self) -> Shape:
        """Channels, height and width."""
        _, c, h, w = self._images.shape
        return c, h, w

    def dense(self, selection: slice | np.ndarray) -> np.ndarray:
        """Images (b, c * h * w) as float32."""
        return scaled(self._images[selection]).reshape(-1, self.shape[1])

    def select(self, selection: np.ndarray) -> "ImageRows":
        """A copy of these images."""
        return ImageRows(self._images[selection])

    def name(self, row: int) -> str:
        """What errors call an image."""
        return f"image {row}"

    def check_finite(self, rows: slice = slice(None)) -> None:
        """Refuse a missing or infinite value or one beyond float32, and say where it is."""
        start, stop, _ = rows.indices(self.shape[0])
        step = max(1, CHECKED_VALUES // self.shape[1])
        for first in range(start, stop, step):
            chosen = range(first, min(first + step, stop))
            values = self.dense(slice(chosen.start, chosen.stop))
            refuse_not_finite(values, self.image_shape, [self.name(row) for row in chosen])


def scaled(pixels: np.ndarray) -> np.ndarray:
    """Pixels as float32: whole numbers from 0 to 1, floats as they are."""
    with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite and is refused
        single = pixels.astype(np.float32, copy=False)
    largest = LARGEST.get(pixels.dtype.name, 1.0)
    return single if largest == 1.0 else single / np.float32(largest)


def refuse_not_finite(values: np.ndarray, shape: Shape, names: list[str]) -> None:
    """Refuse flat rows with a value that is not finite, and say which pixel it is."""
    if has_finite_sum(values):
        return
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, position = (int(part) for part in bad[0])
        channel, y, x = (int(part) for part in np.unravel_index(position, shape))
        raise UserError(
            f"{names[row]} contains NaN, infinity or a value beyond float32: "
            f"{values[row, position]} at row {y}, column {x}, channel {channel}. Fill missing "
            "pixels first, or leave the image out."
        )
