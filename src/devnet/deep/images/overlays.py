"""Images beside themselves under their anomaly maps, as PNG files."""

import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path

import numpy as np

from devnet.core.sentence import UserError
from devnet.core.wording import path_text
from devnet.deep.images.file_rows import FileRows, require_pillow
from devnet.deep.images.reading import Pictures

TOGETHER = 64  # images whose maps are made at a time
SMALLEST_SHOWN = 224  # pixels on the shorter side of a picture; smaller images are enlarged
GAP = 8  # pixels between the image and its map
INFERNO = (  # even steps of matplotlib's map, whose lightness grows evenly
    *("000004", "1f0c48", "550f6d", "88226a", "ba3655", "e35933", "f98c0a", "f9c932", "fcffa4"),
)


def save_overlays(
    pictures: Pictures,
    make_maps: Callable[[Pictures], np.ndarray],
    limit: float,
    folder: str | PathLike[str],
) -> list[Path]:
    """Write a PNG file for each image; a map's colours go from 0 to `limit`."""
    library = require_pillow()
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{path_text(folder)} is a file, not a folder; give another name.")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for start in range(0, pictures.shape[0], TOGETHER):
        rows = np.arange(start, min(start + TOGETHER, pictures.shape[0]))
        some = pictures.select(rows)
        images = some.dense(slice(None)).reshape(-1, *pictures.image_shape)
        for row, image, values in zip(rows.tolist(), images, make_maps(some), strict=True):
            path = folder / f"{row:05d}{_stem(pictures, row)}.png"
            library.fromarray(overlay(image, values, limit)).save(path)
            written.append(path)
    return written


def overlay(image: np.ndarray, values: np.ndarray, limit: float) -> np.ndarray:
    """An image (c, h, w) and beside it the same under its map (h, w), as uint8 (h', w', 3)."""
    shown = _visible_image(image)
    level = np.clip(values / limit, 0, 1)
    grey = shown.mean(axis=2, keepdims=True).repeat(3, axis=2)
    alpha = 0.85 * np.sqrt(level)[:, :, None]  # faint where little is wrong
    covered = (1 - alpha) * grey + alpha * colours(level)
    factor = max(1, -(-SMALLEST_SHOWN // min(level.shape)))
    left, right = (
        np.repeat(np.repeat(part, factor, 0), factor, 1).round().astype(np.uint8)
        for part in (shown, covered)
    )
    gap = np.full((len(left), GAP, 3), 255, np.uint8)
    return np.concatenate([left, gap, right], axis=1)


def colours(level: np.ndarray) -> np.ndarray:
    """Levels from 0 to 1 as colours (..., 3) from 0 to 255."""
    steps = np.array([list(bytes.fromhex(colour)) for colour in INFERNO], dtype=float)
    at = np.linspace(0, 1, len(steps))
    return np.stack([np.interp(level, at, steps[:, part]) for part in range(3)], axis=-1)


def _visible_image(image: np.ndarray) -> np.ndarray:
    """An image (c, h, w) of any range as colours (h, w, 3) from 0 to 255."""
    channels = image[:3] if len(image) >= 3 else image[:1].repeat(3, axis=0)
    low, high = float(channels.min()), float(channels.max())
    if not 0 <= low <= high <= 1:
        channels = (channels - low) / (high - low or 1)
    shown: np.ndarray = 255 * channels.transpose(1, 2, 0)
    return shown


def _stem(pictures: Pictures, row: int) -> str:
    if not isinstance(pictures, FileRows):
        return ""
    return "_" + re.sub(r"[^\w.-]", "_", pictures.files[row].stem)[:100]
