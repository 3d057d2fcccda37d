"""Whatever an Arrow table holds becomes a finite matrix, or a clear error."""

import json

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.random_tables import PAIR, dense, learned, tables

from devnet.core.model_file import ModelFileError
from devnet.tables.columns.vector import VectorColumn
from devnet.tables.encoder import TableEncoder
from devnet.tables.table_error import TableError


def has_vectors_of_another_length(encoder, table):
    """Whether a list holds another number of numbers than those that were learned from."""
    return any(
        len(vector) != column.size
        for column in encoder.columns
        if isinstance(column, VectorColumn)
        for vector in filter(None, table.column(column.name).to_pylist())
    )


@settings(suppress_health_check=list(HealthCheck), max_examples=80)
@given(tables())
def test_any_table_becomes_a_finite_matrix_or_a_sentence(given_tables):
    (table, other), categorical = given_tables
    try:
        encoder = learned(table, categorical=categorical)
    except TableError as error:
        assert str(error)
        return
    header = json.loads(json.dumps(encoder.to_header(), allow_nan=False))
    again = TableEncoder.from_header(header)
    assert again.to_header() == header == encoder.to_header()
    assert again.columns == encoder.columns
    assert set(encoder.read_columns()) | set(encoder.left_out) == set(table.column_names)
    assert len(encoder.describe()) == len(encoder.columns)
    for rows in (table, other):
        try:
            matrix = encoder.encode(rows)
        except TableError as error:
            assert "give vectors made in the same way" in str(error)
            assert rows is other
            assert has_vectors_of_another_length(encoder, rows)
            return
        assert not has_vectors_of_another_length(encoder, rows)
        assert sp.issparse(matrix) == encoder.is_sparse
        assert matrix.dtype == np.float32
        assert matrix.shape == (rows.num_rows, encoder.n_columns)
        matrix = dense(matrix)
        assert np.isfinite(matrix).all()
        again.is_sparse = not encoder.is_sparse
        np.testing.assert_array_equal(dense(again.encode(rows)), matrix)
        for i in range(min(rows.num_rows, 4)):
            one = rows.slice(i, 1)
            np.testing.assert_array_equal(dense(encoder.encode(one))[0], matrix[i])
        for row in rows.select(encoder.read_columns()).slice(0, 2).to_pylist():
            assert all(encoder.phrase(row, name) for name in encoder.names)
    assert encoder.check(other.schema, "other") == []


def every_part(value, path=()):
    """Paths to all parts of a JSON value."""
    yield path
    if isinstance(value, dict):
        for name, part in value.items():
            yield from every_part(part, (*path, name))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from every_part(part, (*path, i))


MANY_KINDS = pa.table(
    {
        "number": [1.5, None, 3.0, 2.0],
        "boolean": [True, None, False, True],
        "category": ["a", "a", "b", None],
        "date": pa.array([0, 10**9, None, 2 * 10**9], pa.timestamp("s", "UTC")),
        "vector": pa.array([[{"index": 3, "value": 1.0}], [], None, []], pa.list_(PAIR)),
        "none": pa.nulls(4),
    }
)
EDITS = st.sampled_from(
    [None, -1, 0, 2, 10**400, 0.5, True, "x", "\ud800", [], [1], {}, {"a": 1}, "date", "number"]
)


@settings(max_examples=100)
@given(edit=EDITS, data=st.data())
def test_an_edited_header_is_refused_or_still_encodes(edit, data):
    header = json.loads(json.dumps(learned(MANY_KINDS).to_header()))
    path = data.draw(st.sampled_from(list(every_part(header))))
    if not path:
        header = edit
    else:
        part = header
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = edit
    try:
        encoder = TableEncoder.from_header(header)
    except ModelFileError as error:
        assert "edited" in str(error)
        return
    try:
        assert np.isfinite(dense(encoder.encode(MANY_KINDS))).all()
        json.dumps(encoder.to_header(), allow_nan=False)
        encoder.describe()
    except TableError as error:
        assert "column" in str(error)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Asia/Kolkata"])
def test_the_ends_of_time_are_instants_too(unit, zone):
    ends = pa.array([-(2**63), 2**63 - 1, 0, None], pa.timestamp(unit, zone))
    encoder = learned(pa.table({"time": ends}))
    assert np.isfinite(dense(encoder.encode(pa.table({"time": ends})))).all()
    assert encoder.phrase({"time": ends[0]}, "time").startswith("time ")
