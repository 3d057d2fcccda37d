"""The checksum of a model: SHA-256 over its header and all of its tensors.

It tells damage from an intact file. Whoever edits a file can compute a new one: it is no signature.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

CHECKSUM = "checksum"  # the header's field; it is left out of what it is computed over


def checksum(header: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> str:
    """The checksum of a header, as JSON gives it back, and of tensors, whatever their order."""
    digest = hashlib.sha256(_line({k: v for k, v in header.items() if k != CHECKSUM}))
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(_line([name, array.dtype.name, list(tensors[name].shape)]))
        stored = array.astype(array.dtype.newbyteorder("<"), copy=False)  # as on disk
        digest.update(stored.reshape(-1).view(np.uint8).data)
    return f"sha256:{digest.hexdigest()}"


def _line(value: Any) -> bytes:
    """JSON that is the same for equal values: keys in order, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
