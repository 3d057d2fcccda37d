"""Sparse vectors: pairs of index and value as columns of the matrix, never made dense."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from devnet.core.wording import missing_text, number_text, shown
from devnet.tables.columns.arrow_values import plain
from devnet.tables.columns.column import ColumnEncoding, Entry, is_empty, read_count, read_shared
from devnet.tables.table_error import TableError

MAX_COLUMNS = 1 << 27
FLOAT32 = np.finfo(np.float32)


class Pairs(NamedTuple):
    """Pairs of all rows one after the other."""

    rows: np.ndarray
    indices: np.ndarray
    values: np.ndarray  # float64


def pairs_of(values: pa.Array, name: str) -> Pairs:
    """The pairs of a column of vectors; half a pair is none, numbers that are not finite are 0."""
    values = plain(values)
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    row = np.repeat(np.arange(len(values), dtype=np.int32), lengths)
    pairs = values.flatten()
    index, value = (pc.struct_field(pairs, part) for part in ("index", "value"))
    is_whole = index.is_valid().to_numpy(zero_copy_only=False)
    numbers = pc.fill_null(value.cast(pa.float64(), safe=False), 0.0)
    found = np.nan_to_num(numbers.to_numpy(zero_copy_only=False), nan=0, posinf=0, neginf=0)
    indices = pc.fill_null(index, 0).to_numpy(zero_copy_only=False)
    if len(indices) and indices.min() < 0:
        raise TableError(
            f"the vectors of the column {name!r} have the negative index {indices.min()}; number "
            "their entries from 0, and try again."
        )
    if is_whole.all():
        return Pairs(row, indices, found)
    return Pairs(row[is_whole], indices[is_whole], found[is_whole])


@final
@dataclass(frozen=True)
class SparseColumn(ColumnEncoding):
    """As many columns as the largest index in training says; higher ones are ignored.

    Values stay as they are, those of equal index add up, a missing vector is one of zeros.
    """

    kind: ClassVar[str] = "sparse vector"

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

    def entry_name(self, index: int) -> str:
        """Name of one entry of the vector."""
        return f"{self.name}[{index}]"

    def phrase(self, value: pa.Array) -> str:
        """How many entries the vector has."""
        if is_empty(value) or not plain(value)[0].is_valid:
            return missing_text(self.name, self.missing)
        return f"{shown(self.name)} has {self._matrix(value).nnz:,} entries"

    def entry_phrase(self, value: pa.Array, index: int) -> str:
        """The value of one entry."""
        found = np.nan_to_num(self._matrix(value)[0, index])
        return f"{shown(self.name)}[{index}] is {number_text(float(found))}"

    def detail(self) -> str:
        """What the training table had in the column."""
        return f"{self.size:,} entries"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        return cls(**read_shared(header), size=read_count(header, "size", 1, MAX_COLUMNS))
