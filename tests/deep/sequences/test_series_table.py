"""Tables of times, channels and labels as series."""

import datetime

import numpy as np
import pytest

from devnet.core.sentence import UserError
from devnet.deep.sequences.series_table import read_series

pa = pytest.importorskip("pyarrow")


def table(**columns):
    noon = datetime.datetime(2026, 1, 1, 12)
    usual = {
        "time": [noon + datetime.timedelta(seconds=i) for i in range(6)],
        "load": [1.0, 2.0, None, 4.0, 5.0, 6.0],
        "heat": [1, 2, 3, 4, 5, 6],
        "fault": [0, 1, 1, 0, None, 1],
    }
    return pa.table({**usual, **columns})


def test_a_table_is_a_series_with_intervals():
    found = read_series(table(), time="time", label="fault")
    assert found.channels == ("load", "heat")
    np.testing.assert_array_equal(found.series[:, 0], [1, 2, np.nan, 4, 5, 6])
    assert found.intervals == [(1, 3), (5, 6)]
    assert found.gaps == []
    assert read_series(table(), time="time", channels=["heat"]).intervals == []


def test_gaps_are_told():
    found = read_series(table(time=[0, 1, 2, 3, 50, 51]), time="time", channels=["heat"])
    assert found.gaps == [4]


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        ({"time": [0, 1, 3, 2, 4, 5]}, {}, "time 2 of row 3 comes before that of the row before"),
        ({"time": [0, 1, 1, 2, 4, 5]}, {}, "time 1 of row 2 is the same as that of the row before"),
        ({"time": [0, 1, None, 2, 4, 5]}, {}, "the time 'time' is missing in row 2"),
        ({"time": list("abcdef")}, {}, "which are no times; name a column"),
        ({"heat": list("abcdef")}, {}, "channel 'heat' holds string, which are no numbers"),
        ({"fault": list("abcdef")}, {"label": "fault"}, "label 'fault' holds string"),
        ({}, {"label": "falt"}, "the table has no column 'falt'; its columns are time, load"),
        ({}, {"channels": ["x"]}, "no column 'x'.*name another column with channel"),
        ({"x\n": [0] * 6}, {"channels": ["y\n"]}, r"no column 'y\\\\n'"),
    ],
)
def test_tables_that_are_no_series(columns, settings, message):
    with pytest.raises(UserError, match=message):
        read_series(table(**columns), **{"time": "time", "channels": ["heat"], **settings})


def test_an_empty_table_is_refused():
    with pytest.raises(UserError, match="no rows or no channels"):
        read_series(pa.table({"time": pa.array([], pa.int64()), "x": []}), time="time")
