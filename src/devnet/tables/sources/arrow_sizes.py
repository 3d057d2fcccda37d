"""How much the batches of an Arrow file unpack to, found before they are unpacked.

The buffers of a compressed batch start with their unpacked length. Arrow takes that much memory at
once, and does not tell beforehand; so the messages of the file are read here (see "Encapsulated
message format" of the Arrow columnar format). Their metadata are tables of FlatBuffers.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from devnet.tables.sources.room import max_unpacked, more_room
from devnet.tables.table_error import TableError

CONTINUATION = b"\xff\xff\xff\xff"
_DICTIONARY, _BATCH = 2, 3  # kinds of messages
_VERSION, _HEADER_KIND, _HEADER, _BODY_LENGTH, _CUSTOM = range(5)  # fields of a message
_V4 = 3  # the version of Arrow before 1.0, which may name a compression among custom metadata
_BUFFERS, _COMPRESSION = 2, 3  # of a batch
_DATA = 1  # of a dictionary
_DICTIONARIES, _BATCHES = 2, 3  # of the index
_LENGTH = struct.Struct("<i")


class UnreadableSizes(ValueError):  # noqa: N818 - the file is wrong, not the caller
    """A file whose messages cannot be read: it is damaged."""


class _Message(NamedTuple):
    metadata: bytes
    body: int  # where it starts


def check_unpacked(file: Any, has_index: bool, name: str) -> None:
    """Refuse a file with a batch that unpacks to too much."""
    largest = 0
    try:
        for size in unpacked_sizes(file, has_index):
            largest = max(largest, size)
    except UnreadableSizes:
        pass  # damaged from there on, which Arrow reports after it has unpacked what is before
    if largest > max_unpacked():
        raise TableError(
            f"{name} has a batch that unpacks to {largest:,} bytes, and more than "
            f"{max_unpacked():,} are not read at once; write it again in smaller batches, or as "
            f"Parquet, or, {more_room(largest)}"
        )


def unpacked_sizes(file: Any, has_index: bool) -> Iterator[int]:
    """Bytes that each message of a file unpacks to; 0 for one that is stored as it is."""
    messages = _indexed(file) if has_index else _streamed(file)
    try:
        for message in messages:
            yield _unpacked(file, message)
    except (struct.error, ValueError, IndexError) as error:
        raise UnreadableSizes(str(error)) from error


def _streamed(file: Any) -> Iterator[_Message]:
    """All messages, one after the other."""
    position = 0
    while (message := _message(file, position)) is not None:
        yield message
        position = message.body + _body_length(message.metadata)


def _indexed(file: Any) -> Iterator[_Message]:
    """The messages that the index at the end names."""
    end = file.size() - len("ARROW1") - _LENGTH.size
    (size,) = _LENGTH.unpack(_read(file, _LENGTH.size, end))
    index = _read(file, size, end - size)
    root = _indirect(index, 0)
    for number in (_DICTIONARIES, _BATCHES):
        for block in _structs(index, root, number, 24):
            position, length = struct.unpack_from("<qi", block)
            if (message := _message(file, position)) is not None:
                yield message._replace(body=position + length)


def _message(file: Any, position: int) -> _Message | None:
    """The message at a position; None at the end."""
    start = _read(file, min(8, file.size() - position), position)
    if start[:4] == CONTINUATION:
        start, position = start[4:], position + 4
    if len(start) < 4:
        return None
    (size,) = _LENGTH.unpack(start[:4])
    return _Message(_read(file, size, position + 4), position + 4 + size) if size > 0 else None


def _read(file: Any, n_bytes: int, position: int) -> bytes:
    """Bytes of a file, if it has them: a damaged length may be negative, or gigabytes."""
    if not 0 <= n_bytes <= file.size() - position or position < 0:
        raise ValueError(f"there are no {n_bytes} bytes at {position}")
    found: bytes = file.read_at(n_bytes, position)
    return found


def _body_length(metadata: bytes) -> int:
    at = _field(metadata, _indirect(metadata, 0), _BODY_LENGTH)
    return max(0, struct.unpack_from("<q", metadata, at)[0]) if at else 0


def _unpacked(file: Any, message: _Message) -> int:
    """Bytes that the buffers of a message take; 0 if they are stored as they are, or are few."""
    data = message.metadata
    batch = _batch(data)
    if batch is None or not (_field(data, batch, _COMPRESSION) or _is_early(data)):
        return 0
    total = 0
    for buffer in _structs(data, batch, _BUFFERS, 16):
        offset, length = struct.unpack("<qq", buffer)
        if length >= 8:  # an empty one may declare any size
            (size,) = struct.unpack("<q", _read(file, 8, message.body + offset))
            total += max(size, 0)  # -1 if it is not compressed
    return total


def _is_early(data: bytes) -> bool:
    """Whether a message may be compressed although its batch does not say so."""
    root = _indirect(data, 0)
    version = _field(data, root, _VERSION)
    is_v4 = bool(version) and struct.unpack_from("<h", data, version)[0] == _V4
    return is_v4 and bool(_field(data, root, _CUSTOM))


def _batch(data: bytes) -> int | None:
    """Where the batch is described in the metadata of a message; None if it has none."""
    root = _indirect(data, 0)
    kind, header = _field(data, root, _HEADER_KIND), _field(data, root, _HEADER)
    if not kind or not header or data[kind] not in (_DICTIONARY, _BATCH):
        return None
    table = _indirect(data, header)
    if data[kind] == _BATCH:
        return table
    nested = _field(data, table, _DATA)
    return _indirect(data, nested) if nested else None


def _indirect(data: bytes, at: int) -> int:
    return at + int(struct.unpack_from("<I", data, at)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a table is; 0 if it has none."""
    layout = table - int(struct.unpack_from("<i", data, table)[0])
    (size,) = struct.unpack_from("<H", data, layout)
    at = 4 + 2 * number
    if layout < 0 or at >= size:
        return 0
    (offset,) = struct.unpack_from("<H", data, layout + at)
    return table + offset if offset else 0


def _structs(data: bytes, table: int, number: int, size: int) -> Iterator[bytes]:
    """The items of a vector, `size` bytes each."""
    at = _field(data, table, number)
    if at:
        vector = _indirect(data, at)
        (count,) = struct.unpack_from("<I", data, vector)
        for i in range(count):
            yield data[vector + 4 + i * size : vector + 4 + (i + 1) * size]
