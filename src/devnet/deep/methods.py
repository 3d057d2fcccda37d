"""The detectors of images and sequences, by name."""

from importlib import import_module
from importlib.util import find_spec

from devnet.detectors.deviation_detector import DeviationDetector

DEEP_METHODS = {  # where each is at home; imported when it is asked for
    "ImageDevNet": "devnet.deep.images.image_devnet",
    "SequenceDevNet": "devnet.deep.sequences.sequence_devnet",
}


def find_deep(name: str) -> type[DeviationDetector]:
    """Find a detector of images or sequences, or say what must be installed for it."""
    require_torch(name)
    found: type[DeviationDetector] = getattr(import_module(DEEP_METHODS[name]), name)
    return found


def require_torch(what: str) -> None:
    """Refuse to go on without torch."""
    if find_spec("torch") is None:
        raise ImportError(
            f"{what} needs torch, which is not installed; install it with: "
            "pip install 'deviation-network[torch]'"
        )
