"""Amounts in two or more units."""

import pyarrow as pa
import pytest

from devnet.tables.readings.compound_reading import CompoundReading, learn_compound


@pytest.mark.parametrize(
    ("texts", "expected", "words"),
    [
        (["2h 15m", "45m", "3h"], [135, 45, 180], "durations in minutes"),
        (["1 hr 30 min", "20 mins"], [90, 20], "durations in minutes"),
        (["1 day, 2 hours", "30 sec"], [1560, 0.5], "durations in minutes"),
        (["5'11\"", "6'0\"", "6'"], [71, 72, 72], "lengths in inches"),
        (["5 ft 11 in", "6 ft"], [71, 72], "lengths in inches"),
        (["7 lb 6 oz", "8 lbs"], [118, 128], "weights in ounces"),
    ],
)
def test_2h_15m_is_135_minutes(texts, expected, words):
    reading = learn_compound(texts)
    assert reading.read(pa.array(texts)).to_pylist() == pytest.approx(expected)
    assert reading.in_words() == f"text read as {words}"
    assert CompoundReading.from_header(reading.to_header()) == reading


@pytest.mark.parametrize("texts", [["90 min", "80 min"], ["5 m", "3 h"], ["2h 15m", "x"], [""]])
def test_one_unit_is_no_compound(texts):
    assert learn_compound(texts) is None


def test_a_model_of_durations_takes_plain_minutes():
    found = CompoundReading("time").read(pa.array(["135", "2h 15m", "long", None]))
    assert found.to_pylist() == [135, 135, None, None]
