"""ImageModel: learns from a folder of images in which a few are labelled, and ranks others."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa

from devnet.core.model_file import refuse_unknown
from devnet.core.seeds import as_generator, draw_seed
from devnet.core.sentence import Setting, UserError
from devnet.deep.images.image_devnet import ImageDevNet
from devnet.deep.images.image_folder import ANOMALY, NORMAL_LABEL, image_files, labelled_images
from devnet.deep.kept_model import KeptModel
from devnet.significance.calibration import Calibration, calibrate
from devnet.significance.policies import Alarm, AlertPolicy, Threshold
from devnet.tables.overwriting import refuse_overwriting, refuse_replacing
from devnet.tables.row_scores import alert_threshold, scored_columns
from devnet.tables.table_model import held_back_calibration, held_back_tensors

FILE = "file"  # the column that names images
NOTHING: np.ndarray = np.empty(0)
PATCH_SETTINGS: dict[str, Any] = {  # that find local defects; measured in the experiment `images`
    "hidden": (32, 32),
    "top_share": 0.05,
    "l2": 0.0,
    "learning_rate": 0.003,
}


class Peak(NamedTuple):
    """Where an image is most anomalous."""

    row: int  # of the pixel, from the top
    column: int  # from the left
    value: float  # of the anomaly map there


class ImageAlert(NamedTuple):
    """An image that stands out."""

    row: int  # its number among the images of the folder, in order of names
    name: str  # its file within the folder
    file: Path
    score: float
    p_value: float
    peak: Peak


class ImageAlerts(NamedTuple):
    """The images to look at, highest first."""

    n_images: int
    n_known: int  # labelled anomalies that are left out
    n_alerts: int
    threshold: float
    shown: list[ImageAlert]


class ImageModel(KeptModel):
    """An `ImageDevNet` with calibrated p-values and an alert policy, for folders of images.

    Parameters
    ----------
    detector : ImageDevNet, optional
        It is fitted in place; by default one with its default parameters.
    policy : alert policy, default=FalseAlarmRate(0.01)
    random_state : int, numpy RandomState or Generator, optional
        Seed of the detector, if none is given, and of which images are held back.
    """

    kind: ClassVar[str] = "images"

    detector_: ImageDevNet
    calibration_: Calibration

    def __init__(self, detector: ImageDevNet | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.detector = detector

    def fit(self, folder: str | PathLike[str], labels: str | Path | None = None) -> Self:
        """Learn from the images of a folder.

        A part of the unlabelled ones is held back, for p-values.

        Parameters
        ----------
        folder, labels : str or path
            As for `labelled_images`: with subfolders, or with a file of labels.
        """
        generator = as_generator(self.random_state)
        seed = draw_seed(generator)
        detector = self.detector or ImageDevNet(random_state=seed)
        files, y = labelled_images(Path(folder), labels)
        if not (y == 1).any():
            raise UserError(
                f"none of the {len(y):,} images is labelled as an anomaly; label at least one."
            )
        if (y == NORMAL_LABEL).any():
            detector.set_params(normal_label=NORMAL_LABEL)
        paths = np.array(files, dtype=object)
        self.calibration_ = calibrate(detector, paths, y, random_state=draw_seed(generator))
        self.detector_ = detector
        self.n_rows_, self.n_labelled_ = len(y), int((y == 1).sum())
        self.n_normal_ = int((y == NORMAL_LABEL).sum())
        self._learned_from = tuple(path.resolve() for path in _inputs(files, labels))
        return self

    def score(
        self, images: str | PathLike[str] | Sequence[Path], policy: AlertPolicy | None = None
    ) -> pa.Table:
        """Name, score, p-values and alert of each image of a folder, or of a list of files."""
        files = _files(images)
        scores = self.detector_.anomaly_score(files)
        alarm = Alarm(alert_threshold(self, policy, [scores]))
        names = [_name(file, images) for file in files]
        return pa.table({FILE: pa.array(names), **scored_columns(self, scores, alarm)})

    def empty_scores(self) -> pa.Table:
        """What `score` returns, without rows: its columns are known beforehand."""
        alarm = Alarm(Threshold(0.0))
        return pa.table({FILE: pa.array([], pa.string()), **scored_columns(self, NOTHING, alarm)})

    def find_alerts(
        self,
        images: str | PathLike[str],
        *,
        policy: AlertPolicy | None = None,
        n_shown: int | None = 20,
        known: bool = False,
    ) -> ImageAlerts:
        """The images of a folder that are alerts, highest first, and where each is most anomalous.

        Parameters
        ----------
        images : str or path
            A folder, or one image.
        policy : alert policy, optional
            By default the model's.
        n_shown : int or None, default=20
            At most so many are looked at; None stands for all.
        known : bool, default=False
            Whether images of the subfolder `anomaly` count too.
        """
        files = _files(images)
        numbers = np.array(
            [n for n, file in enumerate(files) if known or not _is_known(file, images)], dtype=int
        )
        if not len(numbers):
            return ImageAlerts(0, len(files), 0, float("inf"), [])
        scores = self.detector_.anomaly_score([files[n] for n in numbers.tolist()])
        threshold = alert_threshold(self, policy, [scores])
        is_alert = Alarm(threshold)(scores)
        order = np.argsort(-scores, kind="stable")
        chosen = numbers[order[is_alert[order]]][:n_shown]
        shown = self.explain(images, chosen.tolist()) if len(chosen) else []
        n_known = len(files) - len(numbers)
        return ImageAlerts(len(numbers), n_known, int(is_alert.sum()), threshold.score, shown)

    def explain(self, images: str | PathLike[str], rows: Sequence[int]) -> list[ImageAlert]:
        """Score and p-value of images of a folder, and where each is most anomalous.

        Rows are numbers of images in order of names, counted from 0.
        """
        files = _files(images)
        for row in rows:
            if not 0 <= row < len(files):
                raise UserError(
                    f"there is no image {row}: {images} has {len(files)}, counted from 0. Give "
                    "another number with ",
                    Setting("rows"),
                    ".",
                )
        chosen = [files[row] for row in rows]
        scores = self.detector_.anomaly_score(chosen)
        p_values = self.calibration_.ranks().p_value(scores)
        found = zip(rows, chosen, scores, p_values, self.detector_.anomaly_map(chosen), strict=True)
        return [
            ImageAlert(row, _name(file, images), file, float(score), float(p), _peak(values))
            for row, file, score, p, values in found
        ]

    def _own_facts(self) -> dict[str, Any]:
        return {}

    def _own_tensors(self) -> dict[str, np.ndarray]:
        return held_back_tensors(self.calibration_)

    def _restore_own(self, kept: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.calibration_ = held_back_calibration(tensors)
        refuse_unknown(tensors, self._own_tensors())


def refuse_overwriting_images(
    folder: str | PathLike[str], labels: str | Path | None, *targets: Path | None
) -> None:
    """Refuse outputs that are an image of a folder or its file of labels, or the same file."""
    refuse_overwriting("", *targets)
    inputs = _inputs(image_files(Path(folder)), labels)
    for target in filter(None, targets):
        refuse_replacing(target, inputs)


def _inputs(files: list[Path], labels: str | Path | None) -> list[Path]:
    """All files that are learned from."""
    return [*files, *([] if labels is None else [Path(labels)])]


def _files(images: str | PathLike[str] | Sequence[Path]) -> list[Path]:
    if isinstance(images, str | PathLike):
        one = Path(images)
        return [one] if one.is_file() else image_files(one)
    return [Path(file) for file in images]


def _is_known(file: Path, images: str | PathLike[str]) -> bool:
    """Whether an image is in the subfolder of labelled anomalies."""
    folder = Path(images)
    return folder.is_dir() and file.relative_to(folder).parts[0] == ANOMALY


def _name(file: Path, images: Any) -> str:
    """An image's name within its folder."""
    is_folder = isinstance(images, str | PathLike) and Path(images).is_dir()
    return file.relative_to(images).as_posix() if is_folder else str(file)


def _peak(values: np.ndarray) -> Peak:
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    return Peak(int(row), int(column), float(values[row, column]))
