"""A uniform sample of a stream of rows, in bounded memory."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.sources.plain_columns import with_values

LEAST_ROWS = 2  # however long they are
VALUE_BYTES = 8  # of a value within a list whose type does not tell


class Sample(NamedTuple):
    """Rows in the order of the stream."""

    rows: pa.Table
    number: np.ndarray  # (n,) of the rows in the table, counted from 0
    key: np.ndarray  # (n,) by which they were kept


def row_keys(number: np.ndarray, seed: int = 0) -> np.ndarray:
    """Keys of rows by their numbers, (n,) uint64: they look random, and no two are the same.

    This is the mixing of splitmix64, which maps whole numbers of 64 bits one to one. A seed moves
    the numbers, so seeds must be farther apart than a table has rows: draw them from all 64 bits.
    """
    bits = number.astype(np.uint64) + np.uint64((seed + 0x9E3779B97F4A7C15) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    key: np.ndarray = bits ^ (bits >> np.uint64(31))
    return key


class Reservoir:
    """Keeps the `size` rows with the smallest keys; a uniform sample if keys are random.

    The keys alone decide the sample: batches of any length give the same rows, and so do parts of
    a table in reservoirs of their own, merged in any order. If rows are long, as many are kept as
    fit into `n_bytes`.
    """

    def __init__(self, size: int, n_bytes: float = np.inf) -> None:
        self._size = size
        self._most_bytes = n_bytes
        self._kept: list[Sample] = []
        self._n_kept = self._n_bytes = 0
        self._largest_key: Any = np.inf  # rows with this key or a larger one cannot stay

    @property
    def n_rows(self) -> int:
        """Rows that are kept now; more may be than `sample` returns."""
        return self._n_kept

    def may_stay(self, key: np.ndarray) -> np.ndarray:
        """Whether rows of a batch with these keys might be kept, (n,) boolean."""
        stays: np.ndarray = key < self._largest_key
        if len(key) > self._size:
            stays &= key <= np.partition(key, self._size - 1)[self._size - 1]
        return stays

    def add(self, batch: pa.RecordBatch, number: np.ndarray, key: np.ndarray) -> None:
        """Add rows with their numbers and keys."""
        stays = np.flatnonzero(self.may_stay(key))
        if len(stays):
            part = batch if len(stays) == len(key) else batch.take(stays)
            rows = pa.Table.from_batches([with_values(part)])
            self._hold(Sample(rows, number[stays], key[stays]))

    def merged(self, other: "Reservoir") -> "Reservoir":
        """One that keeps what it would if all rows of both had been added to it."""
        found = Reservoir(self._size, self._most_bytes)
        # A long row that was left out ends the sample, though shorter ones after it would fit.
        found._largest_key = min(self._largest_key, other._largest_key)
        for rows, number, key in (*self._kept, *other._kept):
            stays = np.flatnonzero(found.may_stay(key))
            if len(stays):
                part = rows if len(stays) == len(key) else rows.take(stays)
                found._hold(Sample(part, number[stays], key[stays]))
        return found

    def sample(self) -> Sample:
        """The rows kept now; some must have been added before."""
        self.shrink()
        return self._kept[0]

    def _hold(self, sample: Sample) -> None:
        self._kept.append(sample)
        self._n_kept += len(sample.key)
        self._n_bytes += sample.rows.nbytes
        if self._n_kept > 2 * self._size or self._n_bytes > 2 * self._most_bytes:
            self.shrink()

    def shrink(self) -> None:
        """Hold no more than `sample` returns; some rows must have been added before."""
        merged = smallest(self._kept, self._size, self._most_bytes)
        if len(merged.key) < self._n_kept:
            largest = merged.key.max()
            left_out = [part.key[part.key > largest] for part in self._kept]
            self._largest_key = min([key.min() for key in left_out if len(key)], default=largest)
        self._kept, self._n_kept = [merged], len(merged.key)
        self._n_bytes = merged.rows.nbytes


def smallest(samples: list[Sample], size: int, n_bytes: float = np.inf) -> Sample:
    """One sample of several: the rows with the smallest keys, in the order of their numbers.

    As many as fit into `n_bytes`, but at least LEAST_ROWS.
    """
    rows = pa.concat_tables([sample.rows for sample in samples])
    number = np.concatenate([sample.number for sample in samples])
    key = np.concatenate([sample.key for sample in samples])
    stays = np.arange(len(key))
    if len(key) > size:
        stays = np.argpartition(key, size - 1)[:size]
    if np.isfinite(n_bytes):
        stays = stays[np.argsort(key[stays], kind="stable")]
        end = np.searchsorted(np.cumsum(row_bytes(rows)[stays]), n_bytes, side="right")
        stays = stays[: max(int(end), LEAST_ROWS)]
    stays = stays[np.argsort(number[stays], kind="stable")]
    rows = rows.take(stays).combine_chunks()
    return Sample(rows, number[stays], key[stays])


def row_bytes(rows: pa.Table) -> np.ndarray:
    """Bytes that each row takes, roughly."""
    total: np.ndarray = np.zeros(len(rows), dtype=np.int64)
    for column in rows.columns:
        total += _value_bytes(column)
    return total


def _value_bytes(column: pa.ChunkedArray) -> Any:
    """Bytes of each value, or of all of them; the same in any batch."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lengths(pc.list_value_length(column)) * _width(kind.value_type)
    try:
        return _lengths(pc.binary_length(column))
    except pa.ArrowNotImplementedError:  # neither text nor binary: all values are of one size
        return _width(kind)


def _width(kind: pa.DataType) -> int:
    """Bytes of a value of a type, without what marks missing ones."""
    if pa.types.is_dictionary(kind):
        return _width(kind.index_type)
    if pa.types.is_struct(kind):
        return sum(_width(field.type) for field in kind)
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _width(kind.value_type)
    if pa.types.is_null(kind):
        return 0
    try:
        return int(kind.bit_width) // 8
    except ValueError:  # of any size
        return VALUE_BYTES


def _lengths(found: pa.ChunkedArray) -> np.ndarray:
    lengths: np.ndarray = pc.fill_null(found, 0).to_numpy()
    return lengths
