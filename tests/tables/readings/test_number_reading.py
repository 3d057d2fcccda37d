"""Numbers with currencies, units, separators and brackets."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.tables.readings.number_reading import NumberReading, learn_numbers


def numbers(*texts, decimal_comma=None, may_be_codes=False):
    """How texts are read, and as what."""
    reading = learn_numbers(texts, decimal_comma, may_be_codes=may_be_codes)
    return None if reading is None else reading.read(pa.array(texts)).to_pylist()


def words(*texts):
    reading = learn_numbers(texts, None, may_be_codes=False)
    return None if reading is None else reading.in_words()


@pytest.mark.parametrize(
    ("texts", "expected", "in_words"),
    [
        (["$90,000.00", "-$5.00", "$-5.00", "($1,200.00)"], [90_000, -5, -5, -1200], "US dollars"),
        (["USD 90,000.00", "usd 1.5", "7 USD"], [90_000, 1.5, 7], "US dollars"),
        (["129.60 €", "5€"], [129.6, 5], "euros"),
        (["EUR 5,50", "EUR 1.000,00"], [5.5, 1000], "euros, with decimal commas"),
        (["Rs. 500", "Rs.1,23,456.50"], [500, 123_456.5], "Indian rupees"),
        (["20%", "3.5 %", "-1%"], [20, 3.5, -1], "percentages"),
        (["1,296", "1.5"], [1296, 1.5], "numbers"),
        (["1.296,50", "3"], [1296.5, 3], "numbers, with decimal commas"),
        (["1 296", "12 345 678,5"], [1296, 12_345_678.5], "numbers, with decimal commas"),
        (["1\u00a0296", "5"], [1296, 5], "numbers"),
        (["1'296.5", "3"], [1296.5, 3], "numbers"),
        (["(1,200.00)", "1,200.00"], [-1200, 1200], "numbers"),
        (["−5", "+6"], [-5, 6], "numbers"),
        (["13.0 kg", "5kg"], [13, 5], "numbers in kg"),
        (["5 km2", "7.5 km2"], [5, 7.5], "numbers in km2"),
        (["36 months", "1 month", "60 months"], [36, 1, 60], "numbers in months"),
        (["5 m", "7 m"], [5, 7], "numbers in m"),
        (["1.2k", "3M", "500"], [1200, 3e6, 500], "numbers, k as thousands and M as millions"),
        (["1.2k", "500"], [1200, 500], "numbers, k as thousands"),
        (["1.5bn", "3bn"], [1.5e9, 3e9], "numbers, bn as billions"),
        (["1e5", ".5", "5."], [1e5, 0.5, 5], "numbers"),
        (["123-", "1,200.50-", "7"], [-123, -1200.5, 7], "numbers"),
        (["$5-", "$6"], [-5, 6], "US dollars"),
        ([">808", "5", "<3", "7"], [808, 5, 3, 7], "numbers, >808 as 808"),
        (
            ["~10%", "≤ 5%", "7%", "90%+", "5%", "6%"],
            [10, 5, 7, 90, 5, 6],
            "percentages, ~10% as 10",
        ),
        (["7.5 l/100km", "8 l/100km"], [7.5, 8], "numbers in l/100km"),
        (["$1,850/mo", "$900/mo"], [1850, 900], "US dollars per mo"),
        (["$51.78/hr", "$7/hr"], [51.78, 7], "US dollars per hr"),
        (["£5 per week", "£1,200 per week"], [5, 1200], "pounds sterling per week"),
        (["$51.8 million", "$1.2 Billion"], [51.8e6, 1.2e9], "US dollars"),
        (["$(5,178.40)", "$12.00"], [-5178.4, 12], "US dollars"),
        (["9.5/10", "8/10"], [9.5, 8], "numbers out of 10"),
        (["4.5 out of 5", "3 out of 5"], [4.5, 3], "numbers out of 5"),
        (['0.50"', '1.25"'], [0.5, 1.25], "numbers in inches"),
        (["18.1 in", "20 in"], [18.1, 20], "numbers in inches"),
    ],
)
def test_numbers_as_people_write_them(texts, expected, in_words):
    assert numbers(*texts) == pytest.approx(expected)
    assert words(*texts) == f"text read as {in_words}"


@pytest.mark.parametrize(
    "texts",
    [
        ["00501", "12345"],
        ["123456789012345678", "123456789012345679"],
        ["P001", "P002"],
        ["5 kg", "7 lb"],
        ["$5", "€6"],
        ["1st", "2nd"],
        ["12 Main St", "14 High St"],
        ["1 - low", "2 - high"],
        ["2. Middle Atlantic"],
        ["$5/hr", "$60,000/yr"],
        ["5A", "6B"],
        ["10 AM", "9 PM"],
        ["5 März 2020", "7 März 2020"],
        ["<18", "18-64", "65+"],
        ["-5-", "-6-"],
    ],
)
def test_codes_names_and_mixed_units_are_no_numbers(texts):
    assert numbers(*texts) is None


def test_few_whole_numbers_as_text_of_a_typed_table_are_codes():
    assert numbers("1", "2", "3", may_be_codes=True) is None
    assert numbers("1", "2", "3", may_be_codes=False) == [1, 2, 3]
    assert numbers("1", "2.5", may_be_codes=True) == [1, 2.5]
    assert numbers(*(str(n) for n in range(10_000, 10_100)), may_be_codes=True) is None
    assert numbers(*(str(n) for n in range(100)), may_be_codes=True) == list(range(100))


def test_1_234_alone_is_thousands_and_says_so():
    reading = learn_numbers(["1,234", "5,678"], None, may_be_codes=False)
    assert reading.read(pa.array(["1,234"])).to_pylist() == [1234]
    assert str(reading.note("income")) == (
        "income: '1,234' is read as 1,234, though no value of the column settles it; if it means "
        "1.234, say so with decimal_comma=True."
    )
    assert numbers("1,234", decimal_comma=True) == [1.234]
    assert numbers("1.234", decimal_comma=True) == [1234]


def test_one_value_does_not_decide_against_all_others():
    texts = [f"{i},{i:03d}.50" for i in range(1, 100)] + ["1,5"]
    assert numbers(*texts)[:2] == [1001.5, 2002.5]
    assert numbers(*texts)[-1] is None


def test_another_unit_cannot_be_read_but_a_plain_number_can():
    reading = NumberReading(".", "US dollars")
    assert (
        reading.read(pa.array(["$5", "5", "5 €", "5 kg", None])).to_pylist() == [5, 5] + [None] * 3
    )


amounts = st.decimals(-(10**9), 10**9, places=2, allow_nan=False)


def grouped(number, thousands, decimal):
    plain = f"{abs(number):,.2f}"
    return plain.replace(",", "t").replace(".", decimal).replace("t", thousands)


@given(
    st.lists(amounts, min_size=1, max_size=20),
    st.sampled_from([(",", "."), (".", ","), (" ", ","), ("\u202f", ","), ("'", "."), ("", ".")]),
    st.sampled_from(["{}", "${}", "USD {}", "{} €", "{}%", "{} kg", "{}kWh"]),
    st.sampled_from(["-{}", "({})", "−{}"]),
)
def test_a_number_written_in_any_convention_is_read_back(found, marks, unit, sign):
    texts = [unit.format(grouped(number, *marks)) for number in found]
    texts = [sign.format(t) if n < 0 else t for n, t in zip(found, texts, strict=True)]
    assert numbers(*texts) == [float(number) for number in found]


@given(st.text(max_size=12))
def test_no_text_is_too_odd(text):
    for reading in (
        NumberReading("."),
        NumberReading(",", "euros", True),
        NumberReading(".", "m2"),
    ):
        assert len(reading.read(pa.array([text]))) == 1
    learn_numbers([text], None, may_be_codes=True)
