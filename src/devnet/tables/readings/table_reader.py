"""The readings of a table's columns: learned from a sample, applied batch by batch."""

from collections.abc import Collection, Mapping
from threading import Lock
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from devnet.core.model_file import edited, field, is_count, is_texts
from devnet.core.sentence import Sentence
from devnet.core.wording import count_text, shown
from devnet.tables.columns.arrow_values import is_dictionary, numbers, plain
from devnet.tables.readings.column_learning import AsWritten, learn_column, unreadable
from devnet.tables.readings.compact_reading import CompactReading
from devnet.tables.readings.compound_reading import CompoundReading
from devnet.tables.readings.date_reading import DateReading
from devnet.tables.readings.epoch_reading import EpochReading
from devnet.tables.readings.markers import without
from devnet.tables.readings.number_reading import NumberReading
from devnet.tables.readings.reading import Conventions, Reading
from devnet.tables.readings.side_reading import SideReading
from devnet.tables.readings.time_reading import TimeReading

READINGS: tuple[type[Reading], ...] = (
    NumberReading,
    DateReading,
    TimeReading,
    EpochReading,
    CompactReading,
    SideReading,
    CompoundReading,
)
EXAMPLE = 40  # characters of an unreadable text that a note shows


class Unread(NamedTuple):
    """Values of a column that could not be read."""

    n_values: int
    example: str

    def note(self, name: str, reading: Reading) -> str:
        """What became of them."""
        values = count_text(self.n_values, "value", "values")
        verb = "counts" if self.n_values == 1 else "count"
        return (
            f"{shown(name)}: {values}, such as {self.example!r}, cannot be read "
            f"({reading.in_words()}) and {verb} as missing"
        )


class OtherReading(Exception):  # noqa: N818 - it is no error
    """A value decides what the sample had left open."""

    def __init__(self, name: str, reading: Reading) -> None:
        self.name, self.reading = name, reading


class Tally:
    """Counts what could not be read, by column, from several threads.

    With `doubts`, a value that an open reading should have read the other way raises OtherReading.
    """

    def __init__(self, *, doubts: bool = False) -> None:
        self.unread: dict[str, Unread] = {}
        self._doubts = doubts
        self._lock = Lock()

    def add(self, name: str, texts: pa.Array, reading: Reading) -> None:
        """Count these values."""
        other = reading.other() if self._doubts and reading.is_open else None
        if other is not None and other.read(texts).null_count < len(texts):
            raise OtherReading(name, other)
        with self._lock:
            known = self.unread.get(name)
            n_values = len(texts) + (known.n_values if known else 0)
            example = known.example if known else str(texts[0].as_py())[:EXAMPLE]
            self.unread[name] = Unread(n_values, example)

    def merge(self, unread: Mapping[str, "Unread"]) -> None:
        """Count what could not be read elsewhere, in rows that follow."""
        with self._lock:
            for name, one in unread.items():
                known = self.unread.get(name)
                n_values = one.n_values + (known.n_values if known else 0)
                self.unread[name] = Unread(n_values, known.example if known else one.example)


