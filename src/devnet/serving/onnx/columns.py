"""How each form of input becomes columns of the matrix: the encoder's arithmetic as nodes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from devnet.serving.onnx.calendar import add_parts
from devnet.serving.onnx.graph import FLOAT, TREES, Graph
from devnet.serving.onnx.inputs import ColumnInput, Form
from devnet.tables.columns.boolean import BooleanColumn
from devnet.tables.columns.category import CategoryColumn
from devnet.tables.columns.column import LARGEST
from devnet.tables.columns.date import DateColumn
from devnet.tables.columns.number import NumberColumn


def add_matrix(graph: Graph, inputs: Sequence[ColumnInput]) -> str:
    """The encoder's matrix, (b, n_columns) float32.

    Numbers are scaled together, which takes a few nodes for all of them.
    """
    edges = np.cumsum([0, *(one.column.width for one in inputs)])
    numbers = [one for one in inputs if one.form is Form.NUMBER]
    blocks, places = [], []
    if numbers:
        starts = [
            start for start, one in zip(edges, inputs, strict=False) if one.form is Form.NUMBER
        ]
        blocks += _add_numbers(graph, numbers)
        places += starts
        places += [s + 1 for s, one in zip(starts, numbers, strict=True) if one.column.missing]
    for start, one in zip(edges, inputs, strict=False):
        if one.form is not Form.NUMBER:
            blocks.append(_BUILDERS[one.form](graph, one.column, *one.add(graph)))
            places += range(start, start + one.column.width)
    matrix = graph.add("Concat", *blocks, axis=1)
    order = np.argsort(places)
    if np.array_equal(order, np.arange(len(order))):
        return matrix
    return _chosen(graph, matrix, order.tolist())


def _add_numbers(graph: Graph, inputs: Sequence[ColumnInput]) -> list[str]:
    """Scaled numbers, (b, k), and which of them are missing if some were in training."""
    columns: list[Any] = [one.column for one in inputs]
    values = [graph.column(one.add(graph)[0]) for one in inputs]
    # A single one is there twice: onnxruntime leaves out an operation with a single constant that
    # single precision rounds to one without effect.
    twice = 2 if len(columns) == 1 else 1
    raw = graph.add("Concat", *values * twice, axis=1)  # (b, k)
    missing = graph.add("Or", graph.add("IsNaN", raw), graph.add("IsInf", raw))
    means = graph.constant([column.mean for column in columns * twice], np.float64)
    scaled = _add_scaled(graph, graph.add("Where", missing, means, raw), columns * twice)
    marked = [i for i, column in enumerate(columns) if column.missing]
    blocks = [_chosen(graph, scaled, [0])] if twice > 1 else [scaled]
    return blocks + ([graph.cast(_chosen(graph, missing, marked), FLOAT)] if marked else [])


def _chosen(graph: Graph, matrix: str, columns: list[int]) -> str:
    return graph.add("Gather", matrix, graph.constant(columns, np.int64), axis=1)


def _add_scaled(graph: Graph, values: str, columns: Sequence[NumberColumn]) -> str:
    """Numbers (b, k) from 0 at the lows to 1 at the highs, limited, as float32."""
    low, high = (np.array([getattr(c, end) for c in columns]) for end in ("low", "high"))
    with np.errstate(over="ignore"):
        part = np.where(np.isinf(high - low), 2.0, 1.0)  # as a difference may overflow
    if (part > 1).any():
        values = graph.add("Div", values, graph.constant(part))
    low, high = low / part, high / part
    above = graph.add("Sub", values, graph.constant(low))
    scaled = graph.add("Div", above, graph.constant(np.where(low == high, 1.0, high - low)))
    if (low == high).any():
        scaled = graph.add("Where", graph.constant(low == high), graph.constant(0.0), scaled)
    return _limited(graph, scaled)


def _limited(graph: Graph, values: str) -> str:
    """Values within the bounds of a matrix, as float32."""
    ends = graph.constant(-LARGEST, np.float64), graph.constant(LARGEST, np.float64)
    return graph.cast(graph.add("Clip", values, *ends), FLOAT)


def _with_mark(graph: Graph, column: Any, values: list[str], missing: str) -> str:
    """Columns (b,) side by side, and the one that marks missing values if there is one."""
    marks = [graph.cast(missing, FLOAT)] if column.missing else []
    parts = [graph.column(one) for one in (*values, *marks)]
    return graph.add("Concat", *parts, axis=1)


def _add_boolean(graph: Graph, column: BooleanColumn, values: str, missing: str) -> str:
    mean = graph.constant(column.mean, np.float32)
    known = graph.add("Where", missing, mean, graph.cast(values, FLOAT))
    return _with_mark(graph, column, [known], missing)


def _add_category(graph: Graph, column: CategoryColumn, values: str, missing: str) -> str:
    if column.n_own:
        position = graph.add(
            "LabelEncoder",
            values,
            domain=TREES,
            keys_strings=[text for text, _ in column.values[: column.n_own]],
            values_int64s=list(range(column.n_own)),
            default_int64=column.n_own,
        )
    else:
        position = graph.add("Expand", graph.constant(0, np.int64), graph.add("Shape", values))
    without = column.width - 1 if column.missing else column.n_own
    found = graph.add("Where", missing, graph.constant(without, np.int64), position)
    return _add_position(graph, column, found)


def _add_position(graph: Graph, column: Any, position: str, missing: str = "") -> str:
    depth = graph.constant(column.width, np.int64)
    return graph.add("OneHot", position, depth, graph.constant([0, 1], np.float32))


def _add_time(graph: Graph, column: DateColumn, instants: str, missing: str) -> str:
    parts = add_parts(graph, instants, column)
    known = [
        _limited(graph, graph.add("Where", missing, graph.constant(mean, np.float64), part))
        for part, mean in zip(parts, column.means, strict=True)
    ]
    return _with_mark(graph, column, known, missing)


def _add_vector(graph: Graph, column: Any, values: str, missing: str) -> str:
    return values


_BUILDERS: dict[Form, Callable[..., str]] = {
    Form.BOOLEAN: _add_boolean,
    Form.TEXT: _add_category,
    Form.POSITION: _add_position,
    Form.TIME: _add_time,
    Form.VECTOR: _add_vector,
}
