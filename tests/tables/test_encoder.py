"""Raw columns as a matrix: each kind of column by small tables with known answers."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import csv

from devnet.tables.columns.exact_sum import ExactSum
from devnet.tables.columns.kinds import encoding_from_header
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.table_error import TableError

PAIR = pa.struct([("index", pa.int32()), ("value", pa.float32())])
LAST = float(np.finfo(np.float64).max)


def as_table(table):
    return table if isinstance(table, pa.Table) else pa.table(table)


def learned(table, **options):
    table = as_table(table)
    summary = TableSummary(table.schema, **options)
    summary.add(table)
    return TableEncoder.learn(summary, table)


def encoded(table, other=None, **options):
    matrix = learned(table, **options).encode(as_table(table if other is None else other))
    return matrix.toarray() if sp.issparse(matrix) else matrix


def vectors(*rows):
    pairs = [row and [{"index": i, "value": v} for i, v in row] for row in rows]
    return pa.array(pairs, pa.list_(PAIR))


def test_numbers_go_from_zero_to_one_with_the_mean_for_missing_ones():
    table = {"amount": pa.array([10.0, None, 30.0, float("nan"), float("inf"), 11.0])}
    mean = (17 - 10) / 20
    expected = [[0, 0], [mean, 1], [1, 0], [mean, 1], [mean, 1], [0.05, 0]]
    np.testing.assert_allclose(encoded(table), expected, rtol=1e-6)


def test_a_number_missing_only_at_scoring_is_the_mean():
    other = {"amount": [None, 50.0, -1e300]}
    found = encoded({"amount": [0.0, 10.0, 20.0]}, other)
    np.testing.assert_allclose(found, [[0.5], [2.5], [-1e6]])
    np.testing.assert_allclose(
        encoded({"amount": [0.0, 1.0]}, {"amount": pa.nulls(2)}), [[0.5]] * 2
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([2**64 - 1, 0], pa.uint64()), [1, 0]),
        (pa.array([2**63 - 1, -(2**63)], pa.int64()), [1, 0]),
        (pa.array([-LAST, 0.0, LAST]), [0, 0.5, 1]),
        (pa.array([0.0, 5e-324]), [0, 1]),
        (pa.array([datetime.timedelta(0), datetime.timedelta(1), None]), [0, 1, 0.5]),
        (pa.array([1, 3, 2]).cast(pa.decimal128(30, 3)), [0, 1, 0.5]),
    ],
)
def test_numbers_of_any_type_and_size_are_scaled(values, expected):
    np.testing.assert_allclose(encoded({"x": values})[:, 0], expected)


def test_a_sum_is_exact_in_any_order(seed):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=999) * 10.0 ** generator.integers(-300, 300, 999)
    values = np.concatenate([values, -values, [7.0, 5e-324, -5e-324]])
    generator.shuffle(values)
    total = ExactSum()
    for part in np.array_split(values, 7):
        total.add(part)
    assert total.mean() == 7 / len(values)


def test_booleans_are_zero_and_one_with_the_mean_for_missing_ones():
    found = encoded({"online": [True, None, False, True, True]})
    np.testing.assert_array_equal(found, [[1, 0], [0.75, 1], [0, 0], [1, 0], [1, 0]])
    assert encoded({"online": [True, False]}, {"online": [None, True]}).tolist() == [[0.5], [1]]


def test_categories_are_columns_the_most_frequent_first_then_by_text():
    table = {"country": ["b", "c", "a", "b", "a", "rare"]}
    found = encoded(table, {"country": ["a", "b", "c", "rare", "new", None]})
    a, b, other = np.eye(3).tolist()
    assert found.tolist() == [a, b, other, other, other, other]


def test_missing_categories_have_their_column_if_there_were_any():
    found = encoded({"c": ["a", None, "a", None]}, {"c": [None, "a", "new"]})
    assert found.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_a_category_of_a_large_table_takes_ten_rows_and_one_in_a_thousand():
    values = ["often"] * 19_950 + ["twenty"] * 20 + ["nineteen"] * 19 + ["ten"] * 11
    (column,) = learned({"c": values}).columns
    assert column.n_own == 2
    assert [text for text, _ in column.values] == ["often", "twenty", "nineteen", "ten"]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, 1, 2]),
        pa.array([1.0, 2.0, 1.0, 2.0]),
        pa.array(np.array([1, 2, 1, 2], np.float16)),
        pa.array([1, 2, 1, 2]).cast(pa.decimal128(30, 2)),
        pa.array([1, 2, 1, 2]).dictionary_encode(),
    ],
)
def test_the_same_number_is_the_same_category_in_any_type(values):
    encoder = learned({"code": pa.array([2, 1, 1, 2, 1])}, categorical=["code"])
    matrix = encoder.encode(pa.table({"code": values}))
    assert matrix.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0]]
    assert encoder.csv_types() == {"code": pa.string()}


def test_the_most_frequent_of_many_values_have_their_columns_and_the_others_share_one():
    values = ["top"] * 100 + [f"value {i}" for i in range(300)] * 2
    encoder = learned({"merchant": values})
    (column,) = encoder.columns
    assert (column.n_own, column.n_buckets, column.n_values) == (30, 1, 301)
    matrix = encoder.encode(pa.table({"merchant": [*values, "never seen"]})).toarray()
    assert (matrix.sum(axis=1) == 1).all()
    assert matrix[:100, 0].all()
    assert not matrix[100:, 0].any()
    assert matrix[:, 30].sum() == 2 * (301 - 30) + 1
    assert column.detail().startswith("301 values: top 14%")


def test_a_state_of_fifty_one_gets_no_empty_columns():
    states = [f"state {i}" for i in range(51)]
    (column,) = learned({"state": states * 20}).columns
    assert column.width == 30 + 1
    assert len(column.values) == 50  # known by name, for reasons


def test_a_hash_is_the_same_for_all_time():
    (column,) = learned({"c": [f"value {i}" for i in range(60)] * 2}).columns
    header = {**column.to_header(), "n_own": 50, "n_buckets": 32}  # as version 0.1.0 wrote it
    encoder = TableEncoder([encoding_from_header(header)], {}, label=None, is_sparse=False)
    found = encoder.encode(pa.table({"c": ["devnet", "ß"]}))
    assert found.argmax(axis=1).tolist() == [50 + 0x308A277F % 32, 50 + 0xC1BE18A7 % 32]
    assert "32 buckets, 60 values" in encoder.columns[0].detail()


def test_more_values_than_are_counted_still_find_the_frequent_ones():
    values = ["often"] * 9000 + [f"value {i // 2}" for i in range(2 * 21_000)]
    (column,) = learned({"c": values}).columns
    assert column.n_values is None
    assert column.values[0] == ("often", 9000)
    assert column.n_own == 1


def test_dates_are_their_parts():
    monday = datetime.datetime(2024, 1, 1)
    found = encoded({"time": [monday, datetime.datetime(2024, 12, 29, 18), None]})
    expected = [[0, 0, 0, 0], [0.75, 1, 1, 0], [0.375, 0.5, 0.5, 1]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_day_of_the_month_counts_within_a_month_or_if_nothing_else_varies():
    within = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 31)]
    found = encoded({"day": within})
    np.testing.assert_allclose(found, [[0, 0], [2 / 6, 1]], rtol=1e-6)
    sundays = [datetime.date(2023, 1, 1), datetime.date(2024, 1, 7)]
    assert learned({"day": sundays}).columns[0].parts == ("day",)
    mondays = [datetime.date(2024, 1, 1), datetime.date(2024, 2, 12)]
    assert learned({"day": mondays}).columns[0].parts == ("month",)


def test_a_long_span_of_dates_has_years():
    days = [datetime.date(1970, 1, 1), datetime.date(1985, 1, 2), datetime.date(2000, 1, 3)]
    encoder = learned({"birth": days})
    assert encoder.columns[0].parts == ("weekday", "years")
    np.testing.assert_allclose(
        encoder.encode(pa.table({"birth": days}))[:, 1], [0, 0.5, 1], atol=1e-4
    )


def test_the_clock_is_that_of_the_zone():
    instants = np.array([0, 3600, 7200]) + 1_750_000_000
    utc = pa.array(instants, pa.timestamp("s", "UTC"))
    local = pa.array(instants, pa.timestamp("s", "Asia/Kolkata"))
    difference = encoded({"t": local})[:, 0] - encoded({"t": utc})[:, 0]
    np.testing.assert_allclose(difference % 1, 5.5 / 24, atol=1e-6)
    assert learned({"t": local}).csv_types() == {"t": pa.timestamp("us", "Asia/Kolkata")}


def test_times_of_day_are_hours():
    times = pa.array([datetime.time(6), datetime.time(18, 30), datetime.time(0)])
    np.testing.assert_allclose(encoded({"t": times}), [[0.25], [18.5 / 24], [0]])
    assert learned({"t": times}).phrase({"t": datetime.time(18, 30)}, "t") == "t 18:30"


def test_sparse_vectors_keep_their_values():
    table = {"f": vectors([(1, 2.0), (1, 0.5), (3, np.nan)], None, [(2, -1.0)])}
    encoder = learned(table)
    assert encoder.n_columns == 4
    assert list(encoder.names) == ["f[0]", "f[1]", "f[2]", "f[3]"]
    assert encoder.encode(as_table(table)).toarray().tolist() == [
        [0, 2.5, 0, 0],
        [0, 0, 0, 0],
        [0, 0, -1, 0],
    ]
    beyond = encoder.encode(as_table({"f": vectors([(9, 1.0), (0, 3.0)])}))
    assert beyond.toarray().tolist() == [[3, 0, 0, 0]]


def test_millions_of_columns_are_never_listed():
    table = as_table({"f": vectors([(1_300_000, 1.0)], [(5, 2.0)]), "x": [1.0, 2.0]})
    encoder = learned(table)
    assert encoder.is_sparse
    matrix = encoder.encode(table)
    assert matrix.shape == (2, 1_300_002)
    assert matrix.nnz == 3
    assert len(str(encoder.to_header())) < 1000
    assert encoder.names[1_300_000] == "f[1300000]"
    assert encoder.names[-1] == "x"


def test_negative_and_huge_indices_are_refused():
    with pytest.raises(TableError, match="negative index -2"):
        learned({"f": vectors([(-2, 1.0)])})
    with pytest.raises(TableError, match=r"index 2,000,000,000; at most"):
        learned({"f": vectors([(2_000_000_000, 1.0)])})


def test_columns_of_the_matrix_have_an_owner():
    table = as_table({"a": [1.0, None, 3.0], "c": ["x", "y", "x"], "b": [True, False, True]})
    encoder = learned(table)
    assert encoder.owner.tolist() == [0, 0, 1, 1, 2]


def test_the_smaller_of_dense_and_sparse_is_chosen():
    n = 200
    narrow = {"x": np.arange(n) % 7 + 0.5}
    assert not learned(narrow).is_sparse
    wide = narrow | {"c": [f"value {i % 40}" for i in range(n)]}
    assert learned(wide).is_sparse
    assert isinstance(learned(wide).encode(as_table(wide)), sp.csr_array)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_other_libraries_encode_as_arrow_does(library):
    table = pa.table({"x": [1.5, None, 2.5], "c": ["a", "b", "a"], "b": [True, False, True]})
    if library == "pandas":
        frame = table.to_pandas().astype({"c": "category"})
        other = pa.Table.from_pandas(frame)
        assert isinstance(frame, pd.DataFrame)
    else:
        other = pa.table(pl.from_arrow(table).with_columns(pl.col("c").cast(pl.Categorical)))
    np.testing.assert_array_equal(encoded(table, other), encoded(table))
    np.testing.assert_array_equal(encoded(other, table), encoded(table))


def test_a_csv_read_as_the_encoder_says_encodes_as_the_table_did():
    table = pa.table(
        {
            "amount": pa.array([1, None, 3, 2]),
            "code": pa.array([10, 20, 10, None]),
            "country": ["007", "7", "007", "7"],
            "online": [True, False, None, True],
            "time": pa.array([0, 86_399, 10**9, None], pa.timestamp("s")),
            "local": pa.array([0, 86_399, 10**9, None], pa.timestamp("s", "Europe/Berlin")),
            "day": pa.array([0, 9, 99, None], pa.date32()),
            "clock": pa.array([0, 9, 86_399, None], pa.time32("s")),
            "date_code": pa.array([3, 3, 9, 9], pa.date32()),
        }
    )
    encoder = learned(table, categorical=["code", "date_code"])
    written = pa.BufferOutputStream()
    utc = table.set_column(5, "local", table["local"].cast(pa.timestamp("s", "UTC")))
    csv.write_csv(utc, written)
    options = csv.ConvertOptions(column_types=encoder.csv_types(), strings_can_be_null=True)
    again = csv.read_csv(pa.BufferReader(written.getvalue()), convert_options=options)
    found, expected = encoder.encode(again), encoder.encode(table)
    np.testing.assert_array_equal(sp.csr_array(found).toarray(), sp.csr_array(expected).toarray())


def test_the_layout_says_which_columns_of_the_matrix_belong_together():
    table = pa.table({"amount": [1.0, 2.0, 3.0, 4.0], "shop": ["a", "b", "a", "b"]})
    summary = TableSummary(table.schema)
    summary.add(table)
    encoder = TableEncoder.learn(summary, table)
    assert encoder.layout.n_columns == encoder.n_columns
    assert encoder.layout.widths == tuple(column.width for column in encoder.columns)
    assert not any(encoder.layout.is_wide)


def test_dates_that_are_months_have_no_weekday():
    months = [datetime.datetime(2015 + i // 12 % 6, i % 12 + 1, 1) for i in range(200)]
    encoder = learned({"issued": months})
    assert encoder.columns[0].parts == ("month", "years")
