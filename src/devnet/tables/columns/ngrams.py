"""Texts as hashed n-grams: words, pairs of words, and runs of characters.

All n-grams of thousands of texts are hashed at once, by array operations. With the prefix sums
H[i] = sum of c[j] * B^j over j < i, modulo 2^64, the characters i to j - 1 have the hash
(H[j] - H[i]) * B^-i, wherever they stand. The same text has the same columns on every machine.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

RUNS = (3, 4, 5)  # characters
MOST_CHARACTERS = 4096  # of a text; what follows is not read
TILE_CHARACTERS = 1 << 19  # hashed together, which bounds memory
MULTIPLIER = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
RUN, WORD, PAIR = (np.uint64(kind) for kind in (1, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB))
MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))  # MurmurHash3's finaliser
SHIFT = np.uint64(33)
TABULATED = 1 << 14  # characters whose lower case is looked up
SPACE = 32


class NGrams(NamedTuple):
    """N-grams of several texts, each with the text it is in, its column and its characters."""

    row: np.ndarray
    column: np.ndarray
    start: np.ndarray
    stop: np.ndarray


class Characters(NamedTuple):
    """Several texts in lower case as one array, with a 0 after each; runs of blanks are one."""

    code: np.ndarray  # (n,) uint32
    row: np.ndarray  # (n,) the text that a character belongs to

    def ngrams(self, n_columns: int, *, has_runs: bool) -> NGrams:
        """All words and pairs of words of all texts, and all runs of characters."""
        prefix = _prefix_sums(self.code)
        starts, ends = _words(self.code)
        is_pair = self.row[starts[:-1]] == self.row[starts[1:]]
        words = _hash(prefix, starts, ends)
        found = [
            (starts, ends, words * WORD),
            (starts[:-1][is_pair], ends[1:][is_pair], _pairs(words)[is_pair]),
        ]
        n_marks = np.append(0, np.cumsum(self.code == 0))
        for length in RUNS if has_runs else ():
            start = np.arange(max(0, len(self.code) - length + 1))
            start = start[n_marks[start + length] == n_marks[start]]
            found.append((start, start + length, _hash(prefix, start, start + length) * RUN))
        start, stop, hashes = (np.concatenate(part) for part in zip(*found, strict=True))
        return NGrams(self.row[start], _columns(hashes, n_columns), start, stop)


def matrix_of(texts: pa.Array, n_columns: int, *, has_runs: bool) -> sp.csr_array:
    """Texts -> CSR matrix (n, n_columns) that is 1 where a text has an n-gram.

    `n_columns` is a power of 2. Runs of characters are optional. A missing text has no n-grams.
    """
    parts = [_tile_matrix(tile, n_columns, has_runs) for tile in _tiles(texts)]
    if not parts:
        return sp.csr_array((0, n_columns), dtype=np.float32)
    return sp.vstack(parts, format="csr") if len(parts) > 1 else parts[0]


def characters_of(texts: pa.Array) -> Characters:
    """The characters of texts, of which there are few enough for one array."""
    joined = "".join(f"{text}\0" for text in pc.fill_null(texts, "").to_pylist())
    code = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
    lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy(zero_copy_only=False)
    row = np.repeat(np.arange(len(texts)), lengths + 1)
    lower, _, is_blank = _tables()
    known = np.minimum(code, TABULATED - 1)
    code = np.where(code < TABULATED, lower[known], code)
    blank = is_blank[known]
    code[blank] = SPACE
    is_kept = ~(blank & np.append(False, blank[:-1]))
    return Characters(code[is_kept], row[is_kept])


def _tiles(texts: pa.Array) -> Iterator[pa.Array]:
    texts = pc.utf8_slice_codeunits(texts.cast(pa.large_string()), 0, MOST_CHARACTERS)
    lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy(zero_copy_only=False)
    tile = np.cumsum(lengths + 1) // TILE_CHARACTERS
    edges = [0, *(np.flatnonzero(np.diff(tile)) + 1).tolist(), len(texts)]
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        if stop > start:
            yield texts.slice(start, stop - start)


def _tile_matrix(texts: pa.Array, n_columns: int, has_runs: bool) -> sp.csr_array:
    found = characters_of(texts).ngrams(n_columns, has_runs=has_runs)
    keys = np.sort(found.row * n_columns + found.column)
    keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    ends = np.searchsorted(keys, np.arange(len(texts) + 1) * n_columns)
    columns = (keys & (n_columns - 1)).astype(np.int32)
    ones = np.ones(len(keys), dtype=np.float32)
    return sp.csr_array((ones, columns, ends.astype(np.int32)), shape=(len(texts), n_columns))


@cache
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For the first characters: the lower case, whether it is part of a word, or a blank."""
    signs = [chr(code) for code in range(TABULATED)]
    lower = [sign.lower() if len(sign.lower()) == 1 else sign for sign in signs]
    return (
        np.array([ord(sign) for sign in lower], dtype=np.uint32),
        np.array([sign.isalnum() for sign in signs]),
        np.array([sign.isspace() for sign in signs]),
    )


@cache
def _powers(multiplier: int) -> np.ndarray:
    """The first powers of a multiplier modulo 2^64, enough for a tile and its last text."""
    size = TILE_CHARACTERS + 2 * MOST_CHARACTERS
    powers = np.full(size, multiplier, dtype=np.uint64)
    powers[0] = 1
    return np.cumprod(powers)


def _prefix_sums(code: np.ndarray) -> np.ndarray:
    sums = np.zeros(len(code) + 1, dtype=np.uint64)
    np.cumsum(code * _powers(MULTIPLIER)[: len(code)], out=sums[1:])
    return sums


def _hash(prefix: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Hash of the characters from each start to before each stop."""
    inverse = _powers(pow(MULTIPLIER, -1, 1 << 64))
    hashes: np.ndarray = (prefix[stop] - prefix[start]) * inverse[start]
    return hashes


def _words(code: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where words of letters and digits start and stop."""
    _, is_word, _ = _tables()
    inside = is_word[np.minimum(code, TABULATED - 1)] | (code >= TABULATED)
    change = np.diff(np.concatenate([[0], inside.astype(np.int8), [0]]))
    return np.flatnonzero(change == 1), np.flatnonzero(change == -1)


def _pairs(words: np.ndarray) -> np.ndarray:
    """Hash of each word and the next."""
    hashes: np.ndarray = words[:-1] * PAIR + _mixed(words[1:])
    return hashes


def _mixed(hashes: np.ndarray) -> np.ndarray:
    for factor in MIX:
        hashes = (hashes ^ (hashes >> SHIFT)) * factor
    mixed: np.ndarray = hashes ^ (hashes >> SHIFT)
    return mixed


def _columns(hashes: np.ndarray, n_columns: int) -> np.ndarray:
    found: np.ndarray = (_mixed(hashes) & np.uint64(n_columns - 1)).astype(np.int64)
    return found
