"""What all encodings of a column have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa

from devnet.core.model_file import MAX_COUNT, field, is_count, is_finite_number
from devnet.tables.columns.arrow_values import SINGULAR, kind_of

LARGEST = 1e6  # size of an encoded value


class Entry(NamedTuple):
    """Values that an encoding puts into the matrix, at most one a row unless rows are named."""

    column: int | np.ndarray  # within the encoding's own columns; one for all rows, or by row
    value: float | np.ndarray
    row: np.ndarray | None = None  # ascending


class ColumnFact(NamedTuple):
    """What is told about a column."""

    name: str
    kind: str
    detail: str
    missing: float  # share of the training rows


@dataclass(frozen=True)
class ColumnEncoding(ABC):
    """A column of a table as one or more columns of a matrix."""

    kind: ClassVar[str]

    name: str
    missing: float  # share of the training rows

    @property
    @abstractmethod
    def width(self) -> int:
        """Columns of the matrix."""

    @property
    @abstractmethod
    def accepts(self) -> frozenset[str]:
        """Kinds of values that can be encoded."""

    @property
    @abstractmethod
    def csv_type(self) -> pa.DataType | None:
        """As what to read the column of a CSV file; None if it cannot be in one."""

    @abstractmethod
    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""

    @abstractmethod
    def phrase(self, value: pa.Array) -> str:
        """What is to be said about the value of one row."""

    @abstractmethod
    def detail(self) -> str:
        """What the training table had in the column."""

    @classmethod
    @abstractmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""

    def to_header(self) -> dict[str, Any]:
        """The encoding as JSON values."""
        return {"kind": self.kind, **{name: _listed(part) for name, part in asdict(self).items()}}

    def fact(self) -> ColumnFact:
        """What is told about the column."""
        return ColumnFact(self.name, self.kind, self.detail(), self.missing)


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def limited(values: np.ndarray) -> np.ndarray:
    """Values within what is left to a network, as float32."""
    within: np.ndarray = np.clip(values, -LARGEST, LARGEST).astype(np.float32)
    return within


def indicator(column: int, is_missing: np.ndarray) -> Entry:
    """A column that is 1 where a value is missing."""
    return Entry(column, is_missing.astype(np.float32))


def read_shared(header: dict[str, Any]) -> dict[str, Any]:
    """The fields that all encodings have."""
    return {
        "name": field(header, "name", is_text),
        "missing": read_share(header, "missing"),
    }


def is_text(value: Any) -> bool:
    """Whether a JSON value is a text that Arrow can hold."""
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)


def read_share(header: dict[str, Any], name: str) -> float:
    """A number from 0 to 1."""
    return read_number(header, name, lambda value: 0 <= value <= 1)


def read_number(
    header: dict[str, Any], name: str, accepts: Callable[[float], bool] = lambda value: True
) -> float:
    """A finite number."""
    return float(field(header, name, lambda value: is_finite_number(value) and accepts(value)))


def read_numbers(header: dict[str, Any], name: str, size: int) -> tuple[float, ...]:
    """A list of so many finite numbers."""

    def is_valid(value: Any) -> bool:
        is_list = isinstance(value, list) and len(value) == size
        return is_list and all(is_finite_number(item) for item in value)

    return tuple(float(item) for item in field(header, name, is_valid))


def read_count(header: dict[str, Any], name: str, least: int = 0, most: int = MAX_COUNT) -> int:
    """A whole number within bounds."""
    return int(field(header, name, lambda value: is_count(value, least, most)))


def read_source(header: dict[str, Any], sources: tuple[str, ...] = SINGULAR) -> dict[str, Any]:
    """Kind of the values that a column was learned from, and their zone if they are dates."""

    def is_zone(value: Any) -> bool:
        return isinstance(value, str) and len(value) < 100 and value.isprintable()

    return {
        "source": field(header, "source", lambda value: value in list(sources)),
        "zone": field(header, "zone", is_zone),
    }


def csv_type_of(source: str, zone: str) -> pa.DataType:
    """As what to read values of a kind from a CSV file."""
    return {
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "text": pa.string(),
        "date": pa.timestamp("us", zone or None),
        "time": pa.time64("us"),
    }[source]


def is_empty(values: pa.Array) -> bool:
    """Whether a column's type says that all values are missing."""
    return kind_of(values.type).name == "empty"
