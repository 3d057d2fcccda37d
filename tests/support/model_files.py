"""Model files that a test has edited, with a checksum that fits them again.

The checksum is computed here from what `docs/reference/model_file.md` says, not by the library.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save


def resealed(file):
    """Give an edited model file a fresh checksum, so that an edit reaches the checks behind it.

    Bytes in, bytes out; a path is rewritten and returned. What is too damaged to have a header
    stays as it is. Tensors keep their places in the file.
    """
    if not isinstance(file, bytes | bytearray):
        path = Path(file)
        path.write_bytes(resealed(path.read_bytes()))
        return path
    content = bytes(file)
    try:
        tensors = load(content)
        end = 8 + int.from_bytes(content[:8], "little")
        outer = json.loads(content[8:end])
        header = json.loads(outer["__metadata__"]["devnet"])
        outer["__metadata__"]["devnet"] = json.dumps(sealed(header, tensors))
        text = json.dumps(outer).encode()
    except Exception:  # a reader will refuse it, whatever its checksum
        return content
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def write_sealed(path, header, tensors):
    """Write header and tensors as they are, however impossible, with a fresh checksum."""
    arrays = {name: np.array(array, order="C") for name, array in tensors.items()}
    text = json.dumps(sealed(header, arrays))
    Path(path).write_bytes(save(arrays, metadata={"devnet": text}))


def sealed(header, tensors):
    """The header with the checksum of itself and the tensors."""
    header = {name: value for name, value in header.items() if name != "checksum"}
    digest = hashlib.sha256(_json(json.loads(json.dumps(header))))
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(_json([name, array.dtype.name, list(array.shape)]))
        digest.update(array.tobytes())  # in the order of C
    return {**header, "checksum": f"sha256:{digest.hexdigest()}"}


def _json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
