"""TableEncoder: raw Arrow columns as a float32 matrix, learned once."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from devnet.core.layout import MAX_COLUMNS, Layout
from devnet.core.model_file import edited, field
from devnet.core.rows import WIDE
from devnet.core.sentence import Setting
from devnet.detectors.methods import RECOMMENDED
from devnet.tables.column_check import check_column, unknown_columns
from devnet.tables.column_names import ColumnNames
from devnet.tables.columns.arrow_values import kind_of, one_value, plain
from devnet.tables.columns.column import ColumnEncoding, ColumnFact, Entry
from devnet.tables.columns.kinds import encoding_from_header
from devnet.tables.columns.left_out import LeftOut, Why, listed
from devnet.tables.columns.numbers_at_once import NumbersAtOnce
from devnet.tables.columns.spread import Place
from devnet.tables.readings.table_reader import TableReader, Tally
from devnet.tables.score_columns import scored_before
from devnet.tables.sources.plain_columns import refuse_duplicates
from devnet.tables.table_error import TableError
from devnet.tables.table_matrix import fill_dense, is_smaller_sparse, to_sparse
from devnet.tables.table_summary import TableSummary, unreadable

__all__ = ["ColumnFact", "TableEncoder", "TableSummary"]

FEW_ROWS = 64  # up to which columns of numbers are encoded at once
N_SLICES, SLICE_ROWS = 16, 256  # of the sample, to decide between dense and sparse


class TableEncoder:
    """Columns of a table, each encoded by its kind, side by side in a matrix.

    Made by `learn` or `from_header`.

    Attributes
    ----------
    columns : tuple of ColumnEncoding
        The columns that are used.
    left_out : mapping of str to LeftOut
        The others by name, each with the reason.
    is_sparse : bool
        Whether `encode` returns CSR matrices, as they were smaller for training rows.
    names : sequence of str
        What contributions refer to: the columns, and each entry of sparse vectors.
    reader : TableReader
        How texts that are numbers or dates are read.

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
        left_out: Mapping[str, LeftOut],
        *,
        label: str | None,
        is_sparse: bool,
        reader: TableReader | None = None,
    ) -> None:
        self.columns = tuple(columns)
        self.left_out = dict(left_out)
        self.label = label
        self.is_sparse = is_sparse
        self.reader = (reader or TableReader()).only([column.name for column in columns])
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
            A uniform sample of them, in order.
        """
        if not summary.n_rows:
            raise TableError("the table has no rows to learn from; give one that has some.")
        columns: list[ColumnEncoding] = []
        left_out: dict[str, LeftOut] = {}
        for name in summary.columns:
            found = _learned(name, summary, sample)
            if isinstance(found, LeftOut):
                left_out[name] = found
            else:
                columns.append(found)
        if not columns:
            raise TableError(
                "no column of the table can be used: "
                + (listed(left_out) or "there is none besides the label")
                + ". Give a table with other columns, or name those to use as categories with ",
                Setting("categorical"),
                ".",
            )
        _refuse_too_wide(columns)
        learned = partial(cls, columns, left_out, label=summary.label, reader=summary.reader)
        encoder = learned(is_sparse=True)
        starts = range(0, max(sample.num_rows, 1), max(sample.num_rows // N_SLICES, SLICE_ROWS))
        looked_at = encoder.encode(pa.concat_tables([sample.slice(s, SLICE_ROWS) for s in starts]))
        return learned(is_sparse=is_smaller_sparse(looked_at))

    @property
    def layout(self) -> Layout:
        """Which columns of the matrix belong together; each entry of a short vector is a block."""
        blocks = [
            (width, column.is_wide)
            for column in self.columns
            for width in ([1] * column.width if _has_separate_entries(column) else [column.width])
        ]
        widths, is_wide = zip(*blocks, strict=True)
        return Layout(widths, is_wide)

    @property
    def text_columns(self) -> list[str]:
        """The columns of free text."""
        return [column.name for column in self.columns if column.is_free_text]

    @property
    def has_text(self) -> bool:
        """Whether a column is free text."""
        return bool(self.text_columns)

    def without_text(self, method: str) -> "TableEncoder":
        """The encoder for a method that does not learn from text: texts are left out."""
        if not self.has_text:
            return self
        others = [column for column in self.columns if not column.is_free_text]
        if not others:
            raise TableError(
                f"{method} does not learn from text, and the table has nothing else to learn from; "
                "take another method: ",
                Setting("method", RECOMMENDED),
            )
        why = f"text: {method} does not learn from text"
        left_out = {name: LeftOut(name, Why.TEXT, why) for name in self.text_columns}
        return TableEncoder(
            others,
            {**self.left_out, **left_out},
            label=self.label,
            is_sparse=self.is_sparse and sum(column.width for column in others) >= WIDE,
            reader=self.reader,
        )

    def blocks(self) -> list[slice]:
        """The matrix columns of each of `columns`."""
        return [slice(*ends) for ends in pairwise(self._starts)]

    @cached_property
    def owner(self) -> np.ndarray:
        """Which of `names` each column of the matrix belongs to, (n_columns,)."""
        owners = [
            np.arange(start, end) if column.n_entries else np.full(column.width, start)
            for column, start, end in zip(
                self.columns, self.names.starts[:-1], self.names.starts[1:], strict=True
            )
        ]
        return np.concatenate(owners)

    def encode(self, batch: pa.RecordBatch | pa.Table) -> np.ndarray | sp.csr_array:
        """Rows as a float32 matrix of finite numbers, whatever the values."""
        self.check(batch.schema, "the table")
        return self.encode_checked(batch)

    def encode_checked(self, batch: pa.RecordBatch | pa.Table) -> np.ndarray | sp.csr_array:
        """Encode rows of a table that `check` has accepted."""
        batches = [
            self.reader.read(part.select(self.read_columns()), Tally())
            for part in (batch.to_batches() if isinstance(batch, pa.Table) else [batch])
        ]
        if len(batches) == 1:
            return self.encode_read(batches[0])
        if self.is_sparse:
            parts = [self._sparse(part) for part in batches]
            if not parts:
                return sp.csr_array((0, self.n_columns), dtype=np.float32)
            return sp.vstack(parts, format="csr")
        out = np.zeros((batch.num_rows, self.n_columns), dtype=np.float32)
        start = 0
        for part in batches:
            fill_dense(out[start : start + part.num_rows], self._entries(part))
            start += part.num_rows
        return out

    def encode_read(self, batch: pa.RecordBatch, *, dense: bool = False) -> Any:
        """Encode rows whose values were read; with `dense` the matrix is no CSR matrix."""
        if self.is_sparse and not dense:
            return self._sparse(batch)
        out = np.zeros((batch.num_rows, self.n_columns), dtype=np.float32)
        if len(out) > FEW_ROWS:
            fill_dense(out, self._entries(batch))
            return out
        self._numbers.fill(out, batch)
        others = self._numbers.others
        fill_dense(
            out, [(start, one) for start, column in others for one in _entries(column, batch)]
        )
        return out

    @cached_property
    def _numbers(self) -> NumbersAtOnce:
        return NumbersAtOnce(self.columns, self._starts)

    def _sparse(self, batch: pa.RecordBatch) -> sp.csr_array:
        return to_sparse(self._entries(batch), (batch.num_rows, self.n_columns))

    def _entries(self, batch: pa.RecordBatch) -> list[tuple[int, Entry]]:
        return [
            (start, entry)
            for start, column in zip(self._starts, self.columns, strict=False)
            for entry in _entries(column, batch)
        ]

    def check(self, schema: pa.Schema, name: str, inferred: pa.Schema | None = None) -> list[str]:
        """Return notes about a table to encode, or raise a TableError if it cannot be.

        `inferred` is what the values of a text file look like, whatever they are read as.
        """
        refuse_duplicates(schema.names, name)
        schema = self.reader.schema(schema)
        notes = [note for one in self.columns for note in check_column(one, schema, name, inferred)]
        names = {column.name for column in self.columns} | {*self.left_out, self.label}
        return [*unknown_columns(schema, names), *notes]

    def read_columns(self) -> list[str]:
        """Names of the columns that `encode` needs."""
        return [column.name for column in self.columns]

    def csv_types(self) -> dict[str, pa.DataType]:
        """Arrow types that a CSV reader should use for these columns."""
        types = {column.name: column.csv_type for column in self.columns}
        types |= {name: one.csv_type for name, one in self.reader.readings.items()}
        return {name: found for name, found in types.items() if found is not None}

    def phrase(
        self,
        batch_row: dict[str, Any],
        name: str,
        place: Place | None = None,
        parts: sp.csr_array | None = None,
    ) -> str:
        """One value of a row in words, for one of `names`.

        With its place in the column, it is compared with anomalies and other rows. With what its
        matrix columns add to the score, (1, width), a text is told by its words.
        """
        found = self.names.find(name)
        if found is None:
            raise TableError(f"the model has no column {name!r} to say anything about.")
        column, entry = found
        value = self.reader.column(column.name, one_value(batch_row.get(column.name)))
        if kind_of(value.type).name not in column.accepts:
            value = pa.nulls(1)
        if entry is not None:
            return column.entry_phrase(value, entry)
        return column.reason(value, place, parts)

    def to_header(self) -> dict[str, Any]:
        """The encoder as JSON values."""
        return {
            "label": self.label,
            "is_sparse": self.is_sparse,
            "columns": [column.to_header() for column in self.columns],
            "reading": self.reader.to_header(),
            "left_out": {name: one.text for name, one in self.left_out.items()},
            "left_out_reasons": {name: str(one.reason) for name, one in self.left_out.items()},
        }

    @classmethod
    def from_header(cls, header: Any) -> Self:
        """Invert `to_header`; a header that was edited or damaged raises a ModelFileError."""
        if not isinstance(header, dict):
            raise edited("the encoder", "it is not a list of named values")
        headers = field(header, "columns", lambda value: isinstance(value, list) and value != [])
        columns = [encoding_from_header(one) for one in headers]
        left_out = _read_left_out(header)
        label = field(header, "label", lambda value: value is None or isinstance(value, str))
        is_sparse = field(header, "is_sparse", lambda value: isinstance(value, bool))
        names = [*(column.name for column in columns), *left_out, label]
        if len(set(names)) < len(names):
            raise edited("the encoder", "a column's name occurs twice")
        if sum(column.width for column in columns) > MAX_COLUMNS:
            raise edited("the encoder", "it has too many columns")
        reader = TableReader.from_header(header.get("reading"))
        return cls(columns, left_out, label=label, is_sparse=is_sparse, reader=reader)

    def describe(self) -> list[ColumnFact]:
        """Each column that is used, in a few words."""
        read = {name: one.in_words() for name, one in self.reader.readings.items()}
        return [
            column.fact()._replace(reading=read.get(column.name, "")) for column in self.columns
        ]


def _learned(name: str, summary: TableSummary, sample: pa.Table) -> ColumnEncoding | LeftOut:
    if name in summary.ignore:
        return LeftOut(name, Why.IGNORED, "ignored")
    if name in summary.scored:
        return scored_before(name)
    kind = kind_of(summary.schema.field(name).type)
    if kind.name == "unusable":
        return LeftOut(name, Why.UNUSABLE, kind.reason)
    column = summary.columns[name]
    if column is None or column.n_missing == summary.n_rows:
        return LeftOut(name, Why.EMPTY, "empty")
    chunks = [plain(chunk) for chunk in sample.column(name).chunks]
    if kind.name == "text":
        chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
    values = pa.concat_arrays(chunks) if chunks else pa.array([], sample.schema.field(name).type)
    return column.learn(summary.n_rows, values)


def _has_separate_entries(column: ColumnEncoding) -> bool:
    return bool(column.n_entries) and not column.is_wide


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
            "possible. Leave out columns of large vectors with ",
            Setting("ignore"),
            ".",
        )


def _read_left_out(header: dict[str, Any]) -> dict[str, LeftOut]:
    texts = field(header, "left_out", _are_texts)
    reasons = field({"left_out_reasons": {}, **header}, "left_out_reasons", _are_texts)
    if not set(reasons) <= set(texts) or not set(reasons.values()) <= set(Why):
        raise edited("the encoder", "columns are left out for unknown reasons")
    return {
        name: LeftOut(name, Why(reasons.get(name, Why.UNKNOWN)), text)
        for name, text in texts.items()
    }


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(part, str) for pair in value.items() for part in pair
    )
