"""A row's key follows from its values, whatever the file looks like."""

from datetime import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.review.row_keys import RowKeys
from devnet.tables import TableError


def keys_of(table, **options):
    keys = RowKeys.read(table, **options)
    return keys.of(range(keys.n_rows))


def small_table(n_rows, seed):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2026-01-01") + rng.integers(0, 300, n_rows)
    return pa.table(
        {
            "id": [f"P/{i:03d}" for i in range(n_rows)],
            "amount": rng.lognormal(size=n_rows),
            "count": rng.integers(-5, 5, n_rows),
            "large": rng.integers(2**60, 2**62, n_rows),
            "shop": rng.choice(["grocer", "casino, east", 'a "quoted" one', "Zoë"], n_rows),
            "day": days.astype("datetime64[us]"),
            "known": rng.random(n_rows) < 0.5,
            "gap": pa.array(rng.normal(size=n_rows), mask=rng.random(n_rows) < 0.3),
        }
    )


@pytest.mark.parametrize("id_column", [None, "id"])
def test_keys_are_the_same_in_every_format_and_order_of_columns(tmp_path, seed, id_column):
    table = small_table(500, seed)
    pq.write_table(table, tmp_path / "t.parquet")
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    expected = keys_of(table, id_column=id_column)
    assert len({*expected}) == 500
    shuffled = table.select(table.column_names[::-1])
    as_text = pa.table({n: [str(v) for v in table[n].to_pylist()] for n in ("count", "large")})
    texts = table.drop_columns(as_text.column_names)
    for name in as_text.column_names:
        texts = texts.append_column(name, as_text[name])
    halves = [table["shop"].chunk(0).dictionary_encode()]
    coded = table.set_column(4, "shop", pa.chunked_array(halves))
    for other in (str(tmp_path / "t.parquet"), str(tmp_path / "t.csv"), shuffled, texts, coded):
        assert keys_of(other, id_column=id_column) == expected


def test_the_label_is_not_among_the_values(seed):
    table = small_table(50, seed)
    labelled = table.append_column("fraud", pa.array([None, 1] * 25))
    keys = RowKeys.read(labelled, label="fraud")
    assert keys.of(range(50)) == keys_of(table)
    assert keys.table[1:] == (tuple(table.column_names), None, "fraud")
    assert keys_of(labelled) != keys_of(table)


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.integers(-(2**63), 2**63 - 1),
            st.integers(2**53 - 2, 2**53 + 2),
        )
    )
)
def test_integers_are_told_apart_to_the_last_digit(values):
    keys = keys_of(pa.table({"x": pa.array(values, pa.int64())}))
    assert len({*keys}) == len(keys)
    assert len({key.partition("-")[0] for key in keys}) == len({*values})


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_are_told_apart_by_value_alone(values):
    keys = keys_of(pa.table({"x": pa.array(values, pa.float64())}))
    assert len({key.partition("-")[0] for key in keys}) == len({*values})


@given(st.lists(st.text()))
def test_texts_are_told_apart_unless_they_are_the_same_value(values):
    keys = keys_of(pa.table({"x": pa.array(values, pa.string()), "y": [0] * len(values)}))
    fingerprints = [key.partition("-")[0] for key in keys]
    for value, other in zip(values, fingerprints, strict=True):
        same = [v for v, f in zip(values, fingerprints, strict=True) if f == other]
        assert {*same} == {value} or _number(value) is not None


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [1.0, 2.0]),
        ([1, 2], ["1", "2"]),
        (["1", None], ["1", ""]),
        ([0.0], [-0.0]),
        ([True, False], [1, 0]),
        (["TRUE", "False"], [True, False]),
        ([1.5, float("nan")], [1.5, None]),
        ([Decimal("2.50")], [2.5]),
        ([datetime(2026, 11, 17)], ["2026-11-17"]),
        ([datetime(2026, 11, 17, 8, 5)], ["2026-11-17 08:05:00"]),
        (["x", "2026-11-17T08:05:00"], ["x", "2026-11-17 08:05:00"]),
        (["1e3", "x"], ["1000", "x"]),
    ],
)
def test_equal_values_are_equal_however_they_are_written(one, other):
    assert keys_of({"x": one}) == keys_of({"x": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["a"], ["a "]),
        (["a"], ["A"]),
        (["2026-02-30"], ["2026-03-02"]),
        ([0.1], [np.float32(0.1)]),
        ([None], [0]),
        (["1" * 19], ["1" * 18 + "2"]),
    ],
)
def test_other_values_are_told_apart(one, other):
    assert keys_of({"x": one}) != keys_of({"x": other})


