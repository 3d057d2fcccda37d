"""The header of a Parquet page: how long the page is, packed and unpacked.

Arrow does not tell. The header is a struct of Thrift's compact protocol: fields, each with its type
and its distance from the number of the field before it. A page has one, so this is one quick loop.
"""

from typing import Any, NamedTuple

WINDOWS = (1 << 8, 1 << 14, 1 << 24)  # bytes to look at; the next one if a header is longer
_FLAGS, _BYTE, _WHOLE, _DOUBLE, _BINARY, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 12  # types
_KIND, _UNPACKED, _PACKED = 1, 2, 3  # fields
_DICTIONARY = 2  # a kind


class PageHeader(NamedTuple):
    """What is needed to find the next page, and the memory for this one."""

    is_dictionary: bool
    unpacked: int  # bytes
    packed: int  # bytes
    length: int  # of the header


def read_page_header(file: Any, position: int) -> PageHeader | None:
    """The header at a position; None if there is none, which Arrow then reports."""
    for window in WINDOWS:
        try:
            fields, length = _fields(file.read_at(window, position))
        except IndexError:
            continue
        except ValueError:
            return None
        kind, unpacked, packed = (fields.get(n, 0) for n in (_KIND, _UNPACKED, _PACKED))
        is_possible = packed >= 0 and unpacked >= 0
        return PageHeader(kind == _DICTIONARY, unpacked, packed, length) if is_possible else None
    return None


def _fields(data: bytes) -> tuple[dict[int, int], int]:
    """The whole numbers of the outermost struct by field, and where it ends."""
    fields: dict[int, int] = {}
    at = number = depth = 0
    while (head := data[at]) or depth:
        at += 1
        if not head:  # the end of an inner struct
            depth -= 1
            continue
        value, kind = 0, head & 15
        if head < 16:
            at = _whole(data, at)[1]  # a field with a number of its own; none that is needed
        elif not depth:
            number += head >> 4
        if kind in _WHOLE:
            value, at = _whole(data, at)
            if not depth:
                fields[number] = value >> 1 ^ -(value & 1)
        elif kind == _STRUCT:
            depth += 1
        else:
            at = _end(data, at, kind)
    return fields, at + 1


def _end(data: bytes, at: int, kind: int) -> int:
    """Where a value ends that is neither a whole number nor a struct."""
    if kind == _BINARY:
        size, at = _whole(data, at)
        return at + size
    if kind in _FLAGS:  # the type is the value
        return at
    if kind in (_BYTE, _DOUBLE):
        return at + (1 if kind == _BYTE else 8)
    raise ValueError(f"a page header has no field of the type {kind}")


def _whole(data: bytes, at: int) -> tuple[int, int]:
    """A number in groups of seven bits, and where it ends."""
    value = data[at]
    if value < 128:
        return value, at + 1
    value, shift = value & 127, 7
    while data[at := at + 1] >= 128:
        value |= (data[at] & 127) << shift
        shift += 7
    return value | data[at] << shift, at + 1
