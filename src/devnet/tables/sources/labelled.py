"""A table with labels given separately, as in scikit-learn's `fit(X, y)`."""

from collections.abc import Sequence
from itertools import accumulate
from typing import final

import numpy as np
import pyarrow as pa

from devnet.tables.sources.source import Batches, Source
from devnet.tables.table_error import TableError


@final
class LabelledSource(Source):
    """The columns of another source, and one more with a label for each row.

    A column of the other source with the name of the labels is left out.
    """

    def __init__(self, source: Source, label: str, labels: pa.Array) -> None:
        self.name, self.n_rows, self.paths = source.name, source.n_rows, source.paths
        others = [field for field in source.schema if field.name != label]
        self.schema = pa.schema([*others, pa.field(label, labels.type)])
        self.decimal_comma, self.is_once = source.decimal_comma, source.is_once
        self._source, self._label, self._labels = source, label, labels
        if self.n_rows is not None and self.n_rows != len(labels):
            raise self._other_length(self.n_rows)

    def first_rows(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Some rows, to learn from them how values are written."""
        if self._label in columns:
            return super().first_rows(columns)
        return self._source.first_rows(columns)

    def with_text(self, column: str) -> "LabelledSource":
        """The same table; a column of a text file is text, whatever its first values are."""
        return LabelledSource(self._source.with_text(column), self._label, self._labels)

    def parts(self) -> list[Source]:
        """Those of the other source, if it is known which labels are theirs."""
        parts = self._source.parts()
        sizes = [part.n_rows for part in parts if part.n_rows is not None]
        if len(sizes) < len(parts):
            return [self]
        labels = (
            self._labels.take(
                pa.array(np.arange(start, start + size))
            )  # a slice would travel whole
            for start, size in zip(accumulate(sizes, initial=0), sizes, strict=False)
        )
        return [
            LabelledSource(one, self._label, own) for one, own in zip(parts, labels, strict=True)
        ]

    def _other_length(self, n_rows: int) -> TableError:
        return TableError(
            f"{self.name} has {n_rows:,} rows, but y has {len(self._labels):,} labels: "
            "inconsistent numbers of samples. Give one label per row."
        )

    def _pieces(self, columns: list[str]) -> Batches:
        others = [name for name in columns if name != self._label]
        done = 0
        for batch in self._source.batches(others or self.schema.names[:1]):
            labels = self._labels.slice(done, batch.num_rows)
            done += batch.num_rows
            if len(labels) < batch.num_rows:
                raise self._other_length(done)
            yield batch.append_column(self._label, labels)
        if done != len(self._labels):
            raise self._other_length(done)
