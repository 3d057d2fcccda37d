"""From what a caller has, an array, a list of files or a folder, to images as flat rows."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from devnet.core.sentence import Setting, UserError
from devnet.deep.images.file_rows import FileRows
from devnet.deep.images.image_folder import image_files
from devnet.deep.images.image_rows import LARGEST, ImageRows, Shape

USUAL_CHANNELS = (1, 3, 4)  # grey, colours, colours with transparency

Pictures = ImageRows | FileRows
Size = tuple[int, int]


def read_images(
    X: Any, *, size: Size | None = None, channels_first: bool | None = None
) -> Pictures:
    """Images as flat rows.

    Parameters
    ----------
    X : array of shape (n, h, w), (n, h, w, c) or (n, c, h, w), list of files, or folder
        Whole numbers of 8 or 16 bits are scaled to [0, 1]; floats are taken as they are.
    size : (height, width), optional
        Files are resized to this.
    channels_first : bool, optional
        Where an array of four axes has its channels; by default the axis with 1, 3 or 4 of them.
    """
    if isinstance(X, str | PathLike):
        return FileRows(image_files(Path(X)), size)
    if _is_files(X):
        return FileRows([Path(path) for path in X], size)
    if size is not None:
        raise UserError(
            f"size={size!r} is for files, but X is an array; resize its images yourself, or leave ",
            Setting("size"),
            " out.",
        )
    return ImageRows(_channels_second(_as_array(X), channels_first))


def refuse_other_shape(pictures: Pictures, shape: Shape) -> None:
    """Refuse images of another shape than those that were learned from."""
    if pictures.image_shape != shape:
        raise UserError(
            f"the images are {shape_text(pictures.image_shape)}, but the model learned from images "
            f"of {shape_text(shape)}; resize or convert them first."
        )


def shape_text(shape: Shape) -> str:
    """A shape in words."""
    c, h, w = shape
    return f"{h} x {w} pixels with {c} channel{'s' * (c > 1)}"


def _is_files(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "OU" and all(map(_is_path, X))
    return isinstance(X, Sequence) and len(X) > 0 and all(map(_is_path, X))


def _is_path(value: Any) -> bool:
    return isinstance(value, str | PathLike)


def _as_array(X: Any) -> np.ndarray:
    if isinstance(X, list | tuple):
        X = _stacked(X)
    images = np.asarray(X)
    if images.ndim not in (3, 4):
        raise UserError(
            f"X has shape {images.shape}, but images are arrays of shape (n, height, width), (n, "
            "height, width, channels) or (n, channels, height, width), a list of files or a "
            "folder. Reshape flat rows first, for example with X.reshape(len(X), 28, 28)."
        )
    if not images.size:
        raise UserError(
            f"Found array with 0 sample(s) (shape={images.shape}) while a minimum of 1 is "
            "required: X has no images, or images without pixels."
        )
    if images.dtype.kind != "f" and images.dtype.name not in LARGEST:
        raise UserError(
            f"X has values of type {images.dtype.name}, but pixels are uint8 or uint16, which are "
            "scaled to [0, 1], or floats, which are taken as they are; convert them with "
            "X.astype()."
        )
    return images


def _stacked(X: Sequence[Any]) -> np.ndarray:
    images = [np.asarray(image) for image in X]
    for row, image in enumerate(images):
        if image.shape != images[0].shape:
            raise UserError(
                f"image {row} has shape {image.shape}, but image 0 has {images[0].shape}; all "
                "images must have the same size and channels. Resize or convert them first."
            )
    return np.stack(images) if images else np.zeros((0, 0, 0), np.uint8)


def _channels_second(images: np.ndarray, channels_first: bool | None) -> np.ndarray:
    """Images (n, c, h, w), as a view."""
    if images.ndim == 3:
        return images[:, None]
    if channels_first is None:
        is_usual = [images.shape[axis] in USUAL_CHANNELS for axis in (1, 3)]
        if is_usual[0] == is_usual[1]:
            raise UserError(
                f"X has shape {images.shape}, and either axis 1 or axis 3 may be its channels; "
                "say which with ",
                Setting("channels_first", True),
                " or ",
                Setting("channels_first", False),
                ".",
            )
        channels_first = is_usual[0]
    return images if channels_first else np.moveaxis(images, 3, 1)
