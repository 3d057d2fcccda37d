"""Free text: messages, addresses, descriptions, as the n-grams that they contain."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from devnet.core.model_file import field, is_count
from devnet.core.wording import cut, missing_text, number_text, shown
from devnet.tables.columns.arrow_values import is_missing, plain
from devnet.tables.columns.column import (
    ColumnEncoding,
    Entry,
    is_empty,
    read_number,
    read_shared,
)
from devnet.tables.columns.identifiers import DISTINCT
from devnet.tables.columns.ngrams import MOST_CHARACTERS, characters_of, matrix_of
from devnet.tables.columns.spread import Place

WIDTH = 1 << 22  # columns of the matrix; with fewer, too many n-grams share one
MOST_WIDTH = 1 << 24
MISSING = 0  # the column that marks a missing text; some n-gram shares it
LOOKED_AT = 2000  # texts that tell free text from names, by their first
LOOKED_INTO = 1000  # characters
LEAST_DISTINCT = 0.2  # share of distinct texts; with fewer, long ones are categories
MANY_WORDS, MANY_CHARACTERS = 4, 30  # on average, from which texts are more than names
COMMON = 0.9  # share of texts from which a word says nothing
TELLING = 0.5  # share of texts that must have a word in common with some others
WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,}(?![^\W_])")  # letters, but not within a code
MOST_WITH_RUNS = 300  # characters on average, up to which runs of characters are used
LEAST_SHARE = 0.3  # of what the best character adds, from which a character is named
HALF = 0.5  # share of a word's characters, above which the whole word is named
N_NAMED = 2  # runs of characters that a reason names


def is_free_text(texts: pa.Array, n_rows: int) -> bool:
    """Whether the distinct texts of rows are free text, not names of rows or of categories.

    Free text has words that recur in some other texts, but not in all; identifiers do not. If a
    text is often repeated, it must also be long.
    """
    if len(texts) < LEAST_DISTINCT * n_rows:
        return False
    step = -(-len(texts) // LOOKED_AT)
    found = [text[:LOOKED_INTO] for text in texts[::step].to_pylist()]
    words = [WORD.findall(text.lower()) for text in found]
    is_long = np.mean([len(text.split()) for text in found]) >= MANY_WORDS
    is_long = is_long or np.mean([len(text) for text in found]) >= MANY_CHARACTERS
    if not is_long and len(texts) < DISTINCT * n_rows:
        return False
    count = Counter(word for one in words for word in set(one))
    recurs = {word for word, n in count.items() if 2 <= n <= COMMON * len(found)}
    return bool(np.mean([not recurs.isdisjoint(one) for one in words]) >= TELLING)


def text_column(name: str, missing: float, texts: pa.Array) -> "TextColumn":
    """The encoding of free texts like these."""
    length = pc.mean(pc.utf8_length(texts)).as_py()
    has_runs = (length or 0) <= MOST_WITH_RUNS
    return TextColumn(name, missing, size=WIDTH, length=float(length or 0), has_runs=has_runs)


@final
@dataclass(frozen=True)
class TextColumn(ColumnEncoding):
    """One column for each n-gram, found by its hash: 1 where a text contains it.

    N-grams are words, pairs of words and, of short texts, runs of three to five characters. In long
    ones, runs say nothing that words do not. A missing text is marked in the first column.
    """

    kind: ClassVar[str] = "text"
    is_free_text: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = ()  # what looks like categories may be free text

    size: int
    length: float  # mean number of characters
    has_runs: bool  # of characters

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return self.size

    @property
    def is_wide(self) -> bool:
        """Always: there are far more n-grams than a text contains."""
        return True

    @property
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""
        return frozenset(["text", "empty"])

    @property
    def csv_type(self) -> pa.DataType:
        """Arrow type to read from a CSV file."""
        return pa.string()

    @property
    def learned_from(self) -> str:
        """Kind of the training values."""
        return "text"

    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""
        texts = pa.nulls(len(values), pa.large_string()) if is_empty(values) else plain(values)
        matrix = matrix_of(texts, self.size, has_runs=self.has_runs)
        row = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(matrix.indptr))
        without = np.flatnonzero(is_missing(texts)).astype(np.int32)
        if not len(without):
            return [Entry(matrix.indices, matrix.data, row)]
        order = np.argsort(np.append(row, without), kind="stable")
        column = np.append(matrix.indices, np.full(len(without), MISSING, dtype=np.int32))
        ones = np.ones(len(order), dtype=np.float32)
        return [Entry(column[order], ones, np.append(row, without)[order])]

    def phrase(self, value: pa.Array) -> str:
        """The beginning of the text."""
        text = None if is_empty(value) else plain(value)[0].as_py()
        if text is None:
            return missing_text(self.name, self.missing)
        return f"{shown(self.name)} {_quoted(text)}"

    def reason(self, value: pa.Array, place: Place | None, parts: sp.csr_array | None) -> str:
        """What the text contains that adds most to the score.

        `parts` (1, width) are what its n-grams add.
        """
        text = None if is_empty(value) else plain(value)[0].as_py()
        if text is None or parts is None:
            return self.phrase(value)
        named = telling_runs(text, parts, has_runs=self.has_runs)
        if not named:
            return self.phrase(value)
        return f"{shown(self.name)} contains {' and '.join(map(_quoted, named))}"

    def detail(self) -> str:
        """What the training table had in the column."""
        parts = "words and runs of characters" if self.has_runs else "words"
        return f"{parts}; {number_text(round(self.length))} characters on average"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        return cls(
            **read_shared(header),
            size=field(header, "size", _is_width),
            length=read_number(header, "length", lambda value: value >= 0),
            has_runs=field(header, "has_runs", lambda value: isinstance(value, bool)),
        )


def telling_runs(text: str, parts: sp.csr_array, *, has_runs: bool) -> list[str]:
    """The runs of a text's characters that add most, given what its n-grams add, (1, width).

    What an n-gram adds is spread over its characters, wherever the text has it. Neighbours that
    add a good share of what the best character adds make a run.
    """
    characters = characters_of(pa.array([text[:MOST_CHARACTERS]], pa.large_string()))
    grams = characters.ngrams(parts.shape[1], has_runs=has_runs)
    position = np.searchsorted(parts.indices, grams.column)
    position = np.minimum(position, max(0, parts.nnz - 1))
    is_known = (parts.indices[position] == grams.column) if parts.nnz else np.zeros(0, dtype=bool)
    if not is_known.any():
        return []
    grams = type(grams)(*(part[is_known] for part in grams))
    _, which, times = np.unique(grams.column, return_inverse=True, return_counts=True)
    each = parts.data[position[is_known]] / times[which] / (grams.stop - grams.start)
    change = np.zeros(len(characters.code) + 1)
    np.add.at(change, grams.start, each)
    np.add.at(change, grams.stop, -each)
    return _runs(text, np.cumsum(change)[: len(characters.code) - 1])


def _runs(text: str, added: np.ndarray) -> list[str]:
    """The runs of characters that add much, with whole words, the most telling first."""
    blanks = re.sub(r"\s+", " ", text[:MOST_CHARACTERS])
    if len(blanks) != len(added) or not added.size or added.max() <= 0:
        return []
    is_much = added > LEAST_SHARE * added.max()
    for word in re.finditer(r"[^\W_]+", blanks):
        if is_much[slice(*word.span())].mean() > HALF:
            is_much[slice(*word.span())] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_much.astype(np.int8), [0]])))
    spans = sorted(
        zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True),
        key=lambda span: -added[slice(*span)].sum(),
    )
    found = [blanks[slice(*span)].strip() for span in spans]
    return list(dict.fromkeys(run for run in found if len(run) > 1))[:N_NAMED]


def _quoted(text: str) -> str:
    return repr(cut(text))


def _is_width(value: Any) -> bool:
    return is_count(value, 2, MOST_WIDTH) and value & (value - 1) == 0
