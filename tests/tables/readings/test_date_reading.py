"""Dates as people write them."""

from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.tables.readings.date_reading import ORDERS, DateReading, learn_dates


def dates(*texts, day_first=None):
    reading = learn_dates(texts, day_first)
    return None if reading is None else reading.read(pa.array(texts)).to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("04/23/2017", datetime(2017, 4, 23)),
        ("23/04/2017", datetime(2017, 4, 23)),
        ("23-04-2017", datetime(2017, 4, 23)),
        ("23.04.2017 10:11", datetime(2017, 4, 23, 10, 11)),
        ("04.23.2017", datetime(2017, 4, 23)),
        ("23/04/17", datetime(2017, 4, 23)),
        ("23/04/85", datetime(1985, 4, 23)),
        ("18-Sep-2020", datetime(2020, 9, 18)),
        ("18 September 20", datetime(2020, 9, 18)),
        ("December 28, 2021", datetime(2021, 12, 28)),
        ("Dec. 28th, 2021", datetime(2021, 12, 28)),
        ("04/23/2017 08:38 AM", datetime(2017, 4, 23, 8, 38)),
        ("04/23/2017 12:38:01 am", datetime(2017, 4, 23, 0, 38, 1)),
        ("04/23/2017 12:38 p.m.", datetime(2017, 4, 23, 12, 38)),
        ("2017/04/23", datetime(2017, 4, 23)),
        ("2017-04-23 10:11:12.5", datetime(2017, 4, 23, 10, 11, 12, 500_000)),
        ("2017-04-23T10:11:12Z", datetime(2017, 4, 23, 10, 11, 12)),
        ("20141013T000000", datetime(2014, 10, 13)),
        ("Dec-2011", datetime(2011, 12, 1)),
        ("2017-04", datetime(2017, 4, 1)),
        ("Mon, 23 Apr 2017 10:11:12 GMT", datetime(2017, 4, 23, 10, 11, 12)),
        ("23/Apr/2017:08:38:12", datetime(2017, 4, 23, 8, 38, 12)),
        ("5. März 2020", datetime(2020, 3, 5)),
        ("5 juillet 2020", datetime(2020, 7, 5)),
        ("1er août 2020 14:30", datetime(2020, 8, 1, 14, 30)),
        ("5 de marzo de 2020", datetime(2020, 3, 5)),
        ("5 GENNAIO 2020", datetime(2020, 1, 5)),
        ("Sept. 5, 2020", datetime(2020, 9, 5)),
        ("Sun May 24 22:41:34 2020", datetime(2020, 5, 24, 22, 41, 34)),
        ("Sun May 24 22:41:34 +0000 2020", datetime(2020, 5, 24, 22, 41, 34)),
        ("05/24/2020 22:41 EST", datetime(2020, 5, 24, 22, 41)),
        ("05/2020", datetime(2020, 5, 1)),
    ],
)
def test_dates_as_people_write_them(text, expected):
    assert dates(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "1.2.13",
        "9.5/10",
        "10-19",
        "192.168.0.1",
        "555-1234",
        "20170423",
        "may",
        "17:30",
        "a/b/c",
        "market 20",
    ],
)
def test_versions_ranges_and_codes_are_no_dates(text):
    assert dates(text) is None or dates(text) == [None]


def test_one_date_of_the_sample_tells_day_from_month():
    assert dates("01/02/2017", "23/04/2017")[0] == datetime(2017, 2, 1)
    assert dates("01/02/2017", "04/23/2017")[0] == datetime(2017, 1, 2)


def test_01_02_2017_alone_is_january_and_says_so():
    reading = learn_dates(["01/02/2017"], None)
    assert str(reading.note("sold_on")) == (
        "sold_on: '01/02/2017' is read as 2017-01-02, month first, though no value of the column "
        "settles it; if dates are written day first, say so with day_first=True."
    )
    assert dates("01/02/2017", day_first=True) == [datetime(2017, 2, 1)]
    assert dates("01-02-2017") == [datetime(2017, 2, 1)]


def test_a_day_that_does_not_exist_cannot_be_read():
    reading = DateReading("day first")
    texts = ["31/02/2017", "29/02/2016", "29/02/2017", "00/01/2017", "01/13/2017", "1/1/2017 24:00"]
    assert reading.read(pa.array(texts)).to_pylist() == [None, datetime(2016, 2, 29)] + [None] * 4


FORMS = {
    "%d/%m/%Y": True,
    "%m/%d/%Y": False,
    "%d.%m.%Y": True,
    "%d-%b-%Y": None,
    "%B %d, %Y": None,
    "%Y/%m/%d": None,
    "%m/%d/%Y %I:%M %p": False,
    "%d/%m/%Y %H:%M:%S": True,
}


@given(
    st.lists(st.datetimes(datetime(1971, 1, 1), datetime(2069, 1, 1)), min_size=1, max_size=20),
    st.sampled_from(sorted(FORMS)),
)
def test_a_date_written_in_any_form_is_read_back(found, form):
    texts = [one.strftime(form) for one in found]
    assert dates(*texts, day_first=FORMS[form]) == [datetime.strptime(t, form) for t in texts]


@given(st.text(max_size=12))
def test_no_text_is_too_odd(text):
    for order in ORDERS:
        assert len(DateReading(order).read(pa.array([text]))) == 1
    learn_dates([text], None)
