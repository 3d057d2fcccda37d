"""A uniform sample of rows that stream by, in bounded memory."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa


class Sample(NamedTuple):
    """Rows in the order in which they came."""

    rows: pa.Table
    number: np.ndarray  # (n,) which row of the whole table each is, counted from 0
    key: np.ndarray  # (n,) what each was kept for


class Reservoir:
    """Keeps the `size` rows with the smallest keys; a uniform sample if keys are random.

    Whoever draws the keys decides the sample: batches of any length give the same rows. Samples
    of the parts of a table become one of the whole by keeping the smallest keys again.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[Sample] = []
        self._n_kept = 0
        self._largest_key = np.inf  # no row with a larger key can stay

    def add(self, batch: pa.RecordBatch, number: np.ndarray, key: np.ndarray) -> None:
        """Show rows with their numbers and keys."""
        stays = np.flatnonzero(key < self._largest_key)
        if len(stays):
            rows = pa.Table.from_batches([batch])
            rows = rows if len(stays) == len(key) else rows.take(stays)
            self._kept.append(Sample(rows, number[stays], key[stays]))
            self._n_kept += len(stays)
        if self._n_kept > 2 * self._size:
            self._shrink()

    def sample(self) -> Sample:
        """What is kept now; something must have been shown before."""
        self._shrink()
        return self._kept[0]

    def _shrink(self) -> None:
        whole = smallest(self._kept, self._size)
        if len(whole.key) == self._size:
            self._largest_key = whole.key.max()
        self._kept, self._n_kept = [whole], len(whole.key)


def smallest(samples: list[Sample], size: int) -> Sample:
    """One sample of several: the rows with the smallest keys, in the order of their numbers."""
    rows = pa.concat_tables([sample.rows for sample in samples])
    number = np.concatenate([sample.number for sample in samples])
    key = np.concatenate([sample.key for sample in samples])
    stays = np.arange(len(key))
    if len(key) > size:
        stays = np.argpartition(key, size - 1)[:size]
    stays = stays[np.argsort(number[stays], kind="stable")]
    rows = rows.take(stays).combine_chunks()
    return Sample(rows, number[stays], key[stays])
