"""One streaming pass over a training table."""

from collections.abc import Collection, Iterable
from copy import copy

import pyarrow as pa

from devnet.core.names import known
from devnet.core.sentence import Setting
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.columns.column import ColumnSummary
from devnet.tables.columns.kinds import start_summary
from devnet.tables.readings.table_reader import TableReader
from devnet.tables.score_columns import score_columns
from devnet.tables.sources.plain_columns import refuse_duplicates
from devnet.tables.table_error import TableError


class TableSummary:
    """What is known about all rows of a table, however many there are.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of all batches that will be added.
    label : str, optional
        Column that says which rows are labelled anomalies.
    ignore : collection of str, default=()
        Columns to leave out.
    categorical : collection of str, default=()
        Columns whose values are names rather than quantities, even if they are numbers.
    reader : TableReader, optional
        How the values were read, if not as they are in the table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from devnet.tables.table_summary import TableSummary
    >>> batch = pa.record_batch({"amount": [74.0, 9120.0], "country": ["DE", "NG"]})
    >>> summary = TableSummary(batch.schema)
    >>> summary.add(batch)
    >>> summary.n_rows
    2
    """

    def __init__(
        self,
        schema: pa.Schema,
        *,
        label: str | None = None,
        ignore: Collection[str] = (),
        categorical: Collection[str] = (),
        reader: TableReader | None = None,
    ) -> None:
        refuse_duplicates(schema.names, "the table")
        label_names = [] if label is None else [label]
        for name in [*label_names, *ignore, *categorical]:
            known_column(name, schema)
        if label in ignore:
            raise TableError(
                f"{label!r} is the label column, so it cannot be ignored or name rows; give "
                "another one."
            )
        _refuse_both(set(ignore) & set(categorical))
        self.schema = schema
        self.label = label
        self.ignore = frozenset(ignore)
        self.reader = TableReader() if reader is None else reader
        self.scored = score_columns(schema, [*ignore, *categorical, *label_names])
        self.n_rows = 0
        self.columns: dict[str, ColumnSummary | None] = {  # None if it is not learned from
            field.name: None
            if field.name in self.ignore | self.scored
            else start_summary(field, field.name in categorical)
            for field in schema
            if field.name != label
        }

    def needed(self) -> list[str]:
        """Columns that batches must have: the label, and those to learn from."""
        return [
            name
            for name in self.schema.names
            if name == self.label or self.columns[name] is not None
        ]

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Add more rows; a batch may lack columns that are not needed."""
        if isinstance(batch, pa.Table):
            for part in batch.to_batches():
                self.add(part)
            return
        needed = self.needed()
        refuse_other_schema(batch.schema, [self.schema.field(name) for name in needed])
        self.n_rows += batch.num_rows
        for column in self.columns.values():
            if column is None:
                continue
            try:
                column.add(batch.column(column.name))
            except (UnicodeDecodeError, pa.ArrowException) as error:
                raise unreadable(column.name, error) from error

    def merged(self, other: "TableSummary") -> "TableSummary":
        """What is known of the rows of both, which are parts of one table."""
        found = copy(self)
        found.n_rows = self.n_rows + other.n_rows
        found.columns = {
            name: None if one is None or more is None else one.merged(more)
            for (name, one), more in zip(self.columns.items(), other.columns.values(), strict=True)
        }
        return found


def refuse_other_schema(found: pa.Schema, wanted: Iterable[pa.Field]) -> None:
    """Refuse a batch that is not part of the table."""
    for field in wanted:
        index = found.get_field_index(field.name)
        if index < 0 or kind_of(found.field(index).type).name != kind_of(field.type).name:
            raise TableError(
                f"a part of the table has the column {field.name!r} "
                + ("not at all" if index < 0 else f"as {found.field(index).type}")
                + f", its beginning as {field.type}; make all parts alike."
            )


def unreadable(name: str, error: Exception) -> TableError:
    """The error to raise if Arrow cannot read a column's values."""
    return TableError(
        f"the column {name!r} has values that cannot be read ({error}). If it is text that is not "
        "UTF-8, write the table again as UTF-8; otherwise leave the column out."
    )


def _refuse_both(names: Collection[str]) -> None:
    for name in sorted(names):
        raise TableError(
            f"the column {name!r} cannot be a category and be left out or name rows; drop ",
            Setting("categorical", [name]),
            ", or drop ",
            Setting("ignore", [name]),
            " or ",
            Setting("id_column", name),
            ".",
        )


def names_of(columns: str | int | Collection[str]) -> list[str]:
    """Names of columns as text; a single one may be given by itself."""
    given = [columns] if isinstance(columns, str | int) else columns
    return [str(name) for name in given]


def known_column(name: str, schema: pa.Schema) -> str:
    """The name of a column, or an error with the one that was probably meant."""
    try:
        return known(name, schema.names, "column")
    except ValueError as error:
        raise TableError(str(error)) from None
