"""Single rows of a table by number, and their names."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet.tables.chosen_rows import choose_id_column, python_rows, row_ids, take_rows
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError

TABLE = pa.table({"id": [f"P{i}" for i in range(100)], "value": np.arange(100) * 1.5})


@pytest.fixture
def source(tmp_path):
    """A file that is read in several batches."""
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=30)
    return open_table(tmp_path / "t.parquet")


@pytest.mark.parametrize("numbers", [[0], [99], [31, 2, 95, 2], list(range(100)), []])
def test_rows_come_in_the_order_of_their_numbers(source, numbers):
    found = take_rows(source, numbers, ["value", "id"])
    assert (
        found.to_pydict()
        == TABLE.select(["value", "id"]).take(numbers or pa.array([], "int64")).to_pydict()
    )


@pytest.mark.parametrize("number", [-1, 100, 10**12])
def test_rows_that_there_are_not_get_a_sentence(source, number):
    with pytest.raises(TableError, match=f"there is no row {number:,}: .* from 0 to 99"):
        take_rows(source, [3, number], ["id"])
    with pytest.raises(TableError, match="the table has no rows"):
        take_rows(open_table(TABLE.slice(0, 0)), [0], ["id"])


def test_rows_are_called_by_their_id_or_their_number():
    rows = pa.table({"id": [7.0, None, 2.5], "name": ["a", "b", None]})
    number = np.array([4, 5, 6])
    assert row_ids(rows, "id", number) == ["7", "row 5", "2.5"]
    assert row_ids(rows, "name", number) == ["a", "b", "row 6"]
    assert row_ids(rows, None, number) == row_ids(rows, "other", number)
    assert row_ids(rows, None, number) == ["row 4", "row 5", "row 6"]


def test_rows_are_taken_from_batches_with_codes_of_their_own():
    parts = [
        pa.DictionaryArray.from_arrays(pa.array(np.arange(100), pa.int8()), pa.array(values))
        for values in ([f"a{i}" for i in range(100)], [None, *range(99)])
    ]
    table = pa.table({"c": pa.chunked_array([parts[0], parts[1].cast(parts[0].type)])})
    found = take_rows(open_table(table), [199, 100, 7], ["c"])
    assert found["c"].to_pylist() == ["98", None, "a7"]


def test_times_of_a_zone_that_nobody_knows_are_those_of_utc():
    times = pa.array([0, None, 2**62], pa.timestamp("s", "Nowhere/Town"))
    number = np.arange(3)
    assert row_ids(pa.table({"t": times[:2]}), "t", number[:2]) == [
        "1970-01-01 00:00:00+00:00",
        "row 1",
    ]
    for column in (times, times.dictionary_encode()):
        assert row_ids(pa.table({"t": column}), "t", number)[:2] == ["1970-01-01", "row 1"]


def test_rows_without_columns_are_rows_without_values():
    assert python_rows(TABLE.slice(0, 2).select([])) == [{}, {}]


def test_the_first_identifier_names_rows():
    reasons = {"a": Why.CONSTANT, "b": Why.UNIQUE, "c": Why.UNIQUE}
    left_out = {name: LeftOut(name, reason, "why") for name, reason in reasons.items()}
    assert choose_id_column(left_out) == "b"
    assert choose_id_column({"a": LeftOut("a", Why.IGNORED, "ignored")}) is None
