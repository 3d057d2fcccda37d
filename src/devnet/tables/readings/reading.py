"""What all readings share: the values of a column become numbers or dates, and a note says how."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import pyarrow as pa

from devnet.core.sentence import Sentence
from devnet.core.wording import join_words, shown
from devnet.tables.columns.arrow_values import kind_of

MAX_NAMED = 5  # columns that a note names
READ_SHARE = 0.95  # share of the known values of a sample that must be readable
DISTINCT_SHARE = 0.5  # the same of distinct values, many of which may be rare mistakes


class Conventions(NamedTuple):
    """What the caller says about how a table writes values; None leaves it to the values."""

    decimal_comma: bool | None = None
    day_first: bool | None = None
    missing: tuple[str, ...] = ()  # further markers of missing values, in all columns


BY_VALUES = Conventions()


@dataclass(frozen=True)
class Reading(ABC):
    """How the values of one column are read, learned from a sample of the training table."""

    form: ClassVar[str]  # in model files
    reads: ClassVar[str]  # kind of the values that it reads
    becomes: ClassVar[pa.DataType]

    @property
    def csv_type(self) -> pa.DataType:
        """Arrow type to read from a CSV file."""
        return pa.string()

    @property
    def is_open(self) -> bool:
        """Whether the sample left a choice, which was made by convention."""
        return False

    @property
    def guess(self) -> str:
        """What an open reading assumes."""
        return ""

    @property
    def mark(self) -> str:
        """The decimal mark, if a value shows which one it is."""
        return ""

    def other(self) -> Self | None:
        """The reading by the other choice, if there was one."""
        return None

    def following(self, others: Sequence["Reading"]) -> "Reading":
        """An open reading as readings of other columns, which are not open, suggest."""
        return self

    @abstractmethod
    def read(self, values: pa.Array) -> pa.Array:
        """Values of the type `becomes`; null where one is missing or cannot be read."""

    @abstractmethod
    def in_words(self) -> str:
        """How the column is read: "text read as US dollars"."""

    def note(self, *names: str) -> Sentence:
        """What a user should check about columns that are read so, if the reading is open."""
        raise NotImplementedError(f"{type(self).__name__} is never open.")

    @classmethod
    @abstractmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """Invert `to_header`, with everything checked."""

    def to_header(self) -> dict[str, Any]:
        """The reading as JSON values."""
        return {"form": self.form, **asdict(self)}

    def can_read(self, kind: pa.DataType) -> bool:
        """Whether values of a type are read; others are taken as they are."""
        return kind_of(kind).name in (self.reads, "text")


def read_distinct(
    values: pa.Array, read: Callable[[str], float | None], becomes: pa.DataType
) -> pa.Array:
    """Values of texts, each distinct text read once; null where there is none."""
    codes = values.cast(pa.large_string()).dictionary_encode()
    found = [read(text) for text in codes.dictionary.to_pylist()]
    return pa.array(found, becomes).take(codes.indices)


def named(names: Sequence[str]) -> str:
    """Columns that a note is about."""
    more = [f"{len(names) - MAX_NAMED:,} others"] if len(names) > MAX_NAMED else []
    return join_words([*map(shown, names[:MAX_NAMED]), *more])
