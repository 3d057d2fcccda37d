"""What all kinds of column share: a summary of one pass, and the encoding learned from it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from devnet.core.model_file import MAX_COUNT, field, is_count, is_finite_number, is_text
from devnet.tables.columns.arrow_values import SINGULAR, ColumnKind, is_missing, kind_of, plain
from devnet.tables.columns.left_out import LeftOut
from devnet.tables.columns.spread import Place, Places, Spread

LARGEST = 1e6  # magnitude of an encoded value
UNSHARED = 0.5  # entries, of those of the larger text or vector, that two alike may not share


class Entry(NamedTuple):
    """Values that an encoding puts into the matrix: at most one per row unless `row` is given."""

    column: int | np.ndarray  # within the encoding's own columns; one for all rows, or by row
    value: float | np.ndarray
    row: np.ndarray | None = None  # ascending


class Leeway(NamedTuple):
    """How far apart the encoded values of two rows may be if little else differs."""

    absolute: float
    relative: float = 0.0  # to the larger value


class Unseen(NamedTuple):
    """Values that the training table did not have."""

    is_unseen: np.ndarray  # (n,) boolean
    n_learned: int  # training rows whose values no other training row had, or surpassed
    text: str  # "of values were never seen in training", after their share


class ColumnFact(NamedTuple):
    """A column in a few words."""

    name: str
    kind: str
    detail: str
    missing: float  # share of the training rows
    reading: str = ""  # how its values were read, if not as they are: "text read as US dollars"


@dataclass
class ColumnSummary(ABC):
    """What one streaming pass learns about a column, in bounded memory."""

    name: str
    kind: ColumnKind  # of its values
    is_forced: bool  # to be a category, by the caller
    n_missing: int = 0

    @abstractmethod
    def add(self, values: pa.Array) -> None:
        """Add more rows."""

    @abstractmethod
    def merged(self, other: Self) -> Self:
        """What is known of the rows of both: the same as if one had seen them all."""

    @abstractmethod
    def learn(self, n_rows: int, sample: pa.Array) -> "ColumnEncoding | LeftOut":
        """Return the encoding, or why there is none.

        Parameters
        ----------
        n_rows : int
            Rows that were seen; at least one has a known value.
        sample : pyarrow.Array
            A uniform sample of their values, in their order.
        """


@dataclass(frozen=True)
class ColumnEncoding(ABC):
    """A column of a table as one or more columns of a matrix.

    A subclass answers all that other modules ask about its kind; most answers have defaults.
    """

    kind: ClassVar[str]  # in model files and descriptions
    sources: ClassVar[tuple[str, ...]]  # kinds of values that become this kind of column
    summary: ClassVar[type[ColumnSummary]]

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
        """Arrow type to read from a CSV file; None if the column cannot be in one."""

    @abstractmethod
    def entries(self, values: pa.Array) -> list[Entry]:
        """The encoded values."""

    @abstractmethod
    def phrase(self, value: pa.Array) -> str:
        """The value of one row in words, compared with the training table."""

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
        """The column in a few words."""
        return ColumnFact(self.name, self.kind, self.detail(), self.missing)

    @property
    def learned_from(self) -> str:
        """Kind of the training values, not what else is accepted."""
        return self.sources[0]

    @property
    def leeway(self) -> Leeway:
        """How much a row that is nearly the same as another may differ here.

        Wide values must share most entries; others may be any other value.
        """
        return Leeway(0.0, UNSHARED) if self.is_wide else Leeway(np.inf)

    is_free_text: ClassVar[bool] = False  # whether only methods that use text can learn from it

    @property
    def is_wide(self) -> bool:
        """Whether it has thousands of columns, nearly all of them zero in any one row."""
        return False

    @property
    def n_entries(self) -> int:
        """Entries that are named and explained one by one; 0 for the column as a whole."""
        return 0

    def entry_name(self, entry: int) -> str:
        """Name of one entry, or of the column."""
        return self.name

    def entry_phrase(self, value: pa.Array, entry: int) -> str:
        """The value of one entry in words."""
        return self.phrase(value)

    def reason(self, value: pa.Array, place: Place | None, parts: sp.csr_array | None) -> str:
        """The value of one row in words, by its place and what matrix columns add, if known."""
        return self.phrase(value) if place is None else self.phrase_among(value, *place)

    def places(self, block: np.ndarray) -> Places | None:
        """Where encoded rows (n, w) stand in the column; None if that cannot be counted."""
        return None

    def phrase_among(self, value: pa.Array, at: float | None, spread: Spread) -> str:
        """The value of one row, at this place, compared with anomalies and other rows."""
        return self.phrase(value)

    def is_missing(self, values: pa.Array) -> np.ndarray:
        """Which values are missing, (n,) boolean."""
        return np.ones(len(values), dtype=bool) if is_empty(values) else is_missing(plain(values))

    def unseen(self, values: pa.Array) -> Unseen | None:
        """Which of another table's values are new; None if that cannot be known."""
        return None

    def is_comparable(self, values: pa.Array) -> bool:
        """Whether another table's values should be spread like those of training."""
        return True

    def passes_by(self, values: pa.Array) -> bool:
        """Whether another table's values are naturally others, as time passes by."""
        return False

    def change(self, values: pa.Array, spread: Spread, found: np.ndarray) -> str:
        """How another table's values, counted by cell of the spread, differ most from training."""
        return spread.change(found)

    @property
    def is_crowded(self) -> bool:
        """Whether it has so many values that even the frequent ones are rare."""
        return False

    def is_unlike(self, looks_like: str) -> bool:
        """Whether a file's text looks like a kind that no training value had."""
        return False

    def notes(self, kind: ColumnKind) -> list[str]:
        """What is odd about values of an accepted kind."""
        return []


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def limited(values: np.ndarray) -> np.ndarray:
    """Values clipped to LARGEST, as float32."""
    within: np.ndarray = np.minimum(np.maximum(values, -LARGEST), LARGEST).astype(np.float32)
    return within


def indicator(column: int, is_missing: np.ndarray) -> Entry:
    """A column that is 1 for missing values."""
    return Entry(column, is_missing.astype(np.float32))


def without_missing(at: np.ndarray, block: np.ndarray, missing: float) -> np.ndarray:
    """Places of encoded rows, nan where the column that marks missing values, the last, says so."""
    known: np.ndarray = np.where(block[:, -1] > 0, np.nan, at) if missing else at
    return known


def read_shared(header: dict[str, Any]) -> dict[str, Any]:
    """The fields that all encodings have."""
    return {
        "name": field(header, "name", is_text),
        "missing": read_share(header, "missing"),
    }


def read_share(header: dict[str, Any], name: str) -> float:
    """A number from 0 to 1."""
    return read_number(header, name, lambda value: 0 <= value <= 1)


def read_number(
    header: dict[str, Any], name: str, accepts: Callable[[float], bool] = lambda value: True
) -> float:
    """A finite number."""
    return float(field(header, name, lambda value: is_finite_number(value) and accepts(value)))


def read_numbers(header: dict[str, Any], name: str, size: int) -> tuple[float, ...]:
    """A list of `size` finite numbers."""

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


def is_empty(values: pa.Array) -> bool:
    """Whether a column's type says that all values are missing."""
    return kind_of(values.type).name == "empty"
