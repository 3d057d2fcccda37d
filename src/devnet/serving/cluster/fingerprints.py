"""Fingerprints: what tells whether work that is found was done for the same job."""

import hashlib
import json
from pathlib import Path
from typing import Any


def digest(value: Any) -> str:
    """A digest of JSON values, the same for equal ones."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def file_checksum(path: Path) -> str:
    """A digest of the bytes of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def bytes_checksum(content: bytes) -> str:
    """The same of bytes in memory."""
    return hashlib.sha256(content).hexdigest()