def test_columns_count_by_name():
    assert keys_of({"x": [1], "y": [2]}) != keys_of({"x": [2], "y": [1]})
    assert keys_of({"ab": [1]}) != keys_of({"a": [1]})


def test_equal_rows_are_told_apart_by_their_order():
    keys = RowKeys.read({"x": [7, 8, 7, 7]})
    first, other, second, third = keys.of(range(4))
    assert (second, third) == (f"{first}-2", f"{first}-3")
    assert keys.find([third, other, second, first]).tolist() == [3, 1, 2, 0]
    assert keys.find([f"{first}-4", f"{other}-2", "", "é", "0" * 32]).tolist() == [-1] * 5


def test_rows_are_found_by_their_keys(seed):
    table = small_table(2000, seed)
    for id_column in (None, "id"):
        keys = RowKeys.read(table, id_column=id_column)
        numbers = np.random.default_rng(seed).permutation(2000)
        np.testing.assert_array_equal(keys.find(keys.of(numbers)), numbers)
        reordered = RowKeys.read(table.take(pa.array(numbers)), id_column=id_column)
        np.testing.assert_array_equal(numbers[reordered.find(keys.of(range(2000)))], range(2000))


def test_ids_of_numbers_and_of_text_are_the_same(tmp_path):
    (tmp_path / "t.csv").write_text("id,x\n7.0,1\n8.0,2\n")
    assert keys_of(str(tmp_path / "t.csv"), id_column="id") == ["7", "8"]
    assert keys_of({"id": [7.0, 8.0]}, id_column="id") == ["7", "8"]
    (tmp_path / "t.csv").write_text("id,x\n007,1\n 8,2\n")
    assert keys_of(str(tmp_path / "t.csv"), id_column="id") == ["007", "8"]


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (["a", "b", "c", "b"], "has the id 'b' more than once in 'id', in the rows 1 and 3"),
        (["a", " ", None], "row 1 of the table, counted from 0, has no id"),
        (["a", "x" * 1001], "row 1 of the table has an id of 1,001 characters"),
        ([["a"], ["b"]], "has the id|holds values of the type"),
    ],
)
def test_ids_that_do_not_name_rows_are_refused(ids, says):
    with pytest.raises(TableError, match=says) as refused:
        keys_of({"id": ids if ids != [["a"], ["b"]] else pa.array([[1], [2]])}, id_column="id")
    assert "id_column" in str(refused.value)


def test_a_wrong_column_and_no_columns_are_refused():
    with pytest.raises(TableError, match="unknown column of the table: 'idd'|'idd'"):
        keys_of({"id": [1]}, id_column="idd")
    with pytest.raises(TableError, match="no column but the label 'y'"):
        keys_of({"y": [1]}, label="y")


def test_vectors_and_odd_types_have_keys(tmp_path):
    (tmp_path / "t.svm").write_text("1 1:0.5 7:2\n-1 1:0.5 7:2.5\n1 2:1\n")
    keys = RowKeys.read(str(tmp_path / "t.svm"))
    assert len({*keys.of(range(3))}) == 3
    odd = pa.table({"b": pa.array([b"a", b"b", None]), "n": pa.nulls(3)})
    assert len({key.partition("-")[0] for key in keys_of(odd)}) == 3


def test_an_empty_table_has_no_keys():
    keys = RowKeys.read(pa.table({"x": pa.array([], pa.int64())}))
    assert keys.n_rows == 0
    assert keys.find(["a"]).tolist() == [-1]


def test_a_late_text_does_not_change_the_keys_of_numbers(tmp_path):
    lines = [f"{number}" for number in range(300_000)]
    (tmp_path / "a.csv").write_text("x\n" + "\n".join(lines) + "\n")
    (tmp_path / "b.csv").write_text("x\n" + "\n".join([*lines, "late"]) + "\n")
    before, after = (RowKeys.read(str(tmp_path / f"{name}.csv")) for name in "ab")
    sample = range(0, 300_000, 999)
    assert after.of(sample) == before.of(sample)
