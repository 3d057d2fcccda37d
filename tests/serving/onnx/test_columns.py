"""The graph's matrix is the encoder's, bit for bit, whatever the table."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from support.graphs import session
from support.random_tables import dense, learned, tables

from devnet.serving.onnx.columns import add_matrix
from devnet.serving.onnx.export_error import ExportError
from devnet.serving.onnx.graph import FLOAT, Graph
from devnet.serving.onnx.inputs import plan_inputs
from devnet.serving.onnx.prepared import input_arrays
from devnet.tables.columns.category import CategoryColumn
from devnet.tables.columns.date import PARTS, DateColumn
from devnet.tables.columns.number import NumberColumn
from devnet.tables.columns.vector import VectorColumn
from devnet.tables.encoder import TableEncoder
from devnet.tables.readings.table_reader import Tally
from devnet.tables.table_error import TableError


def matrix_of(encoder, table):
    """The matrix as onnxruntime computes it from the raw columns."""
    graph = Graph()
    inputs = plan_inputs(encoder, graph)
    matrix = add_matrix(graph, inputs)
    flat = graph.add("Reshape", matrix, graph.constant([-1], np.int64))
    graph.output("matrix", flat, FLOAT)
    run = session(graph)
    parts = []
    for batch in table.to_batches():
        read = encoder.reader.read(batch.select(encoder.read_columns()), Tally())
        found = run.run(None, input_arrays(inputs, read))[0]
        parts.append(found.reshape(len(batch), encoder.n_columns))
    return np.concatenate([np.empty((0, encoder.n_columns)), *parts])


def check(encoder, table):
    np.testing.assert_array_equal(matrix_of(encoder, table), dense(encoder.encode(table)))


@settings(suppress_health_check=list(HealthCheck), max_examples=80)
@given(tables())
def test_any_table_has_the_same_matrix(given_tables):
    (table, other), categorical = given_tables
    try:
        encoder = learned(table, categorical=categorical)
    except TableError:
        assume(False)
    assume(not encoder.has_text)
    if any(isinstance(one, VectorColumn) for one in encoder.columns):
        with pytest.raises(ExportError, match="for which ONNX has no operator"):
            plan_inputs(encoder, Graph())
        return
    check(encoder, table.combine_chunks())
    check(encoder, other.combine_chunks())


def alone(column):
    return TableEncoder([column], {}, label=None, is_sparse=False)


def test_the_calendar_is_right_on_every_day_of_two_centuries_and_at_its_ends():
    column = DateColumn("day", 0.1, PARTS, (0.1, 0.2, 0.3, 0.4, 0.5), -10.0, 40.0, "date", "")
    days = np.arange(-40_000, 40_000)
    far = np.array([-719_162, -719_161, 2_932_896, 2_932_895, -141_428, 11_017])
    moments = np.append(days, far) * 86_400_000_000
    moments += np.random.default_rng(0).integers(0, 86_400_000_000, len(moments))
    values = pa.array(moments, pa.timestamp("us"), mask=np.arange(len(moments)) % 17 == 0)
    check(alone(column), pa.table({"day": values}))


@pytest.mark.parametrize("moment", [datetime.time(0, 0), datetime.time(23, 59, 59, 999_999), None])
def test_times_of_day_are_microseconds_since_midnight(moment):
    column = DateColumn("t", 0.0, ("hour",), (0.5,), 0.0, 0.0, "time", "")
    check(alone(column), pa.table({"t": pa.array([moment], pa.time64("us"))}))


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 1.0), (-1e308, 1.7e308), (3.0, 3.0), (1e-310, 2e-310), (-5.0, 1e9), (0, 1 + 1e-9)],
)
def test_numbers_are_scaled_alike_at_any_size(low, high):
    quantiles = (low, low, low, high, high, high)
    column = NumberColumn("n", 0.5, low, high, low / 2 + high / 2, quantiles)
    values = [low, high, 0.0, -1.5e308, 1.7e308, float("inf"), float("nan"), None, 7.25, 5e-324]
    check(alone(column), pa.table({"n": pa.array(values, pa.float64())}))


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("n_buckets", [1, 7])
@pytest.mark.parametrize("n_own", [0, 2])
def test_categories_known_unseen_and_missing(missing, n_buckets, n_own):
    values = (("a", 5), ("é" * 100, 4), ("rare", 1))
    column = CategoryColumn("c", missing, values, n_own, n_buckets, 3, 10, "text", "")
    texts = ["a", "é" * 100, "é" * 130, "rare", "new", "", " a", None, "a\0", "A"]
    check(alone(column), pa.table({"c": texts}))


def test_an_input_says_what_to_prepare():
    moments = pa.array([0, 10**15], pa.timestamp("us", "Asia/Kolkata"))
    table = pa.table({"": [1.0, 2.0], "is_alert": [True, False], "when": moments})
    inputs = plan_inputs(learned(table), Graph(["is_alert"]))
    said = [one.to_json() for one in inputs]
    assert [one["column"] for one in said] == ["", "is_alert", "when"]
    assert [one["input"] for one in said] == ["column", "is_alert_2", "when"]
    assert [one["missing"] for one in said] == ["NaN", "is_alert_2.missing", "when.missing"]
    assert [one["prepared"] for one in said] == ["", "", "on the clock of Asia/Kolkata"]
    assert said[2]["form"] == "microseconds since 1970"


def test_a_single_mark_holds_for_all_rows():
    table = pa.table({"shop": ["a", "b", "a", "b"]})
    encoder = learned(table)
    graph = Graph()
    inputs = plan_inputs(encoder, graph)
    matrix = add_matrix(graph, inputs)
    flat = graph.add("Reshape", matrix, graph.constant([-1], np.int64))
    graph.output("matrix", flat, FLOAT)
    arrays = input_arrays(inputs, table.to_batches()[0])
    alike = session(graph).run(None, {**arrays, "shop.missing": np.array([False])})[0]
    np.testing.assert_array_equal(alike, session(graph).run(None, arrays)[0])


def test_free_text_is_refused():
    words = ["refund my order", "where is the parcel", "order of the lamp", "my parcel is lost"]
    texts = [f"{words[i % 4]} number {i} {words[i % 3]} again {i * 7}" for i in range(200)]
    table = pa.table({"message": texts, "n": list(range(0, 400, 2))})
    encoder = learned(table)
    assert encoder.has_text
    with pytest.raises(ExportError, match=r"'message' is free text.*ignore=\['message'\]"):
        plan_inputs(encoder, Graph())
