"""A reason says how many labelled anomalies and how many other rows have such a value."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import devnet
from devnet.core import model_file
from devnet.core.model_file import ModelFileError
from devnet.tables import TableModel
from devnet.tables.columns.spread import Places, Shares, Spread

N = 1200


def make_table():
    """Loans: those of 60 months to students default; their amounts are ordinary."""
    generator = np.random.default_rng(0)
    term = generator.choice([36, 60], N, p=[0.8, 0.2])
    job = generator.choice(["clerk", "nurse", "student"], N, p=[0.5, 0.4, 0.1])
    is_bad = (term == 60) & (job == "student")
    start = datetime.datetime(2026, 1, 1)
    hours = np.where(is_bad, 3, generator.integers(8, 20, N))
    return {
        "term": term,
        "job": job,
        "amount": generator.lognormal(8, 1, N),
        "owner": [None if u < 0.3 else u < 0.5 for u in generator.random(N)],
        "income": pa.array(generator.normal(50, 9, N), mask=generator.random(N) < 0.2),
        "time": [
            start + datetime.timedelta(days=i % 28, hours=int(h)) for i, h in enumerate(hours)
        ],
        "bad": [1 if bad else None for bad in is_bad],
    }


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def model(table):
    return TableModel("PU trees", random_state=0).fit(table, "bad")


def phrase(model, table, row, column):
    encoder, explainer = model.encoder_, model.explainer_
    rows = pa.table(table).slice(row, 1)
    matrix = encoder.encode_checked(rows.select(encoder.read_columns()))
    raw = {name: rows[name][0] for name in encoder.read_columns()}
    return encoder.phrase(raw, column, explainer.place(matrix, column))


def share(values, of, is_bad):
    """Shares of anomalies and of other rows with a value, as a reason has them."""
    found = np.array([value == of for value in values])
    bad = np.array(is_bad)
    return Shares(int((found & bad).sum()), int((found & ~bad).sum()), bad.sum(), (~bad).sum())


def test_term_60_is_said_to_be_that_of_most_anomalies_and_few_other_rows(model, table):
    is_bad = [label == 1 for label in table["bad"]]
    row = is_bad.index(True)
    expected = share(table["term"], 60, is_bad)
    assert expected.anomalies == sum(is_bad)
    assert phrase(model, table, row, "term") == f"term 60, as {expected.both()}"
    assert expected.both().startswith("100% of anomalies and 1")
    student = share(table["job"], "student", is_bad).both()
    assert phrase(model, table, row, "job") == f"job 'student', as {student}"
    texts = [reason.text for reason in model.explain(table, row)[0].reasons]
    assert not any("near typical" in text for text in texts)


def test_an_ordinary_amount_is_said_to_be_in_a_range_with_its_shares(model, table):
    amounts = np.asarray(table["amount"])
    row = int(np.abs(amounts - np.median(amounts)).argmin())
    words = phrase(model, table, row, "amount")
    span, _, shares = words.partition("(")[2].removesuffix(")").partition(": ")
    low, high = (float(end.replace(",", "")) for end in span.split(" to "))
    assert low <= amounts[row] <= high
    is_bad = np.array([label == 1 for label in table["bad"]])
    inside = (amounts >= low) & (amounts < high)
    counts = Shares(
        int((inside & is_bad).sum()), int((inside & ~is_bad).sum()), is_bad.sum(), (~is_bad).sum()
    )
    assert shares == f"{counts.of_anomalies}, {counts.of_others}"
    assert counts.others >= 0.1 * counts.n_others


def test_a_high_amount_is_compared_with_all_that_are_as_high(model, table):
    amounts = np.asarray(table["amount"])
    is_bad = np.array([label == 1 for label in table["bad"]])
    told = []
    for level in (0.8, 0.85, 0.9, 0.95):
        row = int(np.abs(amounts - np.quantile(amounts, level)).argmin())
        words = phrase(model, table, row, "amount")
        assert " is above typical " in words
        ends = np.asarray(model.explainer_.spreads["amount"].ends)
        is_as_high = amounts >= ends[ends <= amounts[row]].max()
        told.append("(from " in words)
        assert told[-1] == (is_as_high[is_bad].mean() > is_as_high[~is_bad].mean())
    assert any(told)
    highest = phrase(model, table, int(amounts.argmax()), "amount")
    assert "is far above typical" in highest
    assert "%" not in highest


def test_missing_values_are_compared_too(model, table):
    is_bad = [label == 1 for label in table["bad"]]
    income = table["income"].to_pylist().index(None)
    shares = share([value is None for value in table["income"].to_pylist()], True, is_bad)
    words = phrase(model, table, income, "income")
    assert words == f"income is missing{shares.clause('as in')}"
    for value, word in ((True, "true"), (False, "false"), (None, "missing")):
        shares = share(table["owner"], value, is_bad)
        words = phrase(model, table, table["owner"].index(value), "owner")
        assert words == f"owner is {word}{shares.clause('as in')}"


def test_country_us_as_38_percent_of_anomalies_and_50_of_other_rows_is_no_evidence(model, table):
    assert Shares(38, 50, 100, 100).clause("as") == ""
    assert Shares(0, 5, 100, 1000).in_brackets("below 50,000") == ""
    assert Shares(5, 50, 10, 100).clause("as") == ""  # as common
    assert Shares(5, 8, 10, 100).clause("as") == ", as 50% of anomalies and 8% of other rows"
    assert phrase(model, table, list(table["job"]).index("clerk"), "job") == "job 'clerk'"
    assert phrase(model, table, list(table["term"]).index(36), "term") == "term 36"
    row = table["bad"].index(None)
    assert " on " in phrase(model, table, row, "time")
    assert "%" not in phrase(model, table, row, "time")


def test_what_adds_less_than_2_percent_of_the_rise_is_no_reason(model, table):
    explainer = model.explainer_
    rows = pa.table(table).slice(0, 1)
    matrix = model.encoder_.encode_checked(rows.select(model.encoder_.read_columns()))
    raw = {name: rows[name][0] for name in model.encoder_.read_columns()}

    def named(parts):
        return [reason.column for reason in explainer._reasons(raw, parts, matrix, None)]

    assert named({"term": 0.2, "job": 0.15, "amount": 0.013, "income": 0.01}) == [
        "term",
        "job",
        "amount",
    ]
    others = dict.fromkeys(["income", "owner", "time"], 0.2)
    assert named({"term": 0.25, "job": 0.24, "amount": 0.016, **others}) == ["term", "job"]
    assert named({"term": 0.01, **{f"entry {i}": 0.009 for i in range(200)}}) == ["term"]
    assert named({"term": 0.0}) == []


def test_a_time_at_night_is_compared_by_its_hour(model, table):
    row = [label == 1 for label in table["bad"]].index(True)
    words = phrase(model, table, row, "time")
    assert words.startswith("time 03:00 on ")
    assert words.endswith("(hour 3: 100% of anomalies, 0% of other rows)")


def test_of_few_anomalies_the_number_is_given():
    assert Shares(3, 20, 5, 100).both() == "3 of 5 anomalies and 20% of other rows"


def test_spreads_are_kept_in_the_file_and_checked(model, table, tmp_path):
    path = tmp_path / "m.devnet"
    model.save(path)
    loaded = devnet.load(path)
    assert loaded.explainer_.spreads == model.explainer_.spreads
    assert loaded.explain(table, [5]) == model.explain(table, [5])
    header, tensors = model_file.read(path)
    for change in (
        {"others": [1]},
        {"n_anomalies": 1},
        {"points": [60.0, 36.0]},
        {"names": ["a"]},
        {"anomalies": [-1, 2]},
        {"of": "\ud800"},
    ):
        edited = {**header["table"]["spreads"]["term"], **change}
        table_header = {**header["table"], "spreads": {"term": edited}}
        model_file.write(path, {**header, "table": table_header}, tensors)
        with pytest.raises(ModelFileError):
            devnet.load(path)
    for other in ({"nobody": {}}, {"term": 3}, []):
        table_header = {**header["table"], "spreads": other}
        model_file.write(path, {**header, "table": table_header}, tensors)
        with pytest.raises(ModelFileError):
            devnet.load(path)


def test_a_file_without_spreads_still_explains(model, table, tmp_path):
    path = tmp_path / "m.devnet"
    model.save(path)
    header, tensors = model_file.read(path)
    del header["table"]["spreads"]
    model_file.write(path, header, tensors)
    (one,) = devnet.load(path).explain(table, [5])
    assert one.reasons
    assert not any(" as " in reason.text for reason in one.reasons)


numbers = st.lists(
    st.one_of(st.floats(-1e12, 1e12), st.just(float("nan")), st.sampled_from([0.0, 1.0, 1e9])),
    min_size=1,
    max_size=120,
)


@given(others=numbers, anomalies=numbers)
def test_every_known_number_of_other_rows_is_counted_once(others, anomalies):
    spread = Spread.learn(Places(np.array(others)), Places(np.array(anomalies)))
    known = int((~np.isnan(others)).sum())
    if spread is None:
        assert not known
        return
    assert sum(spread.others) == known
    assert sum(spread.anomalies) == int((~np.isnan(anomalies)).sum())
    assert spread.missing().others == len(others) - known
    assert Spread.from_header(spread.to_header()) == spread
    for value in others:
        cell = spread.cell(value)
        assert (cell is None) == np.isnan(value)
        if cell is not None and spread.ends:
            spread.around(cell), spread.as_high(cell), spread.as_low(cell)


EXTREMES = np.finfo(np.float64).max * np.array([-1, -0.5, 1e-305, 0.5, 1])


@pytest.mark.parametrize("n_each", [1, 80], ids=["points", "ranges"])
def test_the_largest_numbers_are_counted_without_a_warning(n_each):
    values = np.outer(np.linspace(1, 0.5, n_each), EXTREMES).ravel()
    spread = Spread.learn(Places(values), Places(values[:5]))
    assert sum(spread.others) == len(values)
    assert sum(spread.anomalies) == 5
    assert Spread.from_header(spread.to_header()) == spread


def test_a_model_of_the_largest_numbers_explains_them_without_a_warning(seed):
    generator = np.random.default_rng(seed)
    far = np.concatenate([EXTREMES, generator.normal(size=35) * 1e307])
    table = pa.table({"few": generator.choice(EXTREMES, 40), "far": far, "bad": [1, 0] * 20})
    model = TableModel("iForest", random_state=0).fit(table, "bad")
    assert np.isfinite([one.score for one in model.explain(table, range(40))]).all()
