"""ImageModel: learns from a folder of images in which a few are labelled, and ranks others."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa

from devnet.core.model_file import refuse_unknown
from devnet.core.seeds import as_generator, draw_seed
from devnet.core.sentence import UserError
from devnet.deep.images.image_devnet import ImageDevNet
from devnet.deep.images.image_folder import NORMAL_LABEL, image_files, labelled_images
from devnet.deep.kept_model import KeptModel
from devnet.significance.calibration import Calibration, calibrate
from devnet.significance.policies import Alarm, AlertPolicy
from devnet.tables.row_scores import alert_threshold, scored_columns
from devnet.tables.score_columns import ALERT, P_VALUE, SCORE
from devnet.tables.table_model import held_back_calibration, held_back_tensors

FILE = "file"  # the column that names images


class Peak(NamedTuple):
    """Where an image is most anomalous."""

    row: int  # of the pixel, from the top
    column: int  # from the left
    value: float  # of the anomaly map there


class ImageAlert(NamedTuple):
    """An image that stands out."""

    file: Path
    score: float
    p_value: float
    peak: Peak


class ImageAlerts(NamedTuple):
    """The images to look at, highest first."""

    n_images: int
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
        self._learned_from = tuple(path.resolve() for path in files)
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

    def find_alerts(
        self,
        images: str | PathLike[str] | Sequence[Path],
        *,
        policy: AlertPolicy | None = None,
        n_shown: int | None = 20,
    ) -> ImageAlerts:
        """The images that are alerts, highest first, and where each is most anomalous.

        `n_shown` of them are looked at, by default 20; None stands for all.
        """
        files = _files(images)
        scored = self.score(files, policy)
        scores, is_alert = scored[SCORE].to_numpy(), scored[ALERT].to_numpy()
        order = np.argsort(-scores, kind="stable")
        chosen = order[is_alert[order]][:n_shown]
        shown = self.explain([files[row] for row in chosen.tolist()]) if len(chosen) else []
        threshold = alert_threshold(self, policy, [scores]).score
        return ImageAlerts(len(files), int(is_alert.sum()), threshold, shown)

    def explain(self, files: Sequence[Path]) -> list[ImageAlert]:
        """Score and p-value of images, and where each is most anomalous."""
        scored = self.score(files)
        maps = self.detector_.anomaly_map(files)
        columns = (scored[SCORE].to_pylist(), scored[P_VALUE].to_pylist(), map(_peak, maps))
        return [
            ImageAlert(Path(file), *facts) for file, *facts in zip(files, *columns, strict=True)
        ]

    def _own_facts(self) -> dict[str, Any]:
        return {}

    def _own_tensors(self) -> dict[str, np.ndarray]:
        return held_back_tensors(self.calibration_)

    def _restore_own(self, kept: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.calibration_ = held_back_calibration(tensors)
        refuse_unknown(tensors, self._own_tensors())


def _files(images: str | PathLike[str] | Sequence[Path]) -> list[Path]:
    if isinstance(images, str | PathLike):
        one = Path(images)
        return [one] if one.is_file() else image_files(one)
    return [Path(file) for file in images]


def _name(file: Path, images: Any) -> str:
    """An image's name within its folder."""
    is_folder = isinstance(images, str | PathLike) and Path(images).is_dir()
    return file.relative_to(images).as_posix() if is_folder else str(file)


def _peak(values: np.ndarray) -> Peak:
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    return Peak(int(row), int(column), float(values[row, column]))
