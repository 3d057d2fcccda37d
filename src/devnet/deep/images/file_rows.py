"""Images in files as flat rows, decoded when they are drawn."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from devnet.core.sentence import Setting, UserError
from devnet.core.wording import path_text, visible
from devnet.deep.images.image_rows import Shape, refuse_not_finite, scaled

KEPT_BYTES = 1 << 28  # of decoded images that are kept, as a fit draws the same ones again
MODES = {  # of Pillow -> the one that pixels are read in
    **dict.fromkeys(("1", "L"), "L"),
    **dict.fromkeys(("P", "RGB", "CMYK", "YCbCr", "HSV", "LAB"), "RGB"),
    **dict.fromkeys(("LA", "PA", "RGBA"), "RGBA"),
    **dict.fromkeys(("I;16", "I;16L", "I;16B", "I;16N"), "I;16"),
    "F": "F",
}
CHANNELS = {"L": 1, "RGB": 3, "RGBA": 4, "I;16": 1, "F": 1}


class FileRows:
    """Images of files that all have the same size and channels, or are resized to one size.

    Only their headers are read at first. Of a file with several frames, the first counts.
    """

    is_sparse = False

    def __init__(self, files: Sequence[Path], size: tuple[int, int] | None = None) -> None:
        require_pillow()
        self.files = list(files)
        self._size = size
        self.image_shape = self._common_shape()
        self.shape = (len(self.files), int(np.prod(self.image_shape)))
        self._kept: dict[int, np.ndarray] = {}

    def dense(self, selection: slice | np.ndarray) -> np.ndarray:
        """Images (b, c * h * w) as float32."""
        chosen = np.arange(self.shape[0])[selection]
        rows = np.empty((len(chosen), self.shape[1]), np.float32)
        for row, number in zip(rows, chosen.tolist(), strict=True):
            row[:] = scaled(self._pixels(number))
        refuse_not_finite(rows, self.image_shape, [self.name(row) for row in chosen.tolist()])
        return rows

    def select(self, selection: np.ndarray) -> "FileRows":
        """The same files, in part."""
        chosen: FileRows = object.__new__(FileRows)
        chosen.__dict__.update(self.__dict__)
        chosen.files = [self.files[number] for number in selection.tolist()]
        chosen.shape = (len(chosen.files), self.shape[1])
        chosen._kept = {}
        return chosen

    def name(self, row: int) -> str:
        """What errors call an image."""
        return path_text(self.files[row])

    def check_finite(self, rows: slice = slice(None)) -> None:
        """Files are checked when they are decoded, as a fit need not hold them all."""

    def _common_shape(self) -> Shape:
        shapes = [_header_shape(path) for path in self.files]
        for path, (c, h, w) in zip(self.files, shapes, strict=True):
            first, (channels, height, width) = self.files[0], shapes[0]
            if c != channels:
                raise UserError(
                    f"{path_text(path)} has {c} channel{'s' * (c > 1)}, but "
                    f"{path_text(first)} has {channels}; convert all images to the same "
                    "channels, or leave this one out."
                )
            if (h, w) != (height, width) and self._size is None:
                raise UserError(
                    f"{path_text(path)} has {h} x {w} pixels, but {path_text(first)} has "
                    f"{height} x {width}; leave it out, or have all images resized with ",
                    Setting("size", (height, width)),
                    ".",
                )
        return shapes[0] if self._size is None else (shapes[0][0], *self._size)

    def _pixels(self, number: int) -> np.ndarray:
        """The flat pixels (c * h * w,) of a file, as they are stored."""
        if number in self._kept:
            return self._kept[number]
        pixels = _decoded(self.files[number], self._size)
        if pixels.shape != self.image_shape:
            raise UserError(
                f"{self.name(number)} has changed since it was first looked at; do not write to "
                "the files of a running fit."
            )
        flat = pixels.reshape(-1)
        if (len(self._kept) + 1) * flat.nbytes <= KEPT_BYTES:
            self._kept[number] = flat
        return flat


def require_pillow() -> ModuleType:
    """Pillow's module of images, or a sentence that says how to install it."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "image files are read with Pillow, which is not installed; install it with: "
            "pip install 'deviation-network[images]'"
        ) from error
    return Image


def _header_shape(path: Path) -> Shape:
    with _opened(path) as image:
        return (CHANNELS[MODES[image.mode]], image.height, image.width)


def _decoded(path: Path, size: tuple[int, int] | None) -> np.ndarray:
    """The pixels (c, h, w) of a file."""
    with _opened(path) as image:
        try:
            mode = MODES[image.mode]
            found = image if mode in ("I;16", image.mode) else image.convert(mode)
            if size is not None and found.size != (size[1], size[0]):
                kind = require_pillow().Resampling.BILINEAR
                found = found.resize((size[1], size[0]), kind)
            pixels = np.asarray(found)
        except (OSError, ValueError, SyntaxError) as error:
            raise _not_an_image(path, error) from error
    pixels = pixels.astype(np.uint16) if mode == "I;16" else pixels
    return pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, 2, 0)


def _opened(path: Path) -> Any:
    """The image of a file, with its header read."""
    library = require_pillow()
    if not path.is_file():
        raise UserError(f"there is no image file {path_text(path)}; give files that exist.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", library.DecompressionBombWarning)
            image = library.open(path)
    except (
        OSError,
        ValueError,
        SyntaxError,
        library.DecompressionBombWarning,
        library.DecompressionBombError,
    ) as error:
        raise _not_an_image(path, error) from error
    if image.mode not in MODES:
        image.close()
        raise UserError(
            f"{path_text(path)} has pixels of Pillow's mode {image.mode!r}, which is not read "
            "here; convert it to grey or RGB first, or leave it out."
        )
    return image


def _not_an_image(path: Path, error: Exception) -> UserError:
    reason = str(error).partition("\n")[0].replace(repr(str(path)), "it").rstrip(".")
    return UserError(
        f"{path_text(path)} is not an image that Pillow can read ({visible(reason)}); leave it "
        "out, or save it again as PNG."
    )
