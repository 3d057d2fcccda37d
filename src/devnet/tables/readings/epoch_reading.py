"""Dates as seconds, or parts of a second, since 1970: recognised by range and name."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa

from devnet.core.model_file import field
from devnet.tables.columns.arrow_values import kind_of, numbers
from devnet.tables.readings.number_reading import NumberReading
from devnet.tables.readings.reading import READ_SHARE, Reading

UNITS = {"seconds": 1_000_000.0, "milliseconds": 1_000.0, "microseconds": 1.0, "nanoseconds": 1e-3}
FIRST, END = 631_152_000e6, 4_102_444_800e6  # 1990 and 2100, in microseconds
_WORD = "timestamp|datetime|time|date|epoch|unix|unixtime|ts|created|updated|modified|when|at"
NAMED = re.compile(
    rf"(?i:(.*[\W_])?({_WORD})([\W_]?(s|ms|us|ns|sec|utc|millis|seconds|epoch|unix|stamp))?)"
    r"|.*[a-z0-9](Time|Date|At|Timestamp|Epoch|TS)(Ms|MS|Utc|UTC)?"
)


@final
@dataclass(frozen=True)
class EpochReading(Reading):
    """Numbers as times of UTC; what lies outside 1990 to 2100 cannot be read."""

    form: ClassVar[str] = "epoch"
    reads: ClassVar[str] = "number"
    becomes: ClassVar[pa.DataType] = pa.timestamp("us")

    unit: str  # of UNITS

    @property
    def csv_type(self) -> pa.DataType:
        """Arrow type to read from a CSV file."""
        return pa.float64()

    def read(self, values: pa.Array) -> pa.Array:
        """Times; null where a number is out of range."""
        if kind_of(values.type).name == "text":
            values = NumberReading(".").read(values)
        with np.errstate(over="ignore"):
            instants = numbers(values) * UNITS[self.unit]
        is_right = (instants >= FIRST) & (instants < END)
        whole = np.where(is_right, instants, 0).astype(np.int64)
        return pa.array(whole, mask=~is_right).cast(pa.timestamp("us"))

    def in_words(self) -> str:
        """How the column is read."""
        return f"numbers read as {self.unit} since 1970"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""
        return cls(field(header, "unit", lambda value: value in list(UNITS)))


def learn_epoch(name: str, values: pa.Array) -> EpochReading | None:
    """How numbers are read as times; None if name or range say that they are none."""
    if pa.types.is_duration(values.type) or NAMED.fullmatch(name) is None:
        return None
    found = numbers(values)
    found = found[~np.isnan(found)]
    for unit, size in UNITS.items():
        with np.errstate(over="ignore"):
            is_right = (found * size >= FIRST) & (found * size < END)
        if len(found) and is_right.mean() >= READ_SHARE:
            return EpochReading(unit)
    return None
