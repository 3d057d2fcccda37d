"""The bytes of a file, unpacked where they are compressed."""

import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".zst", ".xz")
_PACKINGS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}  # by first bytes
_XZ = b"\xfd7zXZ\0"


def first_bytes(path: Path, size: int = 8) -> bytes:
    """The first bytes as they are on the disk."""
    with path.open("rb") as file:
        return file.read(size)


def open_bytes(path: Path) -> Any:
    """A pyarrow stream of the unpacked bytes; the content tells how they are packed."""
    magic = first_bytes(path)
    if magic.startswith(_XZ):
        return pa.PythonFile(lzma.open(path), mode="r")
    file = pa.OSFile(str(path))
    for start, packing in _PACKINGS.items():
        if magic.startswith(start):
            return pa.CompressedInputStream(file, packing)
    return file
