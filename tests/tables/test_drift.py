"""Planted changes are named with their column and cause, and tables alike are left in peace."""

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.payment_tables import N, fitted, make_table

import devnet
from devnet import Budget, TableModel, find_alerts, find_drift, score_table
from devnet.tables import drift as drift_module
from devnet.tables import seen_rows
from devnet.tables.column_drift import Cause
from devnet.tables.columns.whole import Whole
from devnet.tables.drift import LATER, Watch
from devnet.tables.opened_table import OpenedTable

OLD = Path(__file__).parents[1] / "golden" / "0.1.0"


def new_table(seed=1, n_rows=N):
    return make_table(n_rows, seed)[0].drop_columns(["fraud"])


def with_column(table, name, change):
    column = change(table[name]) if callable(change) else change
    return table.set_column(table.column_names.index(name), name, column)


def changes(table, model=None):
    return {(one.column, one.cause): one for one in find_drift(model or fitted(), table).changes}


@pytest.mark.parametrize("n_rows", [1, 2, 30, 300, N])
@pytest.mark.parametrize("table_seed", range(1, 6))
def test_a_table_alike_has_not_changed(n_rows, table_seed):
    rows = np.random.default_rng(table_seed).choice(N, n_rows, replace=False)
    found = find_drift(fitted(), new_table(table_seed).take(rows))
    assert found.changes == []
    assert found.n_rows == found.n_compared == n_rows


def test_the_training_table_itself_has_not_changed():
    found = find_drift(fitted(), make_table()[0])
    assert found.changes == []
    assert found.n_rows == N - 30  # without labelled anomalies
    assert all(one.unseen == 0 for one in found.columns if one.unseen is not None)


@pytest.mark.parametrize("n_rows", [100, N])
def test_another_unit_is_named(n_rows):
    table = with_column(new_table(n_rows=n_rows), "amount", lambda v: pc.multiply(v, 100.0))
    (one,) = [change for change in changes(table).values() if change.column is not None]
    assert (one.column, one.cause) == ("amount", Cause.UNSEEN)
    assert one.text.endswith(" times as much (another unit?); fit again")


def test_a_smaller_unit_is_named():
    table = with_column(new_table(), "amount", lambda v: pc.divide(v, 1000.0))
    (one,) = [one for one in changes(table).values() if one.column is not None]
    assert " times less (another unit?)" in one.text


def test_a_renamed_category_is_named():
    table = with_column(new_table(), "shop", lambda v: pc.replace_substring(v, "baker", "Bäcker"))
    one = changes(table)["shop", Cause.UNSEEN]
    assert one.found == pytest.approx(0.38, abs=0.05)
    assert "were never seen in training, such as 'Bäcker', while 'baker', " in one.text
    assert one.text.endswith(" is gone (renamed?); fit again")


def test_a_new_category_beside_the_others_is_named():
    table = with_column(new_table(), "shop", lambda v: pa.array(["vet", *v.to_pylist()[1:]]))
    assert changes(table) == {}
    texts = ["vet"] * 150 + new_table()["shop"].to_pylist()[150:]
    one = changes(with_column(new_table(), "shop", pa.array(texts)))["shop", Cause.UNSEEN]
    assert one.text == "shop: 5% of values were never seen in training, such as 'vet'; fit again"


@pytest.mark.parametrize("values", [pa.nulls(N), pa.nulls(N, pa.float64()), np.full(N, np.nan)])
@pytest.mark.parametrize("name", ["amount", "limit"])
def test_a_column_gone_missing_is_named(name, values):
    found = changes(with_column(new_table(), name, pa.array(values)))
    assert [key for key in found if key[0] is not None] == [(name, Cause.MISSING)]
    assert found[name, Cause.MISSING].text.startswith(f"{name}: missing in 100% of rows, ")


def test_a_text_column_gone_missing_is_named():
    found = changes(with_column(new_table(), "shop", pa.nulls(N, pa.string())))
    assert ("shop", Cause.MISSING) in found


def test_values_that_are_no_longer_missing_are_named():
    found = changes(with_column(new_table(), "limit", lambda v: v.fill_null(1000.0)))
    one = found["limit", Cause.MISSING]
    assert one.text.startswith("limit: missing in 0% of rows, 1")
    assert one.text.endswith("in training; fit again")


