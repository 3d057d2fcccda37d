"""Sparse vectors: pairs of index and value as columns of the matrix, never made dense."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from devnet.core.layout import MAX_COLUMNS
from devnet.core.rows import WIDE
from devnet.core.wording import missing_text, number_text, shown
from devnet.tables.columns.arrow_values import plain
from devnet.tables.columns.column import (
    ColumnEncoding,
    ColumnSummary,
    Entry,
    is_empty,
    read_count,
    read_shared,
)
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.table_error import TableError

FLOAT32 = np.finfo(np.float32)


class Pairs(NamedTuple):
    """The pairs of all rows, row after row."""

    rows: np.ndarray
    indices: np.ndarray
    values: np.ndarray  # float64


def pairs_of(values: pa.Array, name: str) -> Pairs:
    """The pairs of a column of vectors, without those that lack an index.

    Values that are missing or not finite are 0.
    """
    values = plain(values)
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    row = np.repeat(np.arange(len(values), dtype=np.int32), lengths)
    pairs = values.flatten()
    index, value = (pc.struct_field(pairs, part) for part in ("index", "value"))
    has_index = index.is_valid().to_numpy(zero_copy_only=False)
    numbers = pc.fill_null(value.cast(pa.float64(), safe=False), 0.0)
    found = np.nan_to_num(numbers.to_numpy(zero_copy_only=False), nan=0, posinf=0, neginf=0)
    indices = pc.fill_null(index, 0).to_numpy(zero_copy_only=False)
    if len(indices) and indices.min() < 0:
        raise TableError(
            f"the vectors of the column {name!r} have the negative index {indices.min()}; number "
            "their entries from 0, and try again."
        )
    if has_index.all():
        return Pairs(row, indices, found)
    return Pairs(row[has_index], indices[has_index], found[has_index])


@final
@dataclass
class SparseSummary(ColumnSummary):
    """The largest index."""

    largest: int = -1

    def add(self, values: pa.Array) -> None:
        """Add more rows."""
        self.n_missing += int(pc.sum(values.is_null()).as_py() or 0)
        indices = pairs_of(values, self.name).indices
        if len(indices):
            self.largest = max(self.largest, int(indices.max()))

    def merged(self, other: Self) -> Self:
        """What is known of the rows of both."""
        n_missing = self.n_missing + other.n_missing
        return replace(self, n_missing=n_missing, largest=max(self.largest, other.largest))

    def learn(self, n_rows: int, sample: pa.Array) -> "SparseColumn | LeftOut":
        """Return the encoding, or why there is none."""
        if self.largest < 0:
            return LeftOut(self.name, Why.EMPTY, "empty")
        if self.largest >= MAX_COLUMNS:
            raise TableError(
                f"the vectors of the column {self.name!r} have the index {self.largest:,}; at "
                f"most {MAX_COLUMNS - 1:,} is possible. Number the entries from 0 without gaps."
            )
        return SparseColumn(self.name, self.n_missing / n_rows, size=self.largest + 1)


@final
@dataclass(frozen=True)
class SparseColumn(ColumnEncoding):
    """One column for each index up to the largest in training; higher ones are ignored.

    Values stay as they are, those of equal index add up, and a missing vector is all zeros.
    """

    kind: ClassVar[str] = "sparse vector"
    sources: ClassVar[tuple[str, ...]] = ("sparse",)
    summary: ClassVar[type[ColumnSummary]] = SparseSummary

    size: int

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return self.size

    @property
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""
        return frozenset(["sparse", "empty"])

    @property
    def csv_type(self) -> None:
        """Vectors cannot be in a CSV file."""

    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""
        matrix = self._matrix(values)
        row = np.repeat(np.arange(len(values), dtype=np.int32), np.diff(matrix.indptr))
        value = np.clip(matrix.data, FLOAT32.min, FLOAT32.max).astype(np.float32)
        return [Entry(matrix.indices, value, row)]

    def _matrix(self, values: pa.Array) -> sp.csr_array:
        shape = (len(values), self.size)
        if is_empty(values):
            return sp.csr_array(shape)
        row, index, value = pairs_of(values, self.name)
        is_known = index < self.size
        if not is_known.all():
            row, index, value = row[is_known], index[is_known], value[is_known]
        with np.errstate(over="ignore"):
            matrix = sp.csr_array((value, (row, index.astype(np.int32))), shape=shape)
        matrix.eliminate_zeros()
        return matrix

    @property
    def is_wide(self) -> bool:
        """Whether it has thousands of entries."""
        return self.size >= WIDE

    @property
    def n_entries(self) -> int:
        """All of them are named and explained one by one."""
        return self.size

    def entry_name(self, entry: int) -> str:
        """Name of one entry of the vector."""
        return f"{self.name}[{entry}]"

    def phrase(self, value: pa.Array) -> str:
        """The number of entries of the vector."""
        if is_empty(value) or not plain(value)[0].is_valid:
            return missing_text(self.name, self.missing)
        return f"{shown(self.name)} has {self._matrix(value).nnz:,} entries"

    def entry_phrase(self, value: pa.Array, entry: int) -> str:
        """The value of one entry in words."""
        found = np.nan_to_num(self._matrix(value)[0, entry])
        return f"{shown(self.name)}[{entry}] is {number_text(float(found))}"

    def detail(self) -> str:
        """What the training table had in the column."""
        return f"{self.size:,} entries"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        return cls(**read_shared(header), size=read_count(header, "size", 1, MAX_COLUMNS))
