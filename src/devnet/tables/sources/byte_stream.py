"""The bytes of a file, decompressed if they are compressed."""

import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".zst", ".xz")
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}  # by first bytes
_XZ = b"\xfd7zXZ\0"


def first_bytes(path: Path, size: int = 8) -> bytes:
    """The first bytes as they are on disk."""
    with path.open("rb") as file:
        return file.read(size)


def open_bytes(path: Path) -> Any:
    """A pyarrow stream of the decompressed bytes; the content shows how they are compressed."""
    magic = first_bytes(path)
    if magic.startswith(_XZ):
        return pa.PythonFile(lzma.open(path), mode="r")
    file = pa.OSFile(str(path))
    for start, compression in _COMPRESSIONS.items():
        if magic.startswith(start):
            return pa.CompressedInputStream(file, compression)
    return file
