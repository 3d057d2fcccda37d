"""Whether a table has what an encoder learned, and what to say if not."""

from collections.abc import Collection, Sequence

import pyarrow as pa

from devnet.core.names import nearest
from devnet.core.sentence import Setting
from devnet.core.wording import cut
from devnet.tables.columns.arrow_values import WORDS, kind_of
from devnet.tables.columns.column import ColumnEncoding
from devnet.tables.table_error import TableError

MAX_LISTED = 10  # columns that a note names


def check_column(
    column: ColumnEncoding, schema: pa.Schema, table: str, inferred: pa.Schema | None = None
) -> list[str]:
    """Notes about a column of a table; one that is missing or of another kind is refused.

    `inferred` is what the values of a text file look like, whatever they are read as.
    """
    index = schema.get_field_index(column.name)
    without_it = (", or fit a model without it: ", Setting("ignore", [column.name]))
    if index < 0:
        near = nearest(column.name, schema.names)
        hint = f"; did you mean {near!r}? Rename it" if near is not None else ". Add it"
        raise TableError(
            f"{table} has no column {column.name!r}, which the model needs{hint}", *without_it
        )
    kind = kind_of(schema.field(index).type)
    looks_like = kind if inferred is None else kind_of(inferred.field(column.name).type)
    is_unlike = inferred is not None and column.is_unlike(looks_like.name)
    if kind.name not in column.accepts or is_unlike:
        learned = WORDS[column.learned_from]
        raise TableError(
            f"the column {column.name!r} of {table} has {looks_like.in_words()}, where the model "
            f"learned {learned}. Convert it to {learned}",
            *without_it,
        )
    return column.notes(kind)


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
    """The first few names, with dots if there are more."""
    return ", ".join([cut(one) for one in names[:MAX_LISTED]] + ["..."] * (len(names) > MAX_LISTED))
