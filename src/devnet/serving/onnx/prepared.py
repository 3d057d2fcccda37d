"""The inputs of a graph, made from the rows of a table: what no standard operator can do."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from devnet.serving.onnx.inputs import ColumnInput, Form
from devnet.tables.columns.arrow_values import in_zone, is_missing, numbers, plain, wall_clock
from devnet.tables.columns.category import CategoryColumn
from devnet.tables.columns.column import is_empty
from devnet.tables.table_matrix import fill_dense

Arrays = tuple[np.ndarray, np.ndarray | None]  # values, and which of them are missing


def input_arrays(inputs: Sequence[ColumnInput], batch: pa.RecordBatch) -> dict[str, np.ndarray]:
    """Arrays by the names of inputs, from rows whose values have been read."""
    found: dict[str, np.ndarray] = {}
    for one in inputs:
        values, missing = _MAKERS[one.form](one.column, batch.column(one.column.name))
        found[one.name] = values
        if missing is not None:
            found[one.mark] = missing
    return found


def _number(column: Any, values: pa.Array) -> Arrays:
    if is_empty(values):
        return np.full(len(values), np.nan), None
    return np.ascontiguousarray(numbers(values)), None


def _boolean(column: Any, values: pa.Array) -> Arrays:
    values = pa.nulls(len(values), pa.bool_()) if is_empty(values) else plain(values)
    known = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return known, is_missing(values)


def _text(column: CategoryColumn, values: pa.Array) -> Arrays:
    if is_empty(values):
        return np.full(len(values), "", dtype=object), np.ones(len(values), dtype=bool)
    texts, position = column.spelled(values)
    spelled = np.array([*texts.to_pylist(), ""], dtype=object)
    return spelled[position], position < 0


def _position(column: CategoryColumn, values: pa.Array) -> Arrays:
    (entry,) = column.entries(values)
    return np.broadcast_to(np.asarray(entry.column, np.int64), len(values)).copy(), None


def _time(column: Any, values: pa.Array) -> Arrays:
    if is_empty(values):
        return np.zeros(len(values), np.int64), np.ones(len(values), dtype=bool)
    values = in_zone(values, column.zone)
    return np.ascontiguousarray(wall_clock(values)), is_missing(values)


def _vector(column: Any, values: pa.Array) -> Arrays:
    dense = np.zeros((len(values), column.width), np.float32)
    fill_dense(dense, [(0, entry) for entry in column.entries(values)])
    return dense, None


_MAKERS: dict[Form, Callable[[Any, pa.Array], Arrays]] = {
    Form.NUMBER: _number,
    Form.BOOLEAN: _boolean,
    Form.TEXT: _text,
    Form.POSITION: _position,
    Form.TIME: _time,
    Form.VECTOR: _vector,
}