def test_other_shares_of_known_values_are_named():
    table = with_column(new_table(), "shop", pa.array(["baker"] * N))
    one = changes(table)["shop", Cause.SPREAD]
    assert one.text.startswith("shop: baker: 100% of values, 3")
    limits = with_column(new_table(), "limit", pa.array([1000.0, 1000.0, 7000.0] * (N // 3)))
    assert changes(limits)["limit", Cause.UNSEEN].found == pytest.approx(1 / 3)


def test_a_number_that_training_did_not_have_counts_among_few_ones():
    table = with_column(new_table(), "limit", pa.array([1000.0, 2000.0, 5000.0] * (N // 3)))
    one = changes(table)["limit", Cause.SPREAD]
    assert one.text == "limit: other values: 33% of values, 0% in training; fit again"


def test_more_anomalies_raise_the_share_of_alerts():
    table, is_fraud = make_table(10 * N, 2)
    rows = np.append(np.flatnonzero(is_fraud), np.flatnonzero(~is_fraud)[: 9 * is_fraud.sum()])
    one = changes(table.drop_columns(["fraud"]).take(rows))[None, Cause.ALERTS]
    assert one.found > 2 * one.learned
    assert "10% of rows are alerts, where 0.9% are expected: there are more anomalies" in one.text


def test_labelled_anomalies_are_no_change(tmp_path):
    table, is_fraud = make_table(10 * N, 2)
    label = pa.array(np.where(is_fraud, 1.0, np.nan), from_pandas=True)
    labelled = with_column(table, "fraud", label)
    rows = np.append(np.flatnonzero(is_fraud), np.flatnonzero(~is_fraud)[: 9 * is_fraud.sum()])
    assert changes(labelled.take(rows)) == {}
    done = score_table(fitted(), labelled.take(rows), tmp_path / "scored.parquet")
    assert not any("expected" in str(note) for note in done.notes)
    assert done.n_rows == len(rows)


def dated(start, n_days):
    """The new table, with dates within some days."""
    begin, minutes = datetime.datetime.fromisoformat(start), n_days * 1440
    hours = [one.hour for one in new_table()["time"].to_pylist()]
    days = np.arange(N) * n_days // N
    times = [
        begin + datetime.timedelta(days=int(day), hours=hour if minutes > 1440 else 9)
        for day, hour in zip(days, hours, strict=True)
    ]
    return with_column(new_table(), "time", pa.array(times))


@pytest.mark.parametrize(
    ("start", "n_days"), [("2026-09-01", 60), ("2027-01-01", 7), ("2026-02-03", 1)]
)
def test_time_passes_by_unnoticed(start, n_days):
    found = find_drift(fitted(), dated(start, n_days))
    assert found.changes == []
    assert set(found.notes) <= {LATER}


def test_more_high_scores_are_told_although_time_passes_by(monkeypatch):
    passing = [one for one in find_drift(fitted(), dated("2027-01-01", 7)).columns if one.passes_by]
    high = np.argsort(fitted().score(new_table())["anomaly_score"])[-N // 20 :]
    table = new_table().take(pa.array(np.append(np.arange(N), np.tile(high, 4))))
    monkeypatch.setattr(Watch, "_columns", lambda *given: passing)
    opened = OpenedTable(fitted(), table)
    watch = Watch(opened, Budget(10))  # which gives no share of alerts to compare
    for _ in opened.scored_batches(seen=watch.seen):
        pass
    (change,) = watch.drift().changes
    assert "score as high as the top 5% in training" in change.text


def test_other_hours_are_named_if_the_table_spans_some_days():
    at_night = [
        datetime.datetime(2026, 2, 1) + datetime.timedelta(days=i % 20, hours=2) for i in range(N)
    ]
    one = changes(with_column(new_table(), "time", pa.array(at_night)))["time", Cause.SPREAD]
    assert one.text.startswith("time: hour ")


def test_columns_that_the_model_does_not_use_are_not_compared():
    table = new_table().append_column("extra", pa.array(np.arange(N)))
    table = with_column(table, "currency", pa.array(["USD"] * N))
    found = find_drift(fitted(), table)
    assert found.changes == []
    assert [one.name for one in found.columns] == ["time", "amount", "shop", "limit"]
    assert found.notes == ["1 column is not known to the model and is ignored: extra"]


def test_a_table_without_rows_has_not_changed():
    found = find_drift(fitted(), new_table().slice(0, 0))
    assert (found.n_rows, found.changes, found.columns, found.scores) == (0, [], [], None)


def test_a_sample_finds_what_all_rows_have(monkeypatch):
    monkeypatch.setattr(seen_rows, "MOST_ROWS", 500)
    monkeypatch.setattr(seen_rows, "MIN_ROWS", 500)
    found = find_drift(fitted(), with_column(new_table(), "shop", pa.array(["vet"] * N)))
    assert (found.n_rows, found.n_compared) == (N, 500)
    assert ("shop", Cause.UNSEEN) in {(one.column, one.cause) for one in found.changes}


def test_scoring_and_alerts_tell_changes(tmp_path):
    table = with_column(new_table(), "shop", pa.array(["vet"] * N))
    expected = [one.text for one in find_drift(fitted(), table).changes]
    assert score_table(fitted(), table, tmp_path / "scored.csv").notes == expected
    assert find_alerts(fitted(), table).notes == expected
    assert expected[0].startswith("shop: 100% of values were never seen in training, such as 'vet'")


def test_beside_scores_only_the_first_of_many_changes_are_told(tmp_path):
    table = new_table()
    for name in ("time", "amount", "shop", "limit"):
        table = with_column(table, name, pa.nulls(N))
    notes = find_alerts(fitted(), table).notes
    n_more = len(find_drift(fitted(), table).changes) - drift_module.N_NOTES
    assert len(notes) == drift_module.N_NOTES + 1
    assert notes[-1].startswith(f"{n_more} other changes since training")


def test_a_budget_has_no_share_of_alerts_yet_scores_are_compared():
    model = TableModel(random_state=0, policy=Budget(5)).fit(make_table()[0], "fraud")
    table = with_column(new_table(), "amount", lambda v: pc.multiply(v, 100.0))
    found = find_drift(model, table)
    assert found.scores.alerts is None
    assert [one.cause for one in found.changes] == [Cause.UNSEEN, Cause.SCORES]
    assert find_drift(model, new_table()).changes == []


def test_a_saved_model_finds_the_same(tmp_path):
    fitted().save(tmp_path / "model.devnet")
    table = with_column(new_table(), "amount", lambda v: pc.multiply(v, 100.0))
    found, expected = (
        find_drift(model, table) for model in (devnet.load(tmp_path / "model.devnet"), fitted())
    )
    assert found.changes == expected.changes
    assert found.scores == expected.scores


@pytest.mark.parametrize("name", ["table_devnet", "table_ensemble", "table_pu_trees"])
def test_models_of_0_1_0_know_less_and_say_so(name):
    model = devnet.load(OLD / f"{name}.devnet")
    found = find_drift(model, OLD / "new.parquet")
    assert found.changes == []
    assert any("does not know how the values of its columns were spread" in n for n in found.notes)
    import pyarrow.parquet as pq

    table = pq.read_table(OLD / "new.parquet")
    other = find_drift(model, with_column(table, "amount", lambda v: pc.multiply(v, 1000.0)))
    assert ("amount", Cause.UNSEEN) in {(one.column, one.cause) for one in other.changes}


def texts(words, n_rows, seed):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(words, 8)) + f" {i}" for i in range(n_rows)]


def vectors(n_rows, seed, first=0, size=1.0):
    """Sparse vectors with entries from `first` on."""
    generator = np.random.default_rng(seed)
    return pa.array(
        [
            [{"index": first + int(i), "value": size} for i in np.sort(row)]
            for row in (generator.choice(300, generator.integers(5, 15)) for _ in range(n_rows))
        ]
    )


ENGLISH = [
    "please",
    "deliver",
    "quickly",
    "to",
    "the",
    "back",
    "door",
    "and",
    "call",
    "me",
    "first",
]
GERMAN = ["bitte", "schnell", "an", "die", "Hintertür", "liefern", "und", "vorher", "anrufen"]


@pytest.fixture(scope="module")
def wide_model():
    n_rows = 1500
    label = pa.array(np.where(np.arange(n_rows) < 20, 1.0, np.nan), from_pandas=True)
    table = {"note": texts(ENGLISH, n_rows, 0), "vector": vectors(n_rows, 0), "label": label}
    return TableModel(random_state=0).fit(table, "label")


def test_texts_and_vectors_are_compared_as_a_whole(wide_model, tmp_path):
    same = {"note": texts(ENGLISH, 600, 1), "vector": vectors(600, 1)}
    assert changes(same, wide_model) == {}
    german = changes({**same, "note": texts(GERMAN, 600, 1)}, wide_model)
    assert german["note", Cause.SPREAD].text.startswith("note: share of a typical row's entries ")
    long = changes({**same, "note": texts(3 * ENGLISH, 600, 1)}, wide_model)
    assert long == {}
    larger = changes({**same, "vector": vectors(600, 1, size=50.0)}, wide_model)
    assert larger["vector", Cause.SPREAD].text == (
        "vector: typical size of an entry: 50, 1 in training; fit again"
    )
    others = changes({**same, "vector": vectors(600, 1, first=299)}, wide_model)
    assert "entries" in others["vector", Cause.SPREAD].text
    gone = changes({**same, "vector": pa.nulls(600, vectors(1, 0).type)}, wide_model)
    assert ("vector", Cause.MISSING) in gone


def test_what_a_model_file_says_about_texts_and_vectors_is_checked(wide_model):
    whole = wide_model.wholes_["vector"]
    assert Whole.from_header(whole.to_header(), 300) == whole
    for name, value in {
        "frequent": [3, 2],
        "spreads": [],
        "typical": [1.0, None, 2.0],
    }.items():
        with pytest.raises(devnet.ModelFileError, match="edited or damaged"):
            Whole.from_header({**whole.to_header(), name: value}, 300)
    with pytest.raises(devnet.ModelFileError, match="edited or damaged"):
        Whole.from_header(whole.to_header(), 5)
    with pytest.raises(devnet.ModelFileError, match="edited or damaged"):
        Whole.from_header([], 300)