class TableReader:
    """How each column of a table is read; columns without a reading are taken as they are.

    Parameters
    ----------
    readings : mapping of str to Reading
        By column.
    missing : collection of str
        Texts that stand for a missing value, in all columns.
    unread : mapping of str to Unread
        What could not be read in the training table, by column.
    as_written : mapping of str to AsWritten
        Columns that look like numbers, but stay text.
    """

    def __init__(
        self,
        readings: Mapping[str, Reading] | None = None,
        missing: Collection[str] = (),
        unread: Mapping[str, Unread] | None = None,
        as_written: Mapping[str, AsWritten] | None = None,
    ) -> None:
        self.readings = dict(readings or {})
        self.missing = tuple(missing)
        self.unread = dict(unread or {})
        self.as_written = dict(as_written or {})

    @classmethod
    def learn(
        cls,
        sample: pa.RecordBatch | pa.Table,
        conventions: Conventions,
        *,
        may_be_codes: bool = True,
    ) -> Self:
        """Decide how to read each column of a sample.

        Parameters
        ----------
        sample : pyarrow.RecordBatch or Table
            With the columns that may be read.
        conventions : Conventions
        may_be_codes : bool
            Whether a few whole numbers as texts are codes, as the table could have stored numbers.
        """
        found: dict[str, Reading] = {}
        as_written: dict[str, AsWritten] = {}
        plain_numbers: list[Reading] = []
        for one in sample.schema:
            values = _one_array(without_all(sample.column(one.name), conventions.missing))
            reading = learn_column(one.name, values, conventions, may_be_codes=may_be_codes)
            if isinstance(reading, AsWritten):
                as_written[one.name] = reading
            elif reading is not None:
                found[one.name] = reading
            elif not may_be_codes and _has_fractions(values):  # written with a decimal point
                plain_numbers.append(NumberReading(".", shows_mark=True))
        return cls(_agreed(found, plain_numbers), conventions.missing, as_written=as_written)

    def only(self, names: Collection[str]) -> "TableReader":
        """The same, without columns that are not used."""
        return TableReader(
            {name: one for name, one in self.readings.items() if name in names},
            self.missing,
            {name: one for name, one in self.unread.items() if name in names},
            {name: one for name, one in self.as_written.items() if name in names},
        )

    def with_more(self, readings: Mapping[str, Reading]) -> "TableReader":
        """The same, with these readings as well, or instead of those of the same columns."""
        return TableReader({**self.readings, **readings}, self.missing, as_written=self.as_written)

    def counted(self, unread: Mapping[str, Unread]) -> "TableReader":
        """The same, knowing what could not be read."""
        in_order = {name: unread[name] for name in self.readings if name in unread}
        return TableReader(self.readings, self.missing, in_order, self.as_written)

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Columns and types of tables after reading."""
        return pa.schema([pa.field(one.name, self._type(one)) for one in schema])

    def _type(self, column: pa.Field) -> pa.DataType:
        reading = self.readings.get(column.name)
        return (
            column.type if reading is None or not reading.can_read(column.type) else reading.becomes
        )

    def read(
        self, batch: pa.RecordBatch, tally: Tally, untouched: Collection[str | None] = ()
    ) -> pa.RecordBatch:
        """Rows with their values read."""
        if not self.readings and not self.missing:
            return batch
        columns = [
            values if one.name in untouched else self.column(one.name, values, tally)
            for one, values in zip(batch.schema, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def column(self, name: str, values: pa.Array, tally: Tally | None = None) -> pa.Array:
        """Values of one column, read."""
        values = without(values, self.missing)
        reading = self.readings.get(name)
        if reading is None or not reading.can_read(values.type):
            return values
        if is_dictionary(values.type):
            found = reading.read(plain(values.dictionary)).take(values.indices)
        else:
            found = reading.read(plain(values))
        if tally is not None and found.null_count > values.null_count:
            failed = unreadable(plain(values), found)
            if len(failed):
                tally.add(name, failed, reading)
        return found

    def notes(self) -> list[str | Sentence]:
        """What a user should know about the reading of the training table."""
        alike: dict[tuple[str, str], list[str]] = {}
        for name, reading in self.readings.items():
            if reading.is_open:
                alike.setdefault((reading.form, reading.guess), []).append(name)
        return [
            *(self.readings[names[0]].note(*names) for names in alike.values()),
            *(one.note(name, self.readings[name]) for name, one in self.unread.items()),
            *(one.note(name) for name, one in self.as_written.items()),
        ]

    def notes_about(self, tally: Tally) -> list[str]:
        """What could not be read in another table."""
        return [one.note(name, self.readings[name]) for name, one in tally.unread.items()]

    def to_header(self) -> dict[str, Any]:
        """The reader as JSON values."""
        return {
            "missing": list(self.missing),
            "columns": {name: one.to_header() for name, one in self.readings.items()},
            "unread": {name: list(one) for name, one in self.unread.items()},
            "as_written": {name: one.why for name, one in self.as_written.items()},
        }

    @classmethod
    def from_header(cls, header: Any) -> Self:
        """Invert `to_header`, with everything checked; None is a reader that reads nothing."""
        if header is None:
            return cls()
        if not isinstance(header, dict):
            raise edited("the reading of columns", "it is not a list of named values")
        headers = field(header, "columns", lambda value: isinstance(value, dict))
        missing = field(header, "missing", is_texts)
        unread = field(header, "unread", lambda value: _are_unread(value, headers))
        readings = {name: _reading(one) for name, one in headers.items()}
        as_written = field({"as_written": {}, **header}, "as_written", _are_texts)
        return cls(
            readings,
            missing,
            {name: Unread(*one) for name, one in unread.items()},
            {name: AsWritten(why) for name, why in as_written.items()},
        )


def _reading(header: Any) -> Reading:
    if not isinstance(header, dict):
        raise edited("the reading of a column", "it is not a list of named values")
    forms = {one.form: one for one in READINGS}
    return forms[field(header, "form", lambda value: value in list(forms))].from_header(header)


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _are_unread(value: Any, columns: Collection[str]) -> bool:
    return isinstance(value, dict) and all(
        name in columns
        and isinstance(one, list)
        and len(one) == 2
        and is_count(one[0])
        and isinstance(one[1], str)
        for name, one in value.items()
    )


def without_all(column: pa.ChunkedArray | pa.Array, missing: Collection[str]) -> list[pa.Array]:
    """Chunks of a column, null where the caller says that a value is missing."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [without(chunk, missing) for chunk in chunks]


def _one_array(chunks: list[pa.Array]) -> pa.Array:
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)


def _agreed(found: dict[str, Reading], others: Collection[Reading]) -> dict[str, Reading]:
    """The readings; those left open follow the others."""
    told = [*others, *(one for one in found.values() if not one.is_open)]
    return {name: one.following(told) if one.is_open else one for name, one in found.items()}


def _has_fractions(values: pa.Array) -> bool:
    if not pa.types.is_floating(values.type):
        return False
    found = numbers(values)
    return bool((np.trunc(found) != found)[~np.isnan(found)].any())
