"""Nested columns as plain ones: a column per field of a struct, a text per list of strings."""

from collections.abc import Collection, Iterator, Sequence
from typing import final

import pyarrow as pa
import pyarrow.compute as pc

from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.sources.plain_columns import check_names
from devnet.tables.sources.source import Batches, Source


@final
class FlattenedSource(Source):
    """A table whose struct `address` with a field `city` is the column `address.city`."""

    def __init__(self, source: Source) -> None:
        self.nested = source
        self.name, self.n_rows = source.name, source.n_rows
        self.paths, self.inferred, self.is_once = source.paths, source.inferred, source.is_once
        flat = [(one.name, leaf) for one in source.schema for leaf in _leaves(one)]
        self.schema = pa.schema([leaf for _, leaf in flat])
        check_names(self.schema.names, self.name)
        self._parents = {leaf.name: parent for parent, leaf in flat}

    def first_rows(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Some rows, to learn from them how values are written."""
        return _flattened(self.nested.first_rows(self._read(columns)), columns)

    def with_codes(self, columns: Collection[str]) -> "FlattenedSource":
        """The same table; texts of these columns come as codes if the file has codes."""
        whole = [name for name in columns if self._parents.get(name) == name]
        return FlattenedSource(self.nested.with_codes(whole))

    def parts(self) -> list[Source]:
        """Those of the nested table."""
        return [FlattenedSource(part) for part in self.nested.parts()]

    def _pieces(self, columns: list[str]) -> Batches:
        columns = columns or self.schema.names[:1]
        for batch in self.nested.batches(self._read(columns)):
            yield _flattened(batch, columns)

    def _read(self, columns: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(self._parents[name] for name in columns))


def _flattened(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Some plain columns of a batch."""
    found = dict(leaf for one in batch.schema.names for leaf in _flat(one, batch.column(one)))
    return pa.RecordBatch.from_arrays([found[name] for name in columns], names=list(columns))


def is_nested(schema: pa.Schema) -> bool:
    """Whether a table has structs or lists of strings."""
    return any(_is_struct(one.type) or _is_words(one.type) for one in schema)


def _is_struct(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind)) and kind.num_fields > 0


def _is_words(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return is_list and kind_of(kind.value_type).name == "text"


def _leaves(column: pa.Field) -> Iterator[pa.Field]:
    """Plain columns of a nested one."""
    if _is_struct(column.type):
        for one in column.type:
            yield from _leaves(one.with_name(f"{column.name}.{one.name}"))
    else:
        kind = pa.large_string() if _is_words(column.type) else column.type
        yield pa.field(column.name, kind)


def _flat(name: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Plain columns of a nested one, with their values."""
    if _is_struct(values.type):
        for one, part in zip(values.type, values.flatten(), strict=True):  # null where it is null
            yield from _flat(f"{name}.{one.name}", part)
    else:
        yield name, _joined(values) if _is_words(values.type) else values


def _joined(lists: pa.Array) -> pa.Array:
    """The strings of each list, with blanks between them."""
    words = pc.fill_null(lists.flatten().cast(pa.large_string()), "")
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    ends = pa.array([0, *lengths.cumsum().tolist()], pa.int64())
    whole = pa.LargeListArray.from_arrays(ends, words)
    texts = pc.binary_join(whole, pa.scalar(" ", pa.large_string()))
    return pc.if_else(lists.is_null(), pa.scalar(None, pa.large_string()), texts)
