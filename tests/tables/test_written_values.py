"""Tables as people write them, from the file to scores: CSV, Parquet and frames alike."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet import TableModel, find_alerts, load, score_table
from devnet.significance.policies import Budget
from devnet.tables import open_table
from devnet.tables.description import describe_model, fit_notes
from devnet.tables.readings.reading import Conventions
from devnet.tables.training_rows import read_training_rows

N = 400
RANDOM = np.random.default_rng(0)
AMOUNT = RANDOM.lognormal(7, 2, N).round(2)
DAY = pd.Timestamp("2016-01-01") + pd.to_timedelta(RANDOM.integers(0, 900, N), "D")
PLAIN = pd.DataFrame(
    {
        "income": AMOUNT,
        "rate": RANDOM.uniform(0, 30, N).round(1),
        "weight": RANDOM.uniform(1, 20, N).round(1),
        "sold_on": DAY,
        "fraud": (np.sort(AMOUNT)[-20] < AMOUNT).astype(int),
    }
)
WRITTEN = PLAIN.assign(
    income=[f"${value:,.2f}" for value in PLAIN.income],
    rate=[f"{value}%" for value in PLAIN.rate],
    weight=[f"{value} kg" for value in PLAIN.weight],
    sold_on=DAY.strftime("%d/%m/%Y"),
)
READ = {
    "income": "text read as US dollars",
    "rate": "text read as percentages",
    "weight": "text read as numbers in kg",
    "sold_on": "text read as dates, day first",
}


def saved(frame, form, folder, name="t"):
    """The frame as a table of a form."""
    if form == "frame":
        return frame
    if form == "dict":
        return frame.to_dict("list")
    path = folder / f"{name}.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(frame), path)
    return path


@pytest.fixture(scope="module")
def model():
    return TableModel("PU trees", random_state=0).fit(WRITTEN, "fraud")


def training(table, **conventions):
    return read_training_rows(
        open_table(table, **{k: v for k, v in conventions.items() if k != "day_first"}),
        "fraud",
        conventions=Conventions(**conventions),
        generator=np.random.default_rng(0),
    )


DAYS = pd.Timestamp("2016-01-01") + pd.to_timedelta(np.arange(0, 2400, 6), "D")
COUNTS = np.arange(N)
TYPED = {  # what people type: all values of a column, and what the typed one is
    "$90,000.00": ([f"${value:,.2f}" for value in AMOUNT], 90_000.0),
    "20%": ([f"{i % 90}%" for i in COUNTS], 20.0),
    "1,296": ([f"{7 * i:,}" for i in COUNTS], 1296.0),
    "129.60 €": ([f"{value:.2f} €" for value in AMOUNT], 129.6),
    "13.0 kg": ([f"{i / 10} kg" for i in COUNTS], 13.0),
    "(1,200.00)": ([f"({v:,.2f})" if v > 999 else f"{v:,.2f}" for v in AMOUNT], -1200.0),
    "1.2k": ([f"{i / 10}k" for i in COUNTS], 1200.0),
    "3M": ([f"{i}M" for i in COUNTS], 3e6),
    "04/23/2017": (DAYS.strftime("%m/%d/%Y"), pd.Timestamp(2017, 4, 23)),
    "23/04/2017": (DAYS.strftime("%d/%m/%Y"), pd.Timestamp(2017, 4, 23)),
    "23.04.2017": (DAYS.strftime("%d.%m.%Y"), pd.Timestamp(2017, 4, 23)),
    "18-Sep-2020": (DAYS.strftime("%d-%b-%Y"), pd.Timestamp(2020, 9, 18)),
    "December 28, 2021": (DAYS.strftime("%B %d, %Y"), pd.Timestamp(2021, 12, 28)),
    "04/23/2017 08:38 AM": (
        DAYS.strftime("%m/%d/%Y %I:%M %p"),
        pd.Timestamp(2017, 4, 23, 8, 38),
    ),
}


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("typed", TYPED)
def test_a_column_of_such_values_is_numbers_or_dates_in_csv_parquet_and_frames(
    typed, form, tmp_path
):
    texts, expected = TYPED[typed]
    table = pd.DataFrame({"value": [*texts[1:], typed], "fraud": PLAIN.fraud})
    rows = training(saved(table, form, tmp_path))
    samples = (rows.unlabelled, rows.labelled)
    found = {n: v for one in samples for n, v in zip(one.number, one.rows["value"], strict=True)}
    assert found[N - 1].as_py() == expected


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "dict"])
def test_money_with_a_dollar_sign_is_read_as_numbers(form, tmp_path):
    rows = training(saved(WRITTEN, form, tmp_path))
    found = {name: one.in_words() for name, one in rows.summary.reader.readings.items()}
    assert found == READ
    both = pa.concat_tables([rows.unlabelled.rows, rows.labelled.rows])
    assert sorted(both["income"].to_pylist()) == sorted(AMOUNT)


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_a_formatted_table_scores_as_the_plain_one_does(form, tmp_path, model):
    plain = TableModel("PU trees", random_state=0).fit(PLAIN, "fraud").score(PLAIN)
    written = saved(WRITTEN, form, tmp_path)
    assert model.score(written).equals(plain)
    again = TableModel("PU trees", random_state=0).fit(written, "fraud")
    assert again.score(written).equals(plain)


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_a_model_of_formatted_values_takes_plain_ones(form, tmp_path, model):
    plain = saved(PLAIN, form, tmp_path)
    assert model.score(plain).equals(model.score(WRITTEN))


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_a_model_of_plain_values_takes_formatted_ones_and_says_so(form, tmp_path):
    found = TableModel("PU trees", random_state=0).fit(PLAIN, "fraud")
    written = saved(WRITTEN, form, tmp_path)
    assert found.score(written).equals(found.score(PLAIN))
    notes = find_alerts(found, written).notes
    assert {f"{name}: {words}" for name, words in READ.items()} <= set(notes)
    score_table(found, written, tmp_path / "s.csv")
    assert pd.read_csv(tmp_path / "s.csv").income.tolist() == WRITTEN.income.tolist()


def test_alerts_of_formatted_values_by_a_model_of_plain_ones_are_those_of_plain_ones():
    clock = pd.to_datetime(RANDOM.integers(0, 86_400, N), unit="s")
    plain = PLAIN.assign(at=clock.time)
    written = WRITTEN.assign(at=clock.strftime("%I:%M:%S %p"))
    found = TableModel("PU trees", random_state=0).fit(plain, "fraud")
    alerts, expected = (
        find_alerts(found, one, policy=Budget(3), known=True).shown for one in (written, plain)
    )
    assert [one.reasons for one in alerts] == [one.reasons for one in expected]


def test_a_model_of_14_30_takes_02_30_pm(tmp_path):
    clock = pd.Timestamp(0) + pd.to_timedelta(RANDOM.integers(0, 1440, N), "min")
    hours, halves = (PLAIN.assign(at=clock.strftime(form)) for form in ("%H:%M", "%I:%M %p"))
    found = TableModel("PU trees", random_state=0).fit(saved(hours, "csv", tmp_path), "fraud")
    expected = found.score(hours)
    for form in ("csv", "parquet", "frame"):
        for table in (hours, halves):
            assert found.score(saved(table, form, tmp_path)).equals(expected)


def test_unknown_in_a_file_to_score_is_missing(tmp_path):
    found = TableModel("PU trees", random_state=0).fit(PLAIN, "fraud")
    new = PLAIN.assign(rate=["unknown", "much", *PLAIN.rate[2:].astype(str)])
    empty = PLAIN.assign(rate=[np.nan, np.nan, *PLAIN.rate[2:]])
    assert found.score(saved(new, "csv", tmp_path)).equals(found.score(empty))
    assert find_alerts(found, new).notes == [
        "rate: text read as numbers",
        "rate: 1 value, such as 'much', cannot be read (text read as numbers) "
        "and counts as missing",
    ]


def test_readings_are_kept_in_the_file(model, tmp_path):
    model.save(tmp_path / "m.devnet")
    again = load(tmp_path / "m.devnet")
    assert again.score(WRITTEN).equals(model.score(WRITTEN))
    assert {one["name"]: one["reading"] for one in describe_model(again)["columns"]} == READ


def test_reasons_speak_of_numbers_and_dates(model):
    phrase = model.encoder_.phrase({"income": "$90,000.00"}, "income")
    assert phrase.startswith("income 90,000 is ")
    assert "2017-04-23" in model.encoder_.phrase({"sold_on": "23/04/2017"}, "sold_on")


def test_euros_given_to_a_model_of_dollars_are_missing_with_a_note(model, tmp_path):
    other = WRITTEN.assign(income=[*WRITTEN.income[:-2], "5,00 €", "lots"])
    note = (
        "income: 2 values, such as '5,00 €', cannot be read (text read as US dollars) and "
        "count as missing"
    )
    assert note in find_alerts(model, other).notes
    assert note in score_table(model, other, tmp_path / "s.parquet").notes


def test_scored_values_are_written_as_they_were(model, tmp_path):
    for form in ("csv", "parquet"):
        score_table(model, saved(WRITTEN, form, tmp_path), tmp_path / f"scored.{form}")
    assert pd.read_csv(tmp_path / "scored.csv").income.tolist() == WRITTEN.income.tolist()
    assert pd.read_parquet(tmp_path / "scored.parquet").income.tolist() == WRITTEN.income.tolist()


def test_unreadable_values_are_counted_in_the_notes_of_the_fit():
    table = WRITTEN.assign(income=[*WRITTEN.income[:-1], "a lot"])
    found = TableModel("PU trees", random_state=0).fit(table, "fraud")
    assert (
        "income: 1 value, such as 'a lot', cannot be read (text read as US dollars) "
        "and counts as missing"
    ) in [str(note) for note in fit_notes(found)]


def test_categorical_keeps_a_column_as_it_is_written():
    found = TableModel("PU trees", categorical=["rate"], random_state=0).fit(WRITTEN, "fraud")
    assert {fact.name: fact.kind for fact in found.encoder_.describe()}["rate"] == "category"


def test_decimal_comma_and_day_first_are_options(tmp_path):
    table = pd.DataFrame(
        {"a": ["1,234", "2,345"] * 50, "d": ["01/02/2017", "03/04/2018"] * 50, "fraud": [0, 1] * 50}
    )
    for form in ("csv", "parquet", "frame"):
        written = saved(table, form, tmp_path)
        rows = training(written)
        assert rows.summary.schema.types[:2] == [pa.float64(), pa.timestamp("us")]
        assert set(rows.unlabelled.rows["a"].to_pylist()) == {1234}
        assert rows.unlabelled.rows["d"][0].as_py().month == 1
        assert len(rows.summary.reader.notes()) == 2
        rows = training(written, decimal_comma=True, day_first=True)
        assert set(rows.unlabelled.rows["a"].to_pylist()) == {1.234}
        assert rows.unlabelled.rows["d"][0].as_py().month == 2
        assert not rows.summary.reader.notes()


def test_with_decimal_commas_a_point_separates_thousands(tmp_path):
    table = pd.DataFrame({"a": ["1.234", "2.345"] * 50, "b": ["1,5"] * 100, "fraud": [0, 1] * 50})
    path = saved(table, "csv", tmp_path)
    assert set(training(path, decimal_comma=True).unlabelled.rows["a"].to_pylist()) == {1234}
    (tmp_path / "s.csv").write_text("a;b;fraud\n" + "1.234;1,5;0\n2.345;2,5;1\n" * 50)
    rows = training(tmp_path / "s.csv").unlabelled.rows
    assert rows["a"][0].as_py() == 1234
    assert rows["b"][0].as_py() == 1.5


@pytest.mark.parametrize("form", ["csv", "parquet", "frame"])
def test_9999_is_missing_if_the_user_says_so(form, tmp_path):
    table = PLAIN.assign(rate=[9999.0, *PLAIN.rate[1:]], shop=["unknown", *["a", "b"] * 199, "c"])
    written = saved(table, form, tmp_path)
    found = TableModel("PU trees", missing=["9999", "unknown"], random_state=0)
    found.fit(written, "fraud")
    missing = {fact.name: fact.missing for fact in found.encoder_.describe()}
    assert missing["rate"] == missing["shop"] == 1 / N
    found.save(tmp_path / "m.devnet")
    again = load(tmp_path / "m.devnet")
    assert again.missing == ("9999", "unknown")
    empty = table.assign(rate=[np.nan, *PLAIN.rate[1:]], shop=[None, *table.shop[1:]])
    assert again.score(written).equals(found.score(empty))


def test_zip_codes_keep_their_zeros(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i % 7:05d},{i:06d},{i % 5},{i % 50 == 0:d}" for i in range(300)]
    path.write_text("\n".join(["zip,case,n,fraud", *lines]))
    found = TableModel("PU trees", random_state=0).fit(path, "fraud")
    kinds = {fact.name: fact.kind for fact in found.encoder_.describe()}
    assert kinds == {"zip": "category", "n": "number"}
    assert found.id_column_ == "case"
    assert find_alerts(found, path, policy=Budget(1), known=True).shown[0].id in {
        line.split(",")[1] for line in lines
    }


@pytest.mark.parametrize("as_text", [False, True])
def test_18_digits_that_name_rows_are_identifiers(as_text, tmp_path):
    digits = np.random.default_rng(1).permutation(N) + 10**17
    table = PLAIN.assign(account=digits.astype(str) if as_text else digits)
    for form in ("csv", "parquet", "frame"):
        found = TableModel("PU trees", random_state=0).fit(saved(table, form, tmp_path), "fraud")
        assert found.encoder_.left_out["account"].text == "identifier: every value occurs once"
        assert found.id_column_ == "account"


def test_unknown_among_numbers_of_a_csv_is_missing_wherever_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 10, 1 << 20))
    for place in (3, 3000):
        lines = [f"{i % 7},{i % 50 == 0:d}" for i in range(4000)]
        lines[place] = "unknown,0"
        (tmp_path / "t.csv").write_text("\n".join(["age,fraud", *lines]))
        rows = training(tmp_path / "t.csv")
        assert rows.summary.columns["age"].n_missing == 1
        assert not rows.summary.reader.notes()


def test_a_late_date_tells_day_from_month(tmp_path, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 10, 1 << 20))
    lines = [f"{i % 12 + 1:02d}/{i % 11 + 1:02d}/2017,{i % 50 == 0:d}" for i in range(4000)]
    (tmp_path / "t.csv").write_text("\n".join(["sold,fraud", *lines, "23/04/2017,1"]))
    rows = training(tmp_path / "t.csv")
    assert rows.n_rows == 4001
    assert rows.summary.reader.readings["sold"].in_words() == "text read as dates, day first"


def test_mostly_numbers_with_many_other_texts_stay_text_with_a_note(tmp_path):
    (tmp_path / "t.csv").write_text("a,fraud\n" + "1.5,0\n" * 30 + "two,1\n" * 3)
    rows = training(tmp_path / "t.csv")
    assert rows.summary.reader.notes() == [
        "a: 9% of its values are no numbers, such as 'two'; kept as text"
    ]
