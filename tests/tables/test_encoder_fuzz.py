"""Whatever an Arrow table holds becomes a finite matrix, or a clear error."""

import datetime
import decimal
import json

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devnet.core.model_file import ModelFileError
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.table_error import TableError

PAIR = pa.struct([("index", pa.int32()), ("value", pa.float32())])
DAYS = st.dates(datetime.date(1, 1, 2), datetime.date(9999, 12, 30))
MOMENTS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
TIMES = st.times()
TEXTS = st.one_of(st.sampled_from(["a", "b", "", "c'd"]), st.text(max_size=130))
PAIRS = st.lists(
    st.fixed_dictionaries(
        {"index": st.integers(0, 40), "value": st.none() | st.floats(width=32)},
    ),
    max_size=4,
)


def integers(bits, is_signed=True):
    low = -(2 ** (bits - 1)) if is_signed else 0
    high = 2 ** (bits - 1) - 1 if is_signed else 2**bits - 1
    return st.one_of(st.integers(0, 3), st.integers(low, high))


def decimals(digits, places):
    most = decimal.Decimal(10) ** (digits - places) - 1
    return st.decimals(-most, most, places=places, allow_nan=False, allow_infinity=False)


COLUMNS = [
    (pa.int8(), integers(8)),
    (pa.int64(), integers(64)),
    (pa.uint64(), integers(64, is_signed=False)),
    (pa.float16(), st.floats(width=16)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.decimal128(20, 3), decimals(20, 3)),
    (pa.decimal256(70, 0), decimals(30, 0)),
    (pa.duration("ns"), st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999))),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.string_view(), TEXTS),
    (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    (pa.dictionary(pa.int32(), pa.int64()), integers(64)),
    (pa.run_end_encoded(pa.int32(), pa.string()), TEXTS),
    (pa.dictionary(pa.int32(), pa.float64()), st.floats()),
    (pa.date32(), DAYS),
    (pa.date64(), DAYS),
    (pa.timestamp("s"), MOMENTS),
    (pa.timestamp("us", "Europe/Berlin"), MOMENTS),
    (pa.timestamp("ms", "Nowhere/Town"), MOMENTS),
    (pa.time32("s"), TIMES),
    (pa.time64("ns"), TIMES),
    (pa.null(), st.none()),
    (pa.binary(), st.binary(max_size=3)),
    (pa.list_(pa.int8()), st.lists(integers(8), max_size=2)),
    (pa.struct([("a", pa.int8())]), st.fixed_dictionaries({"a": integers(8)})),
    (pa.list_(PAIR), PAIRS),
    (pa.large_list(pa.struct([("index", pa.int64()), ("value", pa.float64())])), PAIRS),
]
NAMES = st.one_of(st.sampled_from(["id", "", "a b", "x[3]", "'\n\"", "ß"]), st.text(max_size=5))


@st.composite
def tables(draw, n_tables=2):
    """Tables of one schema, and which of its columns are to be categories."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    kinds = [draw(st.sampled_from(COLUMNS)) for _ in names]
    schema = pa.schema([(name, kind) for name, (kind, _) in zip(names, kinds, strict=True)])
    made = []
    for _ in range(n_tables):
        n = draw(st.integers(0, 8))
        columns = []
        for kind, values in kinds:
            one = values if draw(st.booleans()) else st.none() | values
            columns.append(pa.array(draw(st.lists(one, min_size=n, max_size=n)), kind))
        repeats = draw(st.sampled_from([1, 1, 13]))
        made.append(pa.concat_tables([pa.table(columns, schema=schema)] * repeats))
    return made, draw(st.sets(st.sampled_from(names)))


def learned(table, **options):
    summary = TableSummary(table.schema, **options)
    for batch in table.to_batches(max_chunksize=5):
        summary.add(batch)
    return TableEncoder.learn(summary, table)


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


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
        matrix = encoder.encode(rows)
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
