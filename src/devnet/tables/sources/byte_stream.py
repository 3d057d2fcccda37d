"""The bytes of a file, decompressed if they are compressed."""

import lzma
import os
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


def open_file(path: Path) -> Any:
    """A pyarrow file of the bytes as they are on disk; never mapped into memory.

    A mapped file that is cut short by another program would end the process.
    """
    return pa.OSFile(os.fsencode(path))  # names need not be UTF-8


def open_bytes(path: Path) -> Any:
    """A pyarrow stream of the decompressed bytes; the content shows how they are compressed."""
    magic = first_bytes(path)
    if magic.startswith(_XZ):
        return pa.PythonFile(lzma.open(path), mode="r")
    file = open_file(path)
    for start, compression in _COMPRESSIONS.items():
        if magic.startswith(start):
            return pa.CompressedInputStream(file, compression)
    return file
