"""The first lines of a text table: whether it is one, and what separates its columns."""

import re
from shlex import quote
from typing import Any

from devnet.tables.table_error import TableError

DELIMITERS = (",", ";", "\t", "|")
OTHER_SEPARATORS = (" ", ":", "~", "^", "\x01")  # in files that we do not read
N_LINES = 20  # to look at
_BINARY = {
    b"PK\x03\x04": "a zip file or an Excel workbook; save it as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save it as CSV",
    b"\xff\xfe": "UTF-16; convert it: iconv -f UTF-16 -t utf8 FILE > NEW",
    b"\xfe\xff": "UTF-16; convert it: iconv -f UTF-16 -t utf8 FILE > NEW",
    b"SQLite format": "a database; write the table to a CSV or Parquet file",
    b"FEA1": "Feather of version 1; write it again with pyarrow or pandas",
}


def delimiter_of(head: bytes, name: str) -> str:
    """What separates the columns, by the first lines; an error if it is not a text table."""
    _check_text(head, name)
    lines = _first_lines(head)
    if not lines:
        raise TableError(f"{name} is empty; a table starts with a line of column names.")
    found = [mark for mark in DELIMITERS if mark in lines[0]]
    if not found:
        _check_single(lines, name)
        return ","
    return max(found, key=lambda mark: (_as_often(lines, mark), lines[0].count(mark)))


def not_utf8(name: str, where: str) -> TableError:
    """The error about text in another encoding."""
    return TableError(
        f"{name} holds text that is not UTF-8 {where}; convert the file first: "
        f"iconv -f WINDOWS-1252 -t UTF-8 {quote(name)} > NEW"
    )


def line_of(stream: Any, row: int) -> str:
    """The line of a row in a stream, unless quoted text before it may span lines."""
    rest, line, left = b"", 0, row
    while chunk := stream.read(1 << 20):
        *lines, rest = (rest + chunk).split(b"\n")
        for content in lines:
            if b'"' in content and line:
                return f"row {row} (the header is row 1)"
            line += 1
            left -= content not in (b"", b"\r")
            if not left:
                return f"line {line}"
    return f"line {line + 1}"


def _check_text(head: bytes, name: str) -> None:
    for start, what in _BINARY.items():
        if head.startswith(start):
            raise TableError(f"{name} is {what.replace('FILE', quote(name))}")
    if b'"__metadata__"' in head[:64]:
        raise TableError(f"{name} is a model file, not a table; give a table.")
    position = head.find(b"\0")
    if position >= 0:
        line = head.count(b"\n", 0, position) + 1
        raise TableError(
            f"{name} is not text: line {line} has a NUL byte. If it is a table, remove it: "
            f"tr -d '\\000' < {quote(name)} > NEW"
        )
    header = head.lstrip(b"\r\n").split(b"\n", 1)[0]
    try:
        header.decode()
    except UnicodeDecodeError:
        raise not_utf8(name, "in its column names") from None


def _first_lines(head: bytes) -> list[str]:
    """Up to N_LINES lines, without quoted text."""
    bare = re.sub(rb'"[^"]*"', b'""', head[: 1 << 16]).decode(errors="replace")
    lines = [line for line in bare.removeprefix("\ufeff").splitlines() if line]
    complete = lines if len(lines) == 1 or len(head) < 1 << 16 else lines[:-1]
    return complete[:N_LINES]


def _as_often(lines: list[str], mark: str) -> int:
    """Number of lines with as many marks as the header."""
    return sum(line.count(mark) == lines[0].count(mark) for line in lines)


def _check_single(lines: list[str], name: str) -> None:
    for mark in OTHER_SEPARATORS:
        if mark in lines[0] and _as_often(lines, mark) == len(lines):
            raise TableError(
                f"{name} has the single column {lines[0][:60]!r}, as if {mark!r} separated its "
                f"columns; separate them by a comma: tr {mark!r} ',' < {quote(name)} > NEW. If it "
                "is one column, put its name in quotes."
            )
