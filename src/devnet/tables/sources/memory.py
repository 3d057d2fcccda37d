"""Tables in memory: pandas, polars, pyarrow, a dictionary of columns, a stream of Arrow."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa

from devnet.tables.sources.plain_columns import check_names, plain_batch, plain_schema
from devnet.tables.sources.source import Batches, Source, reading
from devnet.tables.sources.table_file import TableFile
from devnet.tables.sources.text_dates import with_dates
from devnet.tables.table_error import TableError

NAME = "the table"


@final
class MemorySource(Source):
    """A pyarrow Table, all of it in memory."""

    def __init__(self, table: pa.Table, name: str = NAME, paths: tuple[Path, ...] = ()) -> None:
        self.name, self.n_rows, self.paths = name, table.num_rows, paths
        self.schema = plain_schema(table.schema, name)
        self._table = table

    def _pieces(self, columns: list[str]) -> Batches:
        yield from self._table.select(columns or self.schema.names[:1]).to_batches()


@final
class StreamSource(Source):
    """A stream of Arrow batches that can be read once."""

    def __init__(self, stream: Any) -> None:
        self.name, self.n_rows, self.is_once = NAME, None, True
        with reading(NAME):
            self._reader = pa.RecordBatchReader.from_stream(stream)
            self.schema = plain_schema(self._reader.schema, NAME)
        self._is_read = False
        self._first: pa.RecordBatch | None = None

    def first_rows(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Rows of the first batch, which is read again as part of the table."""
        if self._first is None and not self._is_read:
            with reading(NAME):
                self._first = next(iter(self._reader), None)
        if self._first is None:
            return super().first_rows(columns)
        schema = pa.schema([self.schema.field(column) for column in columns])
        return plain_batch(self._first, schema)

    def _pieces(self, columns: list[str]) -> Batches:
        if self._is_read:
            raise TableError(
                "the table is a stream of Arrow batches that was read already; give one that can "
                "be read again, such as stream.read_all() or the path of a file."
            )
        self._is_read = True
        if self._first is not None:
            yield self._first
        yield from self._reader


def memory_source(table: Any, may_be_date: Callable[[str], bool] = lambda name: True) -> Source:
    """A table in memory as a source; text of some columns may be dates."""
    if not hasattr(table, "__len__") and hasattr(table, "__arrow_c_stream__"):
        return StreamSource(table)
    return MemorySource(with_dates(_in_arrow(_converter(table), table), may_be_date))


def file_source(table: pa.Table, file: TableFile, may_be_date: Callable[[str], bool]) -> Source:
    """A file that was read into memory as a source; text of some columns may be dates."""
    check_names(table.column_names, file.name)
    return MemorySource(with_dates(table, may_be_date), file.name, (file.path,))


def _converter(table: Any) -> Callable[[Any], pa.Table]:
    """The function that turns this kind of object into a pyarrow Table."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return _from_pandas
    if isinstance(table, np.ndarray) and table.ndim == 2:
        return _from_matrix
    if isinstance(table, pa.Table):  # Arrow's C interface would cut names at a NUL
        return lambda same: same
    if isinstance(table, pa.RecordBatch):
        return lambda batch: pa.Table.from_batches([batch])
    if isinstance(table, dict):
        return _from_dictionary
    if hasattr(table, "__arrow_c_stream__"):
        return lambda frame: pa.table(frame)
    raise _no_table(table)


def _no_table(table: Any) -> TableError:
    if hasattr(table, "fit"):
        return TableError(
            f"a {type(table).__name__} is a model, not a table; give the table that it is to "
            "learn from or to score, as in model.score(table)."
        )
    if hasattr(table, "fetchall"):
        return TableError(
            f"a {type(table).__name__} of a database is not a table; give the result of a query, "
            "such as cursor.fetch_arrow_table()."
        )
    return TableError(
        f"an object of the type {type(table).__name__} is not a table; give the path of a CSV, "
        "Parquet, Arrow, JSON Lines, Excel or svmlight file, a pandas or polars data frame, a "
        "pyarrow Table, or a dictionary of columns."
    )


def _in_arrow(convert: Callable[[Any], pa.Table], table: Any) -> pa.Table:
    try:
        return convert(table)
    except TableError:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        if "non-struct" in str(error) and not hasattr(table, "columns"):  # one column, not several
            raise _no_table(table) from error
        reason = "; ".join(str(part) for part in error.args).rstrip(".")
        raise TableError(
            f"the table cannot be read as columns of one type each ({reason}); give each column "
            "values of one kind (numbers, or text) and the same number of rows."
        ) from error


def _from_pandas(frame: Any) -> pa.Table:
    """Convert without the index; names that are not text become text."""
    names = [str(name) for name in frame.columns]
    check_names(names, NAME)
    named = frame.set_axis(names, axis=1)
    try:
        return pa.Table.from_pandas(named, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # values of several kinds, as of a worksheet
        return pa.Table.from_pandas(_in_text(named), preserve_index=False)


def _in_text(frame: Any) -> Any:
    """The same frame, with texts in columns that hold texts among other values."""
    mixed = {}
    for name, column in frame.items():
        is_text = column.dropna().map(lambda value: isinstance(value, str))
        if column.dtype == object and is_text.any() and not is_text.all():
            mixed[name] = column.where(column.isna(), column.map(str))
    return frame.assign(**mixed)


def _from_matrix(matrix: np.ndarray) -> pa.Table:
    """Convert an array, whose columns are named as scikit-learn names them."""
    columns = [pa.array(column, from_pandas=True) for column in matrix.T]
    return _from_dictionary({f"x{i}": column for i, column in enumerate(columns)})


def _from_dictionary(columns: dict[Any, Any]) -> pa.Table:
    names = [str(name) for name in columns]
    check_names(names, NAME)
    arrays = []
    for name, values in zip(names, columns.values(), strict=True):
        try:
            arrays.append(_array(values))
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"column {name!r}", *error.args) from error
    return pa.Table.from_arrays(arrays, names=names)


def _array(values: Any) -> Any:
    is_arrow = isinstance(values, pa.ChunkedArray | pa.Array)
    if isinstance(values, str | bytes):
        raise TypeError("is a text, not a list of values")
    return values if is_arrow else pa.array(values)
