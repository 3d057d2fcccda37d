"""Tables of times, channels and labels as series."""

import datetime

import numpy as np
import pytest

from devnet.core.sentence import UserError
from devnet.deep.sequences.series_table import read_series, series_reader
from devnet.tables.readings.reading import Conventions

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


def days(*texts):
    return {"time": list(texts)}


@pytest.mark.parametrize(
    ("columns", "first", "last"),
    [
        (days(*(f"{28 + i}.02.2026 23:00" for i in (-3, -2, -1, 0)), "01.03.2026 00:00"), 25, 1),
        (days(*(f"2/{i}/26 11:30 PM" for i in (14, 15, 16, 27, 28))), 14, 28),
        (days(*(f"{i} Feb 2026" for i in (1, 2, 3, 4, 10))), 1, 10),
        (days(*(f"2026-02-{i}T10:00:00" for i in (10, 11, 12, 13, 14))), 10, 14),
    ],
)
def test_times_may_be_texts(columns, first, last):
    found = read_series(pa.table({**columns, "x": [1, 2, 3, 4, 5]}), time="time")
    day = found.times.astype("datetime64[D]").astype(datetime.date)
    assert (day[0].day, day[-1].day) == (first, last)
    assert (np.diff(found.times) > np.timedelta64(0)).all()


def test_channels_may_be_texts():
    written = ["1.234,5 kW", "n/a", "7,25 kW", "-1,0 kW"] + [f"{i},5 kW" for i in range(40)]
    found = read_series(pa.table({"t": range(44), "load": written}), time="t")
    np.testing.assert_array_equal(found.series[:4, 0], [1234.5, np.nan, 7.25, -1.0])
    assert found.reader.notes() == []  # n/a means that a value is missing


def test_what_cannot_be_read_counts_as_missing_and_is_told():
    written = [f"{i}.5" for i in range(99)] + ["stuck"]
    found = read_series(pa.table({"t": range(100), "load": written}), time="t")
    assert np.isnan(found.series[-1, 0])
    (note,) = found.reader.notes()
    assert note.startswith("load: 1 value, such as 'stuck', cannot be read")


def test_a_reading_that_was_learned_stands():
    written = [f"1,{i:03}" for i in range(100, 140)]
    learned = series_reader(pa.table({"load": written}), Conventions(decimal_comma=True))
    another = pa.table({"t": range(2), "load": ["2,000", "3,000"]})
    reader = series_reader(another, known=learned)
    assert read_series(another, time="t", reader=reader).series[:, 0].tolist() == [2, 3]


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


def test_a_time_that_cannot_be_read_is_named():
    times = [f"1.2.2026 {hour}:{minute:02}" for hour in range(10) for minute in range(0, 60, 10)]
    times[7] = "31.2.2026 1:10"
    with pytest.raises(UserError, match=r"cannot be read \('31.2.2026 1:10'\) in row 7"):
        read_series(pa.table({"time": times, "x": range(60)}), time="time")


def test_an_empty_table_is_refused():
    with pytest.raises(UserError, match="no rows or no channels"):
        read_series(pa.table({"time": pa.array([], pa.int64()), "x": []}), time="time")
