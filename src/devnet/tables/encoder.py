"""TableEncoder: raw Arrow columns as a float32 matrix, learned once."""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from devnet.core.model_file import edited, field
from devnet.tables.column_check import check_column, other_zones, unknown_columns
from devnet.tables.column_names import ColumnNames
from devnet.tables.columns.arrow_values import kind_of, one_value, plain
from devnet.tables.columns.boolean import BooleanColumn
from devnet.tables.columns.category import CategoryColumn
from devnet.tables.columns.column import ColumnEncoding, ColumnFact, Entry
from devnet.tables.columns.column_learning import RawColumn, learn_column, reasons
from devnet.tables.columns.date import DateColumn
from devnet.tables.columns.number import NumberColumn
from devnet.tables.columns.sparse import MAX_COLUMNS, SparseColumn
from devnet.tables.table_error import TableError
from devnet.tables.table_matrix import fill_dense, is_smaller_sparse, to_sparse
from devnet.tables.table_summary import TableSummary, refuse_duplicates, unreadable

__all__ = ["ColumnFact", "TableEncoder", "TableSummary"]

N_PLACES, ROWS_EACH = 16, 256  # rows by which dense or sparse is decided
KINDS: dict[str, type[ColumnEncoding]] = {
    kind.kind: kind
    for kind in (NumberColumn, BooleanColumn, CategoryColumn, DateColumn, SparseColumn)
}


