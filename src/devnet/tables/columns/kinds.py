"""The kinds of column: a kind is one file here and one line in `KINDS`."""

from typing import Any

import pyarrow as pa

from devnet.core.model_file import edited, field
from devnet.tables.columns.arrow_values import SINGULAR, is_dictionary, kind_of
from devnet.tables.columns.boolean import BooleanColumn
from devnet.tables.columns.category import CategoryColumn
from devnet.tables.columns.column import ColumnEncoding, ColumnSummary
from devnet.tables.columns.date import DateColumn
from devnet.tables.columns.number import NumberColumn
from devnet.tables.columns.sparse import SparseColumn
from devnet.tables.columns.text import TextColumn
from devnet.tables.columns.vector import VectorColumn

KINDS: tuple[type[ColumnEncoding], ...] = (
    NumberColumn,
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    SparseColumn,
    TextColumn,
    VectorColumn,
)


def start_summary(column: pa.Field, is_forced: bool) -> ColumnSummary | None:
    """What one pass is to learn about a column; None if its values cannot be used.

    Single values are categories if the caller says so (`is_forced`), or if they come as a
    dictionary.
    """
    kind = kind_of(column.type)
    is_category = kind.name in SINGULAR and (is_forced or is_dictionary(column.type))
    source = "text" if is_category else kind.name
    found = next((one for one in KINDS if source in one.sources), None)
    return None if found is None else found.summary(column.name, kind, is_forced)


def encoding_from_header(header: Any) -> ColumnEncoding:
    """Invert `ColumnEncoding.to_header`, with everything checked."""
    if not isinstance(header, dict):
        raise edited("a column", "it is not a list of named values")
    by_name = {kind.kind: kind for kind in KINDS}
    name = field(header, "kind", lambda value: isinstance(value, str) and value in by_name)
    return by_name[name].from_header(header)
