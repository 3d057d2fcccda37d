"""KeptModel: a detector of images or series with what its scores mean, as one file."""

from abc import ABC, abstractmethod
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from devnet.core import model_file
from devnet.core.model_file import field, is_count
from devnet.deep.methods import PREFIX, own_tensors
from devnet.detectors.deviation_detector import DeviationDetector
from devnet.significance.policies import AlertPolicy, policy_from_json, policy_to_json
from devnet.tables.overwriting import refuse_replacing
from devnet.tables.table_model import DEFAULT_POLICY

COUNTS = ("n_rows", "n_labelled", "n_normal")


class KeptModel(ABC):
    """A fitted detector, how its scores rank among unseen ones, and which of them are alerts.

    Abstract. A model defines how it learns and scores, and what else its file keeps.
    """

    kind: ClassVar[str]  # the field of a file's header that tells it from others

    detector_: DeviationDetector
    calibration_: Any
    n_rows_: int
    n_labelled_: int
    n_normal_: int
    _file: Path | None = None
    _learned_from: tuple[Path, ...] = ()

    def __init__(self, *, policy: AlertPolicy = DEFAULT_POLICY, random_state: Any = None) -> None:
        self.policy = policy
        self.random_state = random_state

    @property
    def file(self) -> Path | None:
        """The file that it was loaded from or saved to last, which no output replaces."""
        return self._file

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file without pickle; read it with `devnet.load`."""
        refuse_replacing(path, self._learned_from)
        kept = {
            **{name: getattr(self, f"{name}_") for name in COUNTS},
            "policy": policy_to_json(self.policy),
            **self._own_facts(),
        }
        tensors = {PREFIX + name: array for name, array in self._own_tensors().items()}
        model_file.write(
            path,
            {**self.detector_.header(), self.kind: kept},
            {**self.detector_.tensors(), **tensors},
        )
        self._file = Path(path).resolve()

    @classmethod
    def restore(
        cls,
        detector: DeviationDetector,
        header: dict[str, Any],
        tensors: dict[str, np.ndarray],
        path: str | PathLike[str],
    ) -> Self:
        """Rebuild a model around its detector, with every field checked."""
        kept = field(header, cls.kind, lambda value: isinstance(value, dict))
        model = cls(policy=policy_from_json(kept.get("policy")))
        model.detector_ = detector
        for name in COUNTS:
            setattr(model, f"{name}_", field(kept, name, lambda value: is_count(value, 0)))
        model._restore_own(kept, own_tensors(tensors))
        model._file = Path(path).resolve()
        return model

    @abstractmethod
    def _own_facts(self) -> dict[str, Any]:
        """Further fields of the header."""

    @abstractmethod
    def _own_tensors(self) -> dict[str, np.ndarray]:
        """What the calibration consists of, as named arrays."""

    @abstractmethod
    def _restore_own(self, kept: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        """Restore what the two above returned, or raise a ModelFileError."""
