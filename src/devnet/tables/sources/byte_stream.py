"""The bytes of a file, unpacked if they are compressed, and the whole lines in them.

Unpacking goes piece by piece, so that a small file cannot fill the memory, however much it unpacks
to.
"""

import lzma
import os
from collections.abc import Iterator
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, final

import pyarrow as pa

from devnet.tables.sources.meter import noted
from devnet.tables.sources.room import longer_lines, max_unpacked
from devnet.tables.table_error import TableError

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".zst", ".xz")
CHUNK_BYTES = 1 << 20
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
    """A pyarrow stream of the unpacked bytes; the content shows how they are compressed."""
    magic = first_bytes(path)
    if magic.startswith(_XZ):
        return pa.PythonFile(_XzFile(path), mode="r")
    file = noted(path, open_file(path))
    for start, compression in _COMPRESSIONS.items():
        if magic.startswith(start):
            return pa.CompressedInputStream(file, compression)
    return file


def line_blocks(stream: Any, size: int, longest: int, name: str) -> Iterator[bytes]:
    """Whole lines, about `size` bytes at a time; the last one may lack its newline.

    Parameters
    ----------
    stream : file
    size : int
    longest : int
        Bytes that a line may have.
    name : str
        Of the table, for the error about a longer one.
    """
    waiting: list[bytes] = []
    while chunk := stream.read(size):
        lines, newline, rest = chunk.rpartition(b"\n")
        if newline:
            yield b"".join([*waiting, lines, newline])
            waiting = []
        waiting.append(rest)
        if sum(map(len, waiting)) > longest:
            raise TableError(
                f"{name} has a line of more than {longest:,} bytes, which no row of a table needs; "
                f"write one row per line, or leave the longest values out{longer_lines(longest)}."
            )
    if last := b"".join(waiting):
        yield last


def has_longer_line(stream: Any, longest: int) -> bool:
    """Whether a line has more bytes, found without keeping it."""
    n_bytes = 0
    while chunk := stream.read(min(CHUNK_BYTES, longest)):
        end = chunk.find(b"\n")
        if n_bytes + (len(chunk) if end < 0 else end) > longest:
            return True
        n_bytes = n_bytes + len(chunk) if end < 0 else len(chunk) - chunk.rfind(b"\n") - 1
    return False


@final
class _XzFile(RawIOBase):
    """The unpacked bytes of an xz file, which itself says how much memory that takes."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = noted(path, path.open("rb"))
        self._decoder = lzma.LZMADecompressor(memlimit=max_unpacked())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of the buffer; nothing at the end of the file."""
        unpacked = b""
        while not unpacked and (packed := self._packed()) is not None:
            unpacked = self._decoder.decompress(packed, len(buffer))
        buffer[: len(unpacked)] = unpacked
        return len(unpacked)

    def _packed(self) -> bytes | None:
        """What to unpack next; None at the end of the last of the file's streams."""
        if not self._decoder.eof:
            if not self._decoder.needs_input:
                return b""
            if not (packed := self._file.read(CHUNK_BYTES)):
                raise EOFError("the compressed data ends too early")
            return packed
        packed = self._decoder.unused_data.lstrip(b"\0")  # zeros may lie between streams
        while not packed and (read := self._file.read(CHUNK_BYTES)):
            packed = read.lstrip(b"\0")
        self._decoder = lzma.LZMADecompressor(memlimit=max_unpacked())
        return packed or None

    def close(self) -> None:
        self._file.close()
        super().close()
