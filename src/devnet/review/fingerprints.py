"""Fingerprints of rows: 16 bytes that equal values share, however a file writes them.

A value counts, not its form: 1, 1.0 and the text "1" are the same number, 2026-11-17 the same day
as text and as a date, true the same as 1, an empty text the same as a missing value. Columns count
by their names, so their order does not matter. What differs in value differs here as well: 0.1 in
single precision is not 0.1, and text is compared to the last blank.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.columns.arrow_values import (
    in_zone,
    is_missing,
    kind_of,
    numbers,
    plain,
    wall_clock,
)

SIZE = 16  # bytes of a fingerprint
WIDTH = 1 + SIZE  # bytes that stand for a value: its kind, and a number, an instant or a digest
MISSING, NUMBER, INSTANT, TEXT, OTHER = range(5)
_BOOLEAN = r"^(?i:true|false)$"
_TRUE = r"^(?i:true)$"
_WHOLE = r"^-?\d{1,18}$"
_NUMBER = r"^-?\d{1,18}(\.\d+)?([eE][+-]?\d{1,2})?$"
_LONG = 10**18  # integers from here on count as text, to the last digit
_INSTANTS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S")
_INSTANT = r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d)?$"


def digest(text: str) -> bytes:
    """The fingerprint of a text."""
    return blake2b(text.encode(), digest_size=SIZE).digest()


def row_fingerprints(batch: pa.RecordBatch) -> np.ndarray:
    """A fingerprint of each row, (n, SIZE) bytes."""
    names = sorted(batch.schema.names)
    values = [_value_bytes(batch.column(name)) for name in names]
    rows, width = np.concatenate(values, axis=1).tobytes(), WIDTH * len(names)
    start = blake2b("\0".join(names).encode(), digest_size=SIZE)
    return as_rows(_ended(start, rows[i : i + width]) for i in range(0, len(rows), width))


def as_rows(digests: Iterable[bytes]) -> np.ndarray:
    """Fingerprints as an array, (n, SIZE) bytes."""
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, SIZE)


def _ended(start: "blake2b", row: bytes) -> bytes:
    one = start.copy()
    one.update(row)
    return one.digest()


def _value_bytes(values: pa.Array) -> np.ndarray:
    """What stands for each value, (n, WIDTH) bytes."""
    values = plain(values)
    kind = kind_of(values.type).name
    if kind == "text":
        return _of_texts(values)
    if kind in ("number", "boolean"):
        found = _of_numbers(values)
    elif kind in ("date", "time"):
        found = _with_kind(INSTANT, _eight(wall_clock(in_zone(values, "UTC"))))
    elif kind == "sparse":
        found = _with_kind(OTHER, _of_vectors(values))
    else:
        found = _with_kind(OTHER, as_rows(digest(repr(one)) for one in values.to_pylist()))
    found[is_missing(values)] = 0
    return found


def _with_kind(kind: int, content: np.ndarray) -> np.ndarray:
    """Values (n, at most SIZE) behind their kind."""
    found = np.zeros((len(content), WIDTH), np.uint8)
    found[:, 0] = kind
    found[:, 1 : 1 + content.shape[1]] = content
    return found


def _of_numbers(values: pa.Array) -> np.ndarray:
    """A number as float64, and what that misses of an integer."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int64())
    found = numbers(values)
    missed, is_long = np.zeros(len(found), np.int64), np.zeros(len(found), bool)
    if pa.types.is_integer(values.type):
        exact = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
        is_long = np.abs(found) >= _LONG
        short = np.where(is_long, 0, exact)
        missed = (short - short.astype(np.float64).astype(short.dtype)).astype(np.int64)
    parts = [_eight(found + 0.0), _eight(missed)]  # no minus zero
    of_numbers = _with_kind(NUMBER, np.concatenate(parts, axis=1))
    of_numbers[np.isnan(found)] = 0
    if is_long.any():
        texts = values.filter(pa.array(is_long)).cast(pa.string()).to_pylist()
        of_numbers[is_long] = _with_kind(TEXT, as_rows(map(digest, texts)))
    return of_numbers


def _of_texts(values: pa.Array) -> np.ndarray:
    """Texts by their distinct values; those that read as a number or a day are that."""
    codes = values.dictionary_encode()
    texts = codes.dictionary.cast(pa.large_string())
    found = _with_kind(TEXT, as_rows(digest(text) for text in texts.to_pylist()))
    for pattern, read in _READ_AS.items():
        meant = np.flatnonzero(pc.match_substring_regex(texts, pattern))
        if len(meant):
            read_as = read(texts.take(pa.array(meant)))
            is_read = read_as[:, 0] != MISSING
            found[meant[is_read]] = read_as[is_read]
    found[np.asarray(pc.equal(texts, ""))] = 0
    missing = np.zeros((1, WIDTH), np.uint8)
    position = pc.fill_null(codes.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    of_rows: np.ndarray = np.concatenate([found, missing])[position]
    return of_rows


def _instants(texts: pa.Array) -> np.ndarray:
    """Days and times as instants; none where a day does not exist."""
    read = pc.coalesce(*(pc.strptime(texts, form, "us", error_is_null=True) for form in _INSTANTS))
    days = pc.utf8_slice_codeunits(texts, 0, 10)
    exists = pc.equal(read.cast(pa.date32()).cast(days.type), days)  # 30 February does not
    return _value_bytes(pc.if_else(exists, read, None))


_READ_AS = {
    _NUMBER: lambda texts: _of_numbers(texts.cast(pa.float64())),
    _WHOLE: lambda texts: _of_numbers(texts.cast(pa.int64())),
    _BOOLEAN: lambda texts: _of_numbers(pc.match_substring_regex(texts, _TRUE)),
    _INSTANT: _instants,
}


def _of_vectors(values: pa.Array) -> np.ndarray:
    """Sparse vectors by their indices and values."""
    offsets = values.offsets.to_numpy()
    pairs = values.values
    index = pairs.field("index").cast(pa.int64()).to_numpy(zero_copy_only=False)
    value = numbers(pairs.field("value"))
    spans: Sequence[slice] = [
        slice(start, end) for start, end in zip(offsets[:-1], offsets[1:], strict=True)
    ]
    return as_rows(
        blake2b(index[span].tobytes() + value[span].tobytes(), digest_size=SIZE).digest()
        for span in spans
    )


def _eight(values: np.ndarray) -> np.ndarray:
    """The bytes of numbers of eight, (n, 8)."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return little.view(np.uint8).reshape(-1, 8)
