"""Several columns of numbers at once: of few rows, what Python takes for each column counts."""

from collections.abc import Sequence
from typing import final

import numpy as np
import pyarrow as pa

from devnet.tables.columns.column import ColumnEncoding, limited
from devnet.tables.columns.number import NumberColumn


@final
class NumbersAtOnce:
    """Encodes numbers side by side, each as `NumberColumn.entries` does, to the bit.

    Parameters
    ----------
    columns : sequence of ColumnEncoding
    starts : sequence of int
        The first matrix column of each.

    Attributes
    ----------
    others : list of pairs of int and ColumnEncoding
        The columns that are encoded one by one.
    """

    def __init__(self, columns: Sequence[ColumnEncoding], starts: Sequence[int]) -> None:
        self._columns: list[NumberColumn] = []
        self.others: list[tuple[int, ColumnEncoding]] = []
        first = []
        for start, one in zip(starts, columns, strict=False):
            if isinstance(one, NumberColumn) and one.has_plain_range:
                self._columns.append(one)
                first.append(start)
            else:
                self.others.append((start, one))
        self._scaled = np.array(first, dtype=np.int64)
        self._is_marked = np.array([one.width > 1 for one in self._columns], dtype=bool)
        self._marks = self._scaled[self._is_marked] + 1
        self._low = np.array([one.low for one in self._columns])
        self._range = np.array([one.high - one.low for one in self._columns])
        self._mean = np.array([one.mean for one in self._columns])

    def fill(self, out: np.ndarray, batch: pa.RecordBatch) -> None:
        """Write the encoded numbers of a batch into a matrix of zeros, (n, d)."""
        if not self._columns:
            return
        found = np.stack([one.numbers_of(batch.column(one.name)) for one in self._columns], axis=1)
        is_missing = np.isnan(found)  # (n, k)
        if is_missing.any():
            found = np.where(is_missing, self._mean, found)
            out[:, self._marks] = is_missing[:, self._is_marked]
        with np.errstate(over="ignore"):
            found -= self._low
            found /= self._range
        out[:, self._scaled] = limited(found)