class TableEncoder:
    """Columns of a table, each encoded in its own way, side by side in a matrix.

    Made by `learn` or `from_header`.

    Attributes
    ----------
    columns : tuple of ColumnEncoding
        The columns that are used.
    left_out : dict of str to str
        The others, and why.
    is_sparse : bool
        Whether `encode` returns CSR matrices: if that was smaller for rows of the training table.
    names : sequence of str
        What contributions are summed up to: the columns, and each entry of sparse vectors.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from devnet.tables.encoder import TableEncoder, TableSummary
    >>> table = pa.table({"amount": [0.0, 5.0, None], "online": [True, False, True]})
    >>> summary = TableSummary(table.schema)
    >>> summary.add(table)
    >>> encoder = TableEncoder.learn(summary, table)
    >>> encoder.encode(table).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 1.0, 1.0]]
    """

    def __init__(
        self,
        columns: Sequence[ColumnEncoding],
        left_out: dict[str, str],
        *,
        label: str | None,
        is_sparse: bool,
    ) -> None:
        self.columns = tuple(columns)
        self.left_out = left_out
        self.label = label
        self.is_sparse = is_sparse
        self.names = ColumnNames(self.columns)
        self._starts = [0, *accumulate(column.width for column in self.columns)]
        self.n_columns = self._starts[-1]

    @classmethod
    def learn(cls, summary: TableSummary, sample: pa.Table) -> Self:
        """Decide how to encode each column.

        Parameters
        ----------
        summary : TableSummary
            Of all rows.
        sample : pyarrow.Table
            A uniform sample of them, in their order.
        """
        if not summary.n_rows:
            raise TableError("the table has no rows to learn from; give one that has some.")
        columns: list[ColumnEncoding] = []
        left_out: dict[str, str] = {}
        for name in summary.columns:
            found = "ignored" if name in summary.ignore else _learned(name, summary, sample)
            if isinstance(found, str):
                left_out[name] = found
            else:
                columns.append(found)
        if not columns:
            raise TableError(
                "no column of the table can be used: "
                + (reasons(left_out) or "there is none besides the label")
                + ". Give a table with other columns, or name those to use as categories with "
                "--categorical COLUMN."
            )
        _refuse_too_wide(columns)
        encoder = cls(columns, left_out, label=summary.label, is_sparse=True)
        starts = range(0, max(sample.num_rows, 1), max(sample.num_rows // N_PLACES, ROWS_EACH))
        looked_at = encoder.encode(pa.concat_tables([sample.slice(s, ROWS_EACH) for s in starts]))
        return cls(columns, left_out, label=summary.label, is_sparse=is_smaller_sparse(looked_at))

    @cached_property
    def owner(self) -> np.ndarray:
        """Which of `names` each column of the matrix belongs to, (n_columns,)."""
        sizes = [
            np.arange(start, end)
            if isinstance(column, SparseColumn)
            else np.full(column.width, start)
            for column, start, end in zip(
                self.columns, self.names.starts[:-1], self.names.starts[1:], strict=True
            )
        ]
        return np.concatenate(sizes)

    def encode(self, batch: pa.RecordBatch | pa.Table) -> np.ndarray | sp.csr_array:
        """Rows as a float32 matrix of finite numbers, whatever the values."""
        self.check(batch.schema, "the table")
        batches = batch.to_batches() if isinstance(batch, pa.Table) else [batch]
        if self.is_sparse:
            parts = [self._sparse(part) for part in batches]
            if not parts:
                return sp.csr_array((0, self.n_columns), dtype=np.float32)
            return parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")
        out = np.zeros((batch.num_rows, self.n_columns), dtype=np.float32)
        start = 0
        for part in batches:
            fill_dense(out[start : start + part.num_rows], self._entries(part))
            start += part.num_rows
        return out

    def _sparse(self, batch: pa.RecordBatch) -> sp.csr_array:
        return to_sparse(self._entries(batch), (batch.num_rows, self.n_columns))

    def _entries(self, batch: pa.RecordBatch) -> list[tuple[int, Entry]]:
        return [
            (start, entry)
            for start, column in zip(self._starts, self.columns, strict=False)
            for entry in _entries(column, batch)
        ]

    def check(self, schema: pa.Schema, name: str, inferred: pa.Schema | None = None) -> list[str]:
        """Notes about a table that is to be encoded; one that cannot be raises a TableError.

        `inferred` is what its values look like, where they are read as what the model learned.
        """
        refuse_duplicates(schema)
        for column in self.columns:
            check_column(column, schema, name, inferred)
        used = {column.name for column in self.columns}
        unknown = unknown_columns(schema, used | {*self.left_out, self.label})
        return [*unknown, *other_zones(self.columns, schema)]

    def read_columns(self) -> list[str]:
        """Names of the columns that `encode` needs."""
        return [column.name for column in self.columns]

    def csv_types(self) -> dict[str, pa.DataType]:
        """As what a CSV reader should read each of these columns."""
        types = {column.name: column.csv_type for column in self.columns}
        return {name: found for name, found in types.items() if found is not None}

    def phrase(self, batch_row: dict[str, Any], name: str) -> str:
        """What is to be said about one value of a row, for one of `names`."""
        found = self.names.find(name)
        if found is None:
            raise TableError(f"the model has no column {name!r} to say anything about.")
        column, entry = found
        value = one_value(batch_row.get(column.name))
        if kind_of(value.type).name not in column.accepts:
            value = pa.nulls(1)
        if isinstance(column, SparseColumn) and entry is not None:
            return column.entry_phrase(value, entry)
        return column.phrase(value)

    def to_header(self) -> dict[str, Any]:
        """The encoder as JSON values."""
        return {
            "label": self.label,
            "is_sparse": self.is_sparse,
            "columns": [column.to_header() for column in self.columns],
            "left_out": dict(self.left_out),
        }

    @classmethod
    def from_header(cls, header: Any) -> Self:
        """Invert `to_header`; a header that was edited or damaged raises a ModelFileError."""
        if not isinstance(header, dict):
            raise edited("the encoder", "it is not a list of named values")
        listed = field(header, "columns", lambda value: isinstance(value, list) and value != [])
        columns = [_from_header(one) for one in listed]
        left_out = field(header, "left_out", _is_left_out)
        label = field(header, "label", lambda value: value is None or isinstance(value, str))
        is_sparse = field(header, "is_sparse", lambda value: isinstance(value, bool))
        names = [*(column.name for column in columns), *left_out, label]
        if len(set(names)) < len(names):
            raise edited("the encoder", "a column's name occurs twice")
        if sum(column.width for column in columns) > MAX_COLUMNS:
            raise edited("the encoder", "it has too many columns")
        return cls(columns, dict(left_out), label=label, is_sparse=is_sparse)

    def describe(self) -> list[ColumnFact]:
        """What there is to tell about each column that is used."""
        return [column.fact() for column in self.columns]


def _learned(name: str, summary: TableSummary, sample: pa.Table) -> ColumnEncoding | str:
    kind = kind_of(summary.schema.field(name).type)
    if kind.name in ("unusable", "empty"):
        values = pa.nulls(0)
    else:
        chunks = [plain(chunk) for chunk in sample.column(name).chunks]
        if kind.name == "text":
            chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
        values = (
            pa.concat_arrays(chunks) if chunks else pa.array([], sample.schema.field(name).type)
        )
    is_forced = name in summary.categorical
    column = RawColumn(name, kind, is_forced, summary.n_rows, values)
    return learn_column(column, summary.columns[name])


def _entries(column: ColumnEncoding, batch: pa.RecordBatch) -> list[Entry]:
    try:
        return column.entries(batch.column(column.name))
    except pa.ArrowException as error:
        raise unreadable(column.name, error) from error


def _refuse_too_wide(columns: Sequence[ColumnEncoding]) -> None:
    width = sum(column.width for column in columns)
    if width > MAX_COLUMNS:
        raise TableError(
            f"the table would become a matrix of {width:,} columns; at most {MAX_COLUMNS:,} are "
            "possible. Leave out columns of large vectors with --ignore COLUMN."
        )


def _from_header(header: Any) -> ColumnEncoding:
    if not isinstance(header, dict):
        raise edited("a column", "it is not a list of named values")
    kind = field(header, "kind", lambda value: isinstance(value, str) and value in KINDS)
    return KINDS[kind].from_header(header)


def _is_left_out(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(part, str) for pair in value.items() for part in pair
    )
