"""Dates as whole numbers: 20200624."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
import pyarrow as pa

from devnet.tables.columns.arrow_values import kind_of, numbers
from devnet.tables.columns.identifiers import IDENTIFIER
from devnet.tables.readings.date_reading import DateReading
from devnet.tables.readings.reading import Reading

FIRST, END = 19_000_101, 21_010_101
MANY = 50  # distinct values: more than a month has days, so that numbers in a row are no dates
NAMED = re.compile(
    r"(?i:(.*[\W_])?(date|day|dt|ymd|yyyymmdd|datum|tag|jour|fecha|data|giorno|dob|on)([\W_].*)?)"
    r"|.*[a-z0-9](Date|Day|On).*|(?i:.*date)"
)


@final
@dataclass(frozen=True)
class CompactReading(Reading):
    """Numbers of eight digits as days; what is no day cannot be read."""

    form: ClassVar[str] = "compact date"
    reads: ClassVar[str] = "number"
    becomes: ClassVar[pa.DataType] = pa.timestamp("us")

    @property
    def csv_type(self) -> pa.DataType:
        """Arrow type to read from a CSV file."""
        return pa.float64()

    def read(self, values: pa.Array) -> pa.Array:
        """Days; null where a number is none."""
        if kind_of(values.type).name == "text":
            return DateReading("compact").read(values)
        found = numbers(values)
        is_right = (found >= FIRST) & (found < END) & (np.trunc(found) == found)
        whole = pa.array(np.where(is_right, found, 0).astype(np.int64), mask=~is_right)
        return DateReading("compact").read(whole.cast(pa.large_string()))

    def in_words(self) -> str:
        """How the column is read."""
        return "numbers read as dates, such as 20200624"

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`."""
        return cls()


def learn_compact(name: str, values: pa.Array) -> CompactReading | None:
    """How numbers are read as days; None if one is no day, or if too little speaks for it."""
    if pa.types.is_duration(values.type) or IDENTIFIER.fullmatch(name):
        return None
    found = numbers(values)
    found = np.unique(found[~np.isnan(found)])
    if not len(found) or found[0] < FIRST or found[-1] >= END:
        return None
    if len(found) < MANY and NAMED.fullmatch(name) is None:
        return None
    reading = CompactReading()
    return None if reading.read(pa.array(found)).null_count else reading
