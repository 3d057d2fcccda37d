"""Rows are equal if all their values are, of whatever type; units close over what they share."""

import numpy as np
import pyarrow as pa
import pytest

from devnet.experiments.units import equal_rows, n_repeated, together, value_codes


def partition(codes):
    """Which rows are together, whatever the numbers are."""
    return {frozenset(np.flatnonzero(codes == code).tolist()) for code in codes}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5, None, 1.5, 2.0, None]),
        pa.array(["a", None, "a", "b", None]),
        pa.array(["a", None, "a", "b", None]).dictionary_encode(),
        pa.array([[1, 2], None, [1, 2], [2, 1], None]),
        pa.array([{"x": 1, "y": "a"}, None, {"x": 1, "y": "a"}, {"x": 1, "y": None}, None]),
        pa.array(
            [[{"index": 3, "value": 0.5}], [], [{"index": 3, "value": 0.5}],
             [{"index": 4, "value": 0.5}], []]
        ),
        pa.array([True, None, True, False, None]),
        pa.array([[1, 2], None, [1, 2], [2, 1], None], pa.list_(pa.int8(), 2)),
    ],
)  # fmt: skip
def test_equal_values_have_equal_codes(values):
    assert partition(value_codes(values)) == {
        frozenset({0, 2}), frozenset({1, 4}), frozenset({3}),
    }  # fmt: skip


def test_rows_are_equal_if_all_columns_are(seed):
    generator = np.random.default_rng(seed)
    columns = {name: generator.integers(3, size=60).tolist() for name in "abc"}
    codes = equal_rows(pa.table({**columns, "empty": pa.nulls(60)}))
    rows = [*zip(*columns.values(), strict=True)]
    for i in range(60):
        for j in range(60):
            assert (codes[i] == codes[j]) == (rows[i] == rows[j])
    assert n_repeated(codes) == sum(rows.count(row) > 1 for row in rows)


def test_rows_are_together_through_others():
    customer = np.array([0, 0, 1, 2, 3])
    equal = np.array([5, 6, 6, 7, 8])  # a row of customer 0 equals one of customer 1
    assert partition(together(equal, customer)) == {
        frozenset({0, 1, 2}), frozenset({3}), frozenset({4}),
    }  # fmt: skip
