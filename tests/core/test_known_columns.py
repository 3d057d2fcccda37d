"""Columns are found among known ones, in any width."""

import numpy as np
import pytest

from devnet.core import known_columns
from devnet.core.known_columns import KnownColumns


@pytest.mark.parametrize("known", [[], [0], [3, 7, 99], list(range(100))])
def test_a_table_and_bisection_find_the_same(known, monkeypatch):
    columns = np.random.default_rng(0).integers(0, 100, 300).astype(np.int32)
    by_table = KnownColumns(np.array(known, dtype=np.int64), 100).positions(columns)
    monkeypatch.setattr(known_columns, "TABLE_COLUMNS", 0)
    by_bisection = KnownColumns(np.array(known, dtype=np.int64), 100).positions(columns)
    expected = [known.index(c) if c in known else -1 for c in columns.tolist()]
    assert by_table.tolist() == by_bisection.tolist() == expected
    assert by_table.dtype == by_bisection.dtype == np.int32


def test_a_width_takes_no_memory():
    known = KnownColumns(np.array([5, 10**13 - 1]), 10**13)
    assert known.positions(np.array([10**13 - 1, 0, 10**13 - 2])).tolist() == [1, -1, -1]
