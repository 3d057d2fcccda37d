"""Readings of a table: learned from a sample, kept in a file, applied batch by batch."""

import json

import numpy as np
import pyarrow as pa
import pytest

from devnet.core.model_file import ModelFileError
from devnet.tables.readings.reading import Conventions
from devnet.tables.readings.table_reader import TableReader, Tally


def read(columns, **conventions):
    """The reader, the values after reading, and what could not be read."""
    batch = pa.record_batch(columns)
    reader = TableReader.learn(batch, Conventions(**conventions), may_be_codes=False)
    tally = Tally()
    return reader, reader.read(batch, tally).to_pydict(), tally.unread


def test_unknown_and_n_a_and_dashes_among_numbers_are_missing():
    texts = ["$5", "unknown", "n/a", "-", "?", "", None, "$7"]
    _, found, unread = read({"price": texts})
    assert found["price"] == [5] + [None] * 6 + [7]
    assert not unread


def test_unknown_among_words_stays_a_category_unless_it_is_named():
    _, found, _ = read({"colour": ["red", "unknown"]})
    assert found["colour"] == ["red", "unknown"]
    _, found, _ = read({"colour": ["red", " unknown "]}, missing=("unknown",))
    assert found["colour"] == ["red", None]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_rows_from_the_middle_of_a_table_are_read_like_others(kind):
    texts = pa.array(["$1", "far from here", *["$5", "unknown", "$7"] * 9], kind)
    columns = {"price": texts, "colour": texts}
    batch = pa.record_batch({name: column[2:] for name, column in columns.items()})
    reader = TableReader.learn(batch, Conventions(missing=("unknown",)), may_be_codes=False)
    found = reader.only(["price"]).read(batch, Tally())
    found.validate(full=True)
    assert found.to_pydict() == {"price": [5, None, 7] * 9, "colour": ["$5", None, "$7"] * 9}


def test_9999_is_a_number_unless_it_is_named():
    columns = {"age": [41, 9999], "weight": ["5 kg", "9999"], "height": [1.5, 9999.0]}
    assert read(columns)[1]["age"] == [41, 9999]
    _, found, _ = read(columns, missing=("9999",))
    assert found == {"age": [41, None], "weight": [5, None], "height": [1.5, None]}


def test_what_cannot_be_read_is_missing_and_counted():
    reader, found, unread = read({"price": ["$5", "$6", "$7"] * 20 + ["five", "six"]})
    assert found["price"][-3:] == [7, None, None]
    assert reader.notes_about(_tally(unread)) == [
        "price: 2 values, such as 'five', cannot be read (text read as US dollars) "
        "and count as missing"
    ]


def _tally(unread):
    tally = Tally()
    tally.unread = unread
    return tally


def test_a_column_with_many_other_texts_is_not_read():
    reader, _, _ = read({"price": ["$5"] * 40 + ["five"] * 5})
    assert not reader.readings


def test_seconds_and_milliseconds_since_1970_are_dates_if_named_so():
    seconds = pa.array([1_500_000_000, 1_600_000_000])
    milliseconds = pa.array([1.5e12, np.nan])
    columns = {
        "created_at": seconds,
        "eventTime": milliseconds,
        "unix_ts": seconds.cast(pa.string()),
        "n_clicks": seconds,
        "time": pa.array([5, 172_792]),
    }
    reader, found, unread = read(columns)
    assert set(reader.readings) == {"created_at", "eventTime", "unix_ts"}
    assert reader.readings["eventTime"].in_words() == "numbers read as milliseconds since 1970"
    assert found["created_at"][0].year == found["unix_ts"][0].year == 2017
    assert found["eventTime"][1] is None
    assert not unread


def test_open_columns_follow_the_others_of_the_table():
    reader, found, _ = read({"a": ["1,234"], "b": ["5,50 €"], "c": ["1/2/17"], "d": ["31/1/17"]})
    assert found["a"] == [1.234]
    assert found["c"][0].month == 2
    assert not reader.notes()


def test_categories_stored_as_codes_are_not_read():
    assert not read({"price": pa.array(["$5", "$7"]).dictionary_encode()})[0].readings


def test_codes_of_a_dictionary_are_read_when_scored():
    reader, _, _ = read({"price": ["$5", "$7"]})
    coded = pa.array(["$5", None, "cheap", "$5"]).dictionary_encode()
    tally = Tally()
    assert reader.column("price", coded, tally).to_pylist() == [5, None, None, 5]
    assert tally.unread["price"] == (1, "cheap")


COLUMNS = {"price": ["$5"], "sold": ["23/04/2017"], "created_at": [1_500_000_000]}


def test_a_reader_round_trips():
    reader, _, _ = read(COLUMNS, missing=("9999",))
    again = TableReader.from_header(json.loads(json.dumps(reader.to_header())))
    assert again.readings == reader.readings
    assert again.missing == ("9999",)
    assert TableReader.from_header(None).readings == {}


@pytest.mark.parametrize(
    "edit",
    [
        {"columns": {"price": 5}},
        {"columns": {"price": {"form": "poem"}}},
        {"columns": {"price": {"form": "date", "order": "backwards", "was_open": ""}}},
        {"columns": {"price": {"form": "epoch", "unit": "years"}}},
        {"missing": 5},
        {"unread": {"other": [1, "x"]}},
        {"unread": {"price": [-1, "x"]}},
    ],
)
def test_an_edited_reader_is_refused(edit):
    header = read(COLUMNS)[0].to_header()
    with pytest.raises(ModelFileError):
        TableReader.from_header({**header, **edit})
