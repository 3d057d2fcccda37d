"""Sparse rows as text: svmlight files, parsed in blocks."""

import re
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.read_ahead import read_ahead
from devnet.tables.sources.byte_stream import line_blocks, open_bytes
from devnet.tables.sources.room import longest_line
from devnet.tables.sources.source import Batches, Source, reading
from devnet.tables.sources.table_file import TableFile
from devnet.tables.table_error import TableError

BLOCK_SIZE = 1 << 22  # bytes
LONGEST_LINE = 1 << 26  # bytes; about 5 million pairs
PAIR = pa.struct([("index", pa.int32()), ("value", pa.float32())])
SCHEMA = pa.schema([("label", pa.float64()), ("features", pa.list_(PAIR))])
_SKIPPED = re.compile(rb"#[^\n]*|(?<=\s)qid:\S*")
_LABEL, _INDEX, _VALUE = 0, 1, 2


class _Tokens(NamedTuple):
    """The words of a text: a label starts a line, an index a pair, a value follows a colon."""

    text: pa.Array  # (n,)
    kind: np.ndarray  # (n,) of _LABEL, _INDEX, _VALUE
    line: np.ndarray  # (n,) counted from 0


@final
class SvmlightSource(Source):
    """Lines of a label and `index:value` pairs; comments and `qid:` are skipped.

    Indices are taken as they are, whether they start from 0 or from 1.
    """

    file: TableFile

    def __init__(self, file: TableFile) -> None:
        self.name, self.n_rows, self.schema = file.name, None, SCHEMA
        self.file, self.paths = file, (file.path,)
        with reading(self.name), open_bytes(file.path) as stream:
            if not stream.read(1):
                raise TableError(
                    f"{self.name} is empty; a line is a label and its index:value pairs."
                )

    def _pieces(self, columns: list[str]) -> Batches:
        return read_ahead(self._parsed())

    def _parsed(self) -> Batches:
        n_lines = 0
        with open_bytes(self.file.path) as stream:
            for lines in line_blocks(stream, BLOCK_SIZE, longest_line(LONGEST_LINE), self.name):
                yield self._batch(lines if lines.endswith(b"\n") else lines + b"\n", n_lines)
                n_lines += lines.count(b"\n")

    def _batch(self, block: bytes, n_lines: int) -> pa.RecordBatch:
        if b"#" in block or b"qid:" in block:
            block = _SKIPPED.sub(b"", block)
        tokens = _tokens(block)
        wrong = _misplaced(tokens, block)
        if wrong is not None:
            raise self._malformed(block, wrong, n_lines)
        label, index, value = (
            self._numbers(tokens, kind, as_type, block, n_lines)
            for kind, as_type in (
                (_LABEL, pa.float64()),
                (_INDEX, pa.int32()),
                (_VALUE, pa.float64()),
            )
        )
        n_pairs = np.diff(np.append(np.flatnonzero(tokens.kind == _LABEL), len(tokens.kind))) // 2
        starts = np.concatenate([[0], np.cumsum(n_pairs)]).astype(np.int32)
        value = pc.cast(value, pa.float32(), safe=False)
        pairs = pa.StructArray.from_arrays([index, value], fields=list(PAIR))
        rows = pa.ListArray.from_arrays(pa.array(starts), pairs, type=SCHEMA.field(1).type)
        return pa.RecordBatch.from_arrays([label, rows], schema=SCHEMA)

    def _numbers(
        self, tokens: _Tokens, kind: int, as_type: pa.DataType, block: bytes, n_lines: int
    ) -> pa.Array:
        is_kind = tokens.kind == kind
        text = tokens.text.filter(pa.array(is_kind))
        if b"+" in block:
            text = pc.ascii_ltrim(text, "+")
        try:
            numbers = text.cast(as_type)
            if kind != _INDEX or not len(numbers) or pc.min(numbers).as_py() >= 0:
                return numbers
            bad = pc.index(pc.less(numbers, 0), True).as_py()
        except pa.ArrowInvalid:
            bad = next(i for i, word in enumerate(text) if not _is_number(word, as_type))
        raise self._malformed(block, int(tokens.line[is_kind][bad]), n_lines)

    def _malformed(self, block: bytes, line: int, n_lines: int) -> TableError:
        text = block.split(b"\n")[line][:80].decode(errors="replace")
        return TableError(
            f"line {n_lines + line + 1} of {self.name} is not svmlight: {text!r}. A line is a "
            "label and pairs such as 1 3:0.5 17:2, with whole numbers from 0 before the colons; "
            "correct it."
        )


def _tokens(block: bytes) -> _Tokens:
    """Split at white space and colons, all lines at once."""
    data = np.frombuffer(block, np.uint8)
    is_newline, is_colon = data == ord("\n"), data == ord(":")
    is_gap = (data <= ord(" ")) | is_colon
    starts = np.flatnonzero(~is_gap & np.append(True, is_gap[:-1]))
    ends = np.flatnonzero(~is_gap & np.append(is_gap[1:], True)) + 1
    offsets = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int32)
    text = pa.StringArray.from_buffers(
        len(starts), pa.py_buffer(offsets), pa.py_buffer(data[~is_gap].tobytes())
    )
    line = np.searchsorted(np.flatnonzero(is_newline), starts)
    follows_colon = is_colon[starts - 1] & (starts > 0)
    kind = np.where(follows_colon, _VALUE, _INDEX)
    kind[np.append(True, line[1:] != line[:-1])[: len(line)]] = _LABEL
    return _Tokens(text, kind, line)


def _misplaced(tokens: _Tokens, block: bytes) -> int | None:
    """The first line in which labels, indices and values do not alternate, if any."""
    after = np.append(tokens.kind[1:], _LABEL)
    is_wrong = np.where(tokens.kind == _INDEX, after != _VALUE, after == _VALUE)
    wrong = tokens.line[is_wrong][:1]
    if len(wrong):
        return int(wrong[0])
    if block.count(b":") == np.count_nonzero(tokens.kind == _VALUE):
        return None
    n_values = np.bincount(tokens.line[tokens.kind == _VALUE], minlength=block.count(b"\n"))
    n_colons = [line.count(b":") for line in block.split(b"\n")[: len(n_values)]]
    return int(np.flatnonzero(n_values != n_colons)[0])


def _is_number(word: Any, as_type: pa.DataType) -> bool:
    try:
        word.cast(as_type)
    except pa.ArrowInvalid:
        return False
    return True
