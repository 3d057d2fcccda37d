"""The detectors of images and sequences, by name."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from devnet.detectors.deviation_detector import DeviationDetector

DEEP_METHODS = {  # where each is at home; imported when it is asked for
    "ImageDevNet": "devnet.deep.images.image_devnet",
    "SequenceDevNet": "devnet.deep.sequences.sequence_devnet",
}

KEPT_MODELS = {  # by the field of a file's header; they need pyarrow
    "images": ("devnet.deep.images.image_model", "ImageModel"),
    "series": ("devnet.deep.sequences.series_model", "SeriesModel"),
}
PREFIX = "kept_"  # of a kept model's tensors in a file; all others are its detector's


def find_deep(name: str) -> type[DeviationDetector]:
    """Find a detector of images or sequences, or say what must be installed for it."""
    require_torch(name)
    found: type[DeviationDetector] = getattr(import_module(DEEP_METHODS[name]), name)
    return found


def find_kept(kind: str) -> Any:
    """Find the class of a model that keeps a detector with what its scores mean."""
    module, name = KEPT_MODELS[kind]
    return getattr(import_module(module), name)


def own_tensors(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Those of a file's tensors that are a kept model's, not its detector's."""
    return {name.removeprefix(PREFIX): t for name, t in tensors.items() if name.startswith(PREFIX)}


def detector_tensors(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The others."""
    return {name: array for name, array in tensors.items() if not name.startswith(PREFIX)}


def require_torch(what: str) -> None:
    """Refuse to go on without torch."""
    if find_spec("torch") is None:
        raise ImportError(
            f"{what} needs torch, which is not installed; install it with: "
            "pip install 'deviation-network[torch]'"
        )
