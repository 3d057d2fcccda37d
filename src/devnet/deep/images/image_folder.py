"""Folders of images: the files of one, and which of them are labelled."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from devnet.core.sentence import UserError
from devnet.core.wording import path_text, visible

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
ANOMALY, UNLABELLED, NORMAL = "anomaly", "unlabelled", "normal"
NORMAL_LABEL = -1
SUBFOLDERS = {ANOMALY: 1, UNLABELLED: 0, NORMAL: NORMAL_LABEL}  # and the label of their images
WORDS = {  # of a file of labels -> label
    **dict.fromkeys(("1", "anomaly", "true", "yes"), 1),
    **dict.fromkeys(("0", "", "unlabelled", "false", "no"), 0),
    **dict.fromkeys(("-1", "normal"), -1),
}


class LabelledImages(NamedTuple):
    """Files with their labels: 1 for an anomaly, 0 for an unlabelled image, -1 for a normal one."""

    files: list[Path]
    y: np.ndarray  # (n,)


def image_files(folder: Path) -> list[Path]:
    """The image files in a folder and the folders in it, by their endings, in order of names."""
    if not folder.is_dir():
        raise UserError(
            f"there is no folder {path_text(folder)}; give a folder of images, or a list of files."
        )
    files = sorted(path for path in folder.rglob("*") if _is_image_name(path))
    if not files:
        raise UserError(
            f"the folder {path_text(folder)} has no images: looked for files that end in "
            f"{', '.join(ENDINGS)}."
        )
    return files


def labelled_images(folder: str | Path, labels: str | Path | None = None) -> LabelledImages:
    """The images of a folder with their labels.

    Parameters
    ----------
    folder : str or path
        Without `labels` it has a subfolder `anomaly` with the labelled anomalies and another one,
        `unlabelled`; images in a third, `normal`, are known to be normal.
    labels : str or path, optional
        A CSV file with a header and two columns: the name of a file, relative to the folder, and
        its label: 1 or anomaly, 0 or unlabelled, -1 or normal. A file that it does not name is
        unlabelled.

    Returns
    -------
    images : LabelledImages
        `files` and `y`, for `fit` of an `ImageDevNet` with `normal_label=-1` if -1 occurs.

    Raises
    ------
    UserError
        If a label names no file, is unknown or is given twice, or a subfolder is missing.
    """
    folder = Path(folder)
    if labels is None:
        return _by_subfolder(folder)
    files = image_files(folder)
    number = {path.relative_to(folder).as_posix(): row for row, path in enumerate(files)}
    y = np.zeros(len(files), dtype=int)
    seen: dict[str, int] = {}
    for line, name, label in _label_lines(Path(labels)):
        at = f"line {line} of {path_text(labels)}"
        if name not in number:
            raise UserError(
                f"{at} labels {visible(name)!r}, but {path_text(folder)} has no such image; "
                "names are relative to the folder. Mend the name, or remove the line."
            )
        if name in seen:
            raise UserError(
                f"{at} labels {visible(name)!r}, which line {seen[name]} has labelled before; "
                "keep one of the two."
            )
        if label.strip().lower() not in WORDS:
            raise UserError(
                f"{at} has the label {visible(label)!r}; a label is 1 or anomaly, 0 or "
                "unlabelled, -1 or normal."
            )
        seen[name] = line
        y[number[name]] = WORDS[label.strip().lower()]
    return LabelledImages(files, y)


def _by_subfolder(folder: Path) -> LabelledImages:
    for required in (ANOMALY, UNLABELLED):
        if not (folder / required).is_dir():
            raise UserError(
                f"{path_text(folder)} has no subfolder {required!r}; put the labelled anomalies "
                f"into {ANOMALY!r} and all other images into {UNLABELLED!r}, or give a file of "
                "labels."
            )
    files: list[Path] = []
    y: list[int] = []
    for name, label in SUBFOLDERS.items():
        if (folder / name).is_dir():
            found = image_files(folder / name)
            files += found
            y += [label] * len(found)
    return LabelledImages(files, np.array(y))


def _label_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, file name and label, from the second line on."""
    if not path.is_file():
        raise UserError(f"there is no file of labels {path_text(path)}.")
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            reader = csv.reader(file)
            header = next(reader, [])
            if len(header) < 2:
                raise UserError(
                    f"{path_text(path)} is no file of labels: its first line must name two "
                    "columns, such as file,label."
                )
            for cells in reader:
                if cells:
                    yield reader.line_num, cells[0], cells[1] if len(cells) > 1 else ""
        except (UnicodeDecodeError, csv.Error) as error:
            raise UserError(
                f"{path_text(path)} is not a CSV file in UTF-8 ({error}); save it as one."
            ) from error


def _is_image_name(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS and not path.name.startswith(".") and path.is_file()
