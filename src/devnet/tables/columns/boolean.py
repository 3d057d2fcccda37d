"""True or false as 1 or 0; the mean stands in for missing values."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.core.wording import missing_text, share_text, shown
from devnet.tables.columns.arrow_values import is_missing, plain
from devnet.tables.columns.column import (
    ColumnEncoding,
    ColumnSummary,
    Entry,
    indicator,
    is_empty,
    read_share,
    read_shared,
    without_missing,
)
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.columns.spread import Places, Spread


@final
@dataclass
class BooleanSummary(ColumnSummary):
    """How many values are true."""

    n_true: int = 0

    def add(self, values: pa.Array) -> None:
        """Add more rows."""
        values = plain(values)
        self.n_missing += values.null_count
        self.n_true += values.true_count

    def merged(self, other: Self) -> Self:
        """What is known of the rows of both."""
        n_missing, n_true = self.n_missing + other.n_missing, self.n_true + other.n_true
        return replace(self, n_missing=n_missing, n_true=n_true)

    def learn(self, n_rows: int, sample: pa.Array) -> "BooleanColumn | LeftOut":
        """Return the encoding, or why there is none."""
        if self.n_true in (0, n_rows) and not self.n_missing:
            word = "true" if self.n_true else "false"
            return LeftOut(self.name, Why.CONSTANT, f"constant: always {word}")
        mean = self.n_true / (n_rows - self.n_missing)
        return BooleanColumn(self.name, self.n_missing / n_rows, mean)


@final
@dataclass(frozen=True)
class BooleanColumn(ColumnEncoding):
    """One column of 0 and 1, and one for missing values if any were missing in training."""

    kind: ClassVar[str] = "boolean"
    sources: ClassVar[tuple[str, ...]] = ("boolean",)
    summary: ClassVar[type[ColumnSummary]] = BooleanSummary

    mean: float  # share of true ones among known values

    @property
    def width(self) -> int:
        """Columns of the matrix."""
        return 1 + (self.missing > 0)

    @property
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""
        return frozenset(["boolean", "empty"])

    @property
    def csv_type(self) -> pa.DataType:
        """Arrow type to read from a CSV file."""
        return pa.bool_()

    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""
        if is_empty(values):
            values = pa.nulls(len(values), pa.bool_())
        values = found = plain(values)
        if values.null_count:
            found = pc.fill_null(values.cast(pa.float32()), pa.scalar(self.mean, pa.float32()))
        true = Entry(0, found.to_numpy(zero_copy_only=False).astype(np.float32, copy=False))
        return [true, indicator(1, is_missing(values))][: self.width]

    def phrase(self, value: pa.Array) -> str:
        """The value, and how many training rows have it."""
        found = plain(value)[0].as_py()
        if found is None:
            return missing_text(self.name, self.missing)
        share = (1 - self.missing) * (self.mean if found else 1 - self.mean)
        word = "true" if found else "false"
        return f"{shown(self.name)} is {word} (as in {share_text(share)} of rows)"

    def places(self, block: np.ndarray) -> Places:
        """False is 0, true is 1."""
        return Places(without_missing(block[:, 0], block, self.missing), ("false", "true"))

    def phrase_among(self, value: pa.Array, at: float | None, spread: Spread) -> str:
        """The value, and how many anomalies and other rows have it."""
        found, cell = plain(value)[0].as_py(), spread.cell(at)
        if found is None or cell is None:
            return f"{shown(self.name)} is missing{spread.missing().clause('as in')}"
        word = "true" if found else "false"
        return f"{shown(self.name)} is {word}{spread.shares(cell, cell).clause('as in')}"

    def detail(self) -> str:
        """What the training table had in the column."""
        return f"true {share_text(self.mean * (1 - self.missing))}"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        return cls(**read_shared(header), mean=read_share(header, "mean"))
