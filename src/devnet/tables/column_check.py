"""Whether a table has what an encoder learned, and what to say if not."""

import shlex
from collections.abc import Collection, Sequence

import pyarrow as pa

from devnet.core.names import known
from devnet.core.wording import cut, is_number
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.columns.category import CategoryColumn
from devnet.tables.columns.column import ColumnEncoding
from devnet.tables.columns.date import DateColumn
from devnet.tables.table_error import TableError

MAX_LISTED = 10  # columns that a sentence names
WORDS = {
    "number": "numbers",
    "boolean": "true or false",
    "text": "text",
    "date": "dates",
    "time": "times of day",
    "sparse": "sparse vectors",
}


def check_column(
    column: ColumnEncoding, schema: pa.Schema, table: str, inferred: pa.Schema | None = None
) -> None:
    """Refuse a table that lacks a column, or has it with values of another kind."""
    place = schema.get_field_index(column.name)
    fit = f"devnet fit TABLE --label COLUMN --ignore {shlex.quote(column.name)}"
    if place < 0:
        near = nearest(column.name, schema.names)
        hint = f"; did you mean {near!r}? Rename it" if near is not None else ". Add it"
        raise TableError(
            f"{table} has no column {column.name!r}, which the model needs{hint}, or learn a model "
            f"without it: {fit}"
        )
    kind = kind_of(schema.field(place).type)
    if kind.name not in column.accepts or _is_swapped(column, schema, inferred):
        kind = kind if inferred is None else kind_of(inferred.field(column.name).type)
        learned = WORDS[_learned_from(column)]
        raise TableError(
            f"the column {column.name!r} of {table} has {WORDS.get(kind.name, kind.reason)}, where "
            f"the model learned {learned}. Convert it to {learned}, or learn a model without it: "
            f"{fit}"
        )


def _is_swapped(column: ColumnEncoding, schema: pa.Schema, inferred: pa.Schema | None) -> bool:
    """Whether text has been read that is all numbers, where no learned text is one."""
    if inferred is None or not isinstance(column, CategoryColumn) or column.is_forced:
        return False
    if column.source != "text":
        return False
    looks_like = kind_of(inferred.field(column.name).type).name
    return looks_like == "number" and not any(is_number(text) for text, _ in column.values)


def _learned_from(column: ColumnEncoding) -> str:
    """The kind of values that a column was learned from, rather than what it also accepts."""
    if isinstance(column, CategoryColumn):
        return column.source
    return next(kind for kind in sorted(column.accepts) if kind != "empty")


def other_zones(columns: Sequence[ColumnEncoding], schema: pa.Schema) -> list[str]:
    """Notes about times with a zone where the model learned some without, and the reverse."""
    notes = []
    for column in columns:
        kind = kind_of(schema.field(column.name).type)
        if not isinstance(column, DateColumn) or kind.name != "date":
            continue
        if bool(kind.zone) != bool(column.zone):
            here, there = (
                f"of the zone {zone}" if zone else "without a zone"
                for zone in (kind.zone, column.zone)
            )
            notes.append(
                f"the times of {cut(column.name)!r} are {here}, the model learned times {there}; "
                "their clock is taken as it is"
            )
    return notes


def unknown_columns(schema: pa.Schema, names: Collection[str | None]) -> list[str]:
    """A note about columns that are not used."""
    others = [one for one in schema.names if one not in names]
    if not others:
        return []
    listed = some(others)
    if len(others) == 1:
        return [f"1 column is not known to the model and is ignored: {listed}"]
    return [f"{len(others)} columns are not known to the model and are ignored: {listed}"]


def some(names: Sequence[str]) -> str:
    """The first of the names, and whether there are more."""
    return ", ".join([cut(one) for one in names[:MAX_LISTED]] + ["..."] * (len(names) > MAX_LISTED))


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The name that looks most like the one that there is not."""
    try:
        return known(name, names, "column")
    except ValueError as error:
        _, is_there, near = str(error).rpartition(" Did you mean ")
    return next((one for one in names if near == f"{one!r}?"), None) if is_there else None
