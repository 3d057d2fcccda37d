"""Numbers whose sign is a letter behind them."""

import pyarrow as pa
import pytest

from devnet.tables.readings.reading import Conventions
from devnet.tables.readings.side_reading import SideReading, learn_sides
from devnet.tables.readings.table_reader import TableReader


@pytest.mark.parametrize(
    ("texts", "expected", "words"),
    [
        (["31.3°N", "12.5°S"], [31.3, -12.5], "degrees, S as negative"),
        (["78.5°W", "100.25°W"], [-78.5, -100.25], "degrees, W as negative"),
        (["78.5W", "6.6 e"], [-78.5, 6.6], "degrees, W as negative"),
        (["40°30'36\"N", "3°S"], [40.51, -3], "degrees, S as negative"),
        (["1,200.00 DR", "80 CR"], [1200, -80], "numbers, CR as negative"),
    ],
)
def test_degrees_west_and_credits_are_negative_numbers(texts, expected, words):
    reading = learn_sides(texts)
    assert reading.read(pa.array(texts)).to_pylist() == pytest.approx(expected)
    assert reading.in_words() == f"text read as {words}"
    assert SideReading.from_header(reading.to_header()) == reading


@pytest.mark.parametrize("texts", [["5 N", "7 N"], ["5 E"], ["12 S", "M"], ["1 CR", "2 CR"], ["N"]])
def test_five_newton_are_no_latitude(texts):
    assert learn_sides(texts) is None


def test_a_model_of_degrees_takes_plain_numbers():
    found = SideReading("longitude").read(pa.array(["-78.5", "6.6°E", "east", None]))
    assert found.to_pylist() == [-78.5, 6.6, None, None]


def test_degrees_with_points_settle_what_1_000_mb_means():
    batch = pa.record_batch({"lat": ["31.3°N", "12.5°S"], "pressure": ["1,000 mb", "1,005 mb"]})
    reader = TableReader.learn(batch, Conventions(), may_be_codes=False)
    assert not reader.notes()
    assert reader.readings["pressure"].read(pa.array(["1,005 mb"])).to_pylist() == [1005]
