"""Several files with the same columns as one table."""

from collections.abc import Collection, Sequence
from copy import copy
from typing import final

import pyarrow as pa

from devnet.tables.sources.plain_columns import plain_batch
from devnet.tables.sources.source import Batches, Source
from devnet.tables.table_error import TableError


@final
class JoinedSource(Source):
    """The rows of all sources, one after the other.

    A column that is all missing in one of them (Arrow's null type) takes its type from the others.
    Columns are in the order of the first source.

    Attributes
    ----------
    sources : tuple of Source
    """

    def __init__(self, name: str, sources: Sequence[Source]) -> None:
        self.name, self.sources = name, tuple(sources)
        self.schema = _common_schema(sources)
        self.paths = tuple(path for source in sources for path in source.paths)
        self.decimal_comma = sources[0].decimal_comma
        counts = [source.n_rows for source in sources if source.n_rows is not None]
        self.n_rows = sum(counts) if len(counts) == len(sources) else None

    def with_codes(self, columns: Collection[str]) -> "JoinedSource":
        """The same table; texts of these columns come as codes if all files have codes."""
        try:
            coded = JoinedSource(self.name, [one.with_codes(columns) for one in self.sources])
        except TableError:  # codes in some files only
            return self
        fields = {**{one.name: one for one in self.schema}, **_coded(coded.schema)}
        coded.schema = pa.schema([fields[name] for name in self.schema.names])
        return coded

    def with_text(self, column: str) -> "JoinedSource":
        """The same table; a column of text files is text."""
        return JoinedSource(self.name, [one.with_text(column) for one in self.sources])

    def as_written(self) -> "JoinedSource | None":
        """The same rows as text, if all files are text."""
        written = [source.as_written() for source in self.sources]
        texts = [one for one in written if one is not None]
        return JoinedSource(self.name, texts) if len(texts) == len(written) else None

    def parts(self) -> list[Source]:
        """Those of all files, with the columns of the whole table."""
        return [self._of(part) for source in self.sources for part in source.parts()]

    def _of(self, part: Source) -> "JoinedSource":
        one = copy(self)
        one.sources, one.paths, one.n_rows = (part,), part.paths, part.n_rows
        return one

    def _pieces(self, columns: list[str]) -> Batches:
        schema = pa.schema([self.schema.field(column) for column in columns])
        for source in self.sources:
            for batch in source.batches(columns):
                yield plain_batch(batch, schema)


def _coded(schema: pa.Schema) -> dict[str, pa.Field]:
    """Columns whose texts come as codes."""
    return {one.name: one for one in schema if pa.types.is_dictionary(one.type)}


def _common_schema(sources: Sequence[Source]) -> pa.Schema:
    first = sources[0]
    types = {field.name: field.type for field in first.schema}
    for source in sources[1:]:
        _check_columns(source, first)
        for field in source.schema:
            known = types[field.name]
            if pa.types.is_null(known):
                types[field.name] = field.type
            elif field.type != known and not pa.types.is_null(field.type):
                raise TableError(
                    f"the column {field.name!r} is {field.type} in {source.name}, but {known} in "
                    f"the files before it, such as {first.name}; write all of them with the same "
                    "types."
                )
    return pa.schema(list(types.items()))


def _check_columns(source: Source, first: Source) -> None:
    ours, theirs = source.schema.names, first.schema.names
    for having, lacking in ((first, source), (source, first)):
        other = [name for name in having.schema.names if name not in lacking.schema.names]
        if set(ours) != set(theirs) and other:
            raise TableError(
                f"{lacking.name} has no column {other[0]!r}, which {having.name} has; the files of "
                "one table must have the same columns."
            )
