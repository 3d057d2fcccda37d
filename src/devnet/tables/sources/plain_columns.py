"""Columns with usable names, in Arrow types that every reader knows."""

import re
import string
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.table_error import TableError

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
NO_NAME = string.whitespace + "\0"  # a name of these alone does not survive a text file


def plain_schema(schema: pa.Schema, name: str) -> pa.Schema:
    """The columns of a table without pandas' index, all with distinct names."""
    fields = [field for field in schema if not PANDAS_INDEX.fullmatch(field.name)]
    check_names([field.name for field in fields], name)
    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in fields])


def check_names(names: list[str], table: str) -> None:
    """Refuse a table without columns, with nameless ones, or with two of the same name."""
    if not names:
        raise TableError(f"{table} has no columns; give a table with at least one.")
    nameless = [position for position, name in enumerate(names, 1) if not name.strip(NO_NAME)]
    if nameless:
        raise TableError(
            f"column {nameless[0]} of {table} has no name; name it, or leave it out when "
            "writing the table (for pandas' index: to_csv(..., index=False))."
        )
    refuse_duplicates(names, table)


def refuse_duplicates(names: list[str], table: str) -> None:
    """Refuse a table in which a name does not say which column is meant."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TableError(
            f"{table} has more than one column named {', '.join(map(repr, twice))}; give each "
            "column its own name."
        )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without views, runs and extensions, which few functions of Arrow accept."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain_type(kind.value_type), kind.ordered)
    return _plain_nested(kind) if pa.types.is_nested(kind) else kind


def _plain_nested(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(plain_type(kind.value_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type), kind.list_size)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type)) for field in kind])
    return kind


def undictionaried(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves, if they are stored as codes of a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def plain_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of the schema, in its order and types."""
    if not len(schema):
        return batch.select([])
    columns = [_as_type(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def with_values(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Values instead of codes, so that it can be joined with others that have other codes."""
    schema = pa.schema([(field.name, undictionaried(field.type)) for field in batch.schema])
    return plain_batch(batch, schema)


def _as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind):
        return _as_type(column.dictionary.take(column.indices), kind)
    if isinstance(column, pa.ExtensionArray):
        return _as_type(column.storage, kind)
    if isinstance(column, pa.RunEndEncodedArray):
        return _as_type(pc.run_end_decode(column), kind)
    return column.cast(kind)
