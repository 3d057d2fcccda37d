"""Random tables of all Arrow types, for hypothesis, and encoders that learned from them."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from hypothesis import strategies as st

from devnet.tables.encoder import TableEncoder, TableSummary

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
    (pa.float16(), st.floats(width=16).map(np.float16)),  # Arrow 20 and older takes no others
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
