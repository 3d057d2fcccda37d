"""Columns that are nearly numbers, dates or times: what is read, and what stays text."""

from datetime import datetime, time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet.tables import open_table
from devnet.tables.readings.reading import Conventions
from devnet.tables.readings.table_reader import TableReader
from devnet.tables.training_rows import read_training_rows

N = 1000


@pytest.fixture(params=["csv", "parquet", "frame"])
def training(request, tmp_path):
    """Reads the rows of a frame from a file of each form, or from memory."""

    def read(**columns):
        frame = pd.DataFrame({**columns, "fraud": np.arange(N) % 50 == 0})
        table = frame
        if request.param == "csv":
            table = tmp_path / "t.csv"
            frame.to_csv(table, index=False)
        if request.param == "parquet":
            table = tmp_path / "t.parquet"
            pq.write_table(pa.Table.from_pandas(frame), table)
        return read_training_rows(open_table(table), "fraud", generator=np.random.default_rng(0))

    return read


def values(rows, column):
    both = pa.concat_tables([rows.unlabelled.rows, rows.labelled.rows])
    return both[column].to_pylist()


def notes(rows):
    return [str(note) for note in rows.summary.reader.notes()]


def test_rain_of_which_6_percent_is_t_is_read_as_numbers(training):
    rain = [f"{i % 126 / 100:.2f}" if i % 16 else "T" for i in range(N)]
    rows = training(precip=rain)
    assert rows.summary.columns["precip"].n_missing == rain.count("T") == 63
    assert notes(rows) == [
        "precip: 63 values, such as 'T', cannot be read (text read as numbers) and count as missing"
    ]


def test_dates_with_two_words_among_them_are_dates(training):
    days = pd.date_range("2020-01-01", periods=N).strftime("%d/%m/%Y").tolist()
    days[::10], days[1::20] = ["never"] * 100, ["pending"] * 50
    assert training(paid=days).summary.columns["paid"].n_missing == 150


def test_over_808_is_read_as_808(training):
    rates = [f">{800 + i}" if i % 8 == 0 else f"{i / 4}" for i in range(N)]
    rows = training(rate=rates)
    assert rows.summary.columns["rate"].n_missing == 0
    assert 808 in values(rows, "rate")
    assert rows.summary.reader.readings["rate"].in_words() == "text read as numbers, >800 as 800"


def test_numbers_among_many_words_stay_text_and_the_note_says_why(training):
    rates = [f"level {i}" if i % 8 == 0 else f"{i / 4}" for i in range(N)]
    rows = training(rate=rates)
    assert not rows.summary.reader.readings
    assert notes(rows) == [
        "rate: 12% of its values are no numbers, such as 'level 0'; kept as text"
    ]


def test_kilograms_and_pounds_in_one_column_stay_text_and_the_note_names_both(training):
    rows = training(weight=[f"{i / 4} {'kg' if i % 3 else 'lb'}" for i in range(N)])
    assert not rows.summary.reader.readings
    assert notes(rows) == ["weight: its numbers are in kg and lb; kept as text"]


def test_addresses_are_no_numbers_with_units(training):
    rows = training(street=[f"{i} {('Main', 'High', 'Mill', 'Lake')[i % 4]} St" for i in range(N)])
    assert not rows.summary.reader.readings
    assert not notes(rows)


@pytest.mark.parametrize("form", ["%H:%M", "%I:%M %p", "%H:%M:%S"])
def test_14_30_and_02_53_am_are_times_of_day(training, form):
    clock = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N) * 7 % 1440, "min")
    rows = training(at=clock.strftime(form))
    assert sorted(values(rows, "at")) == sorted(clock.time)
    assert rows.summary.schema.field("at").type in (pa.time32("s"), pa.time64("us"))


def test_milliseconds_since_1970_as_text_are_dates(training):
    rows = training(created_at=[str(1_600_000_000_000 + 10**7 * i) for i in range(N)])
    assert rows.summary.schema.field("created_at").type == pa.timestamp("us")


@pytest.mark.parametrize("name", ["sold_on", "batch"])
@pytest.mark.parametrize("kind", [str, int])
def test_20200624_is_a_date(training, name, kind):
    days = pd.date_range("2019-01-01", periods=N)
    rows = training(**{name: [kind(day) for day in days.strftime("%Y%m%d")]})
    assert sorted(values(rows, name)) == days.to_pydatetime().tolist()


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("batch", [20_200_101 + i % 30 for i in range(N)]),
        ("day_code", [20_200_101 + i % 70 for i in range(N)]),
        ("order_id", [20_200_101 + i % 2 for i in range(N)]),
    ],
)
def test_other_numbers_of_eight_digits_are_no_dates(name, numbers):
    batch = pa.record_batch({name: numbers})
    assert not TableReader.learn(batch, Conventions()).readings


def test_open_commas_of_several_columns_are_one_note():
    batch = pa.record_batch({"a": ["1,234"], "b": ["$2,345"], "c": ["3,456 kg"]})
    reader = TableReader.learn(batch, Conventions(), may_be_codes=False)
    assert [str(note) for note in reader.notes()] == [
        "a, b and c: '1,234' is read as 1,234, though no value of the columns settles it; if it "
        "means 1.234, say so with decimal_comma=True."
    ]


@pytest.mark.parametrize("other", [["$5.50"], [1.5]])
def test_a_decimal_point_elsewhere_in_the_table_settles_1_234(other):
    batch = pa.record_batch({"a": ["1,234"], "b": other})
    reader = TableReader.learn(batch, Conventions(), may_be_codes=False)
    assert not reader.notes()
    assert reader.column("a", batch["a"]).to_pylist() == [1234]


def test_whole_numbers_elsewhere_settle_nothing():
    batch = pa.record_batch({"a": ["1,234"], "b": ["5 kg"], "c": [7.0]})
    assert len(TableReader.learn(batch, Conventions(), may_be_codes=False).notes()) == 1


def test_all_readings_and_texts_kept_as_written_round_trip():
    batch = pa.record_batch(
        {
            "at": ["02:53 AM"] * 20,
            "sold_on": ["20200624"] * 20,
            "rate": [*(f"1.{i}" for i in range(18)), "low", "high"],
            "size": [*(f"1.{i}k" for i in range(19)), ">5"],
        }
    )
    reader = TableReader.learn(batch, Conventions())
    assert reader.readings.keys() == {"at", "sold_on", "size"}
    again = TableReader.from_header(reader.to_header())
    assert again.readings == reader.readings
    assert again.notes() == reader.notes()
    assert reader.column("at", batch["at"])[0].as_py() == time(2, 53)
    assert reader.column("sold_on", batch["sold_on"])[0].as_py() == datetime(2020, 6, 24)
    assert reader.column("size", batch["size"]).to_pylist()[-2:] == [1180, 5]
