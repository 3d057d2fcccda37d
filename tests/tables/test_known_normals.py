"""Rows of a table that are known to be normal, such as dismissed alerts."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import devnet
from devnet.significance import Budget
from devnet.tables import TableError, TableModel, find_alerts
from devnet.tables.description import describe_model, fit_notes
from devnet.tables.encoded_rows import ANOMALY, NORMAL, UNLABELLED, EncodedRows
from devnet.tables.encoder import TableEncoder
from devnet.tables.label_column import find_label_values
from devnet.tables.sources.opening import open_table
from devnet.tables.training_rows import read_training_rows

SMALL = {"parameters": {"n_networks": 2, "n_trees": 16}, "random_state": 0}
FAST = {"method": "PU trees", "parameters": {"n_trees": 10}, "random_state": 0}


def payments(n=3000):
    """High payments are fraud, but seldom those to the landlord; few of each are known."""
    generator = np.random.default_rng(0)
    amount = generator.lognormal(3, 0.5, n)
    shop = generator.choice(["grocer", "baker", "landlord"], n)
    kind = np.arange(n) % 30
    amount[kind < 2] *= 8
    shops = ["grocer", "baker", "landlord"]
    shop[kind == 0] = generator.choice(shops, (kind == 0).sum(), p=[0.4, 0.4, 0.2])
    shop[kind == 1] = "landlord"
    verdict = np.full(n, None, dtype=object)
    verdict[np.flatnonzero(kind == 0)[:25]] = "fraud"
    verdict[np.flatnonzero(kind == 1)[:25]] = "false alarm"
    columns = {"id": [f"P{i}" for i in range(n)], "amount": amount, "shop": shop}
    return pd.DataFrame({**columns, "verdict": verdict}), kind


def told_apart(model, table, kind):
    """Probability that a hidden fraud scores higher than a rent that nobody has looked at."""
    scores = model.score(table)["anomaly_score"].to_numpy()
    is_known = table["verdict"].notna().to_numpy()
    fraud, rent = (scores[(kind == one) & ~is_known] for one in (0, 1))
    return (fraud[:, None] > rent).mean()


@pytest.mark.parametrize("method", ["deviation ensemble", "gradient boosting", "DevNet"])
def test_dismissed_alerts_teach(method):
    table, kind = payments()
    options = {"parameters": {}, "random_state": 0}
    before = TableModel(method, **options, anomaly="fraud").fit(table, "verdict")
    after = TableModel(method, **options, normal="false alarm").fit(table, "verdict")
    assert told_apart(after, table, kind) > told_apart(before, table, kind) + 0.02
    assert (after.normal_, after.n_normal_, after.n_labelled_) == ("false alarm", 25, 25)
    assert (before.normal_, before.n_normal_) == (None, 0)
    assert after.anomaly_ == "fraud"  # the only other label


def test_a_saved_model_remembers_them(tmp_path):
    table, _ = payments()
    model = TableModel(**SMALL, normal="False alarm").fit(table, "verdict")
    model.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    assert (loaded.normal_, loaded.n_normal_, loaded.normal) == ("false alarm", 25, "False alarm")
    assert loaded.score(table).equals(model.score(table))
    facts = describe_model(loaded)
    assert (facts["normal"], facts["known_normal"]) == ("false alarm", 25)


def test_known_rows_of_both_kinds_are_no_alerts():
    table, _ = payments()
    model = TableModel(**SMALL, normal="false alarm").fit(table, "verdict")
    is_known = table["verdict"].notna().to_numpy()
    found = find_alerts(model, table, policy=Budget(100), n_shown=None)
    assert found.n_known == 50
    assert not any(is_known[one.row] for one in found.unfolded())
    assert find_alerts(model, table, policy=Budget(100), known=True).n_known == 0


def test_a_method_without_use_for_them_is_noted():
    table, _ = payments()
    model = TableModel("iForest", normal="false alarm", random_state=0).fit(table, "verdict")
    assert "iForest does not learn from the rows known to be normal." in fit_notes(model)


@pytest.mark.parametrize(
    ("labels", "normal", "classes"),
    [
        ({"fraud": 1, "false alarm": 0, None: None}, 0, [0, 1]),
        ({"fraud": 1, "false alarm": 2, None: 0}, 2, [0, 1]),
        ({"fraud": True, "false alarm": False, None: None}, False, [False, True]),
        ({"fraud": "fraud", "false alarm": " OK", None: None}, "ok", [" OK", "fraud"]),
        ({"fraud": "fraud", "false alarm": "ok", None: "open"}, "ok", ["open", "fraud"]),
    ],
)
@pytest.mark.parametrize("make", [list, pd.Series, pa.array])
def test_labels_may_be_of_any_kind(labels, normal, classes, make):
    table, _ = payments(900)
    y = [labels[value if isinstance(value, str) else None] for value in table["verdict"]]
    model = TableModel(**FAST, normal=normal, policy=Budget(20))
    model.fit(table.drop(columns="verdict"), make(y))
    assert model.classes_.tolist() == classes
    assert model.n_normal_ == model.n_labelled_ == 25
    assert set(model.predict(table)) == set(classes)


def test_other_verdicts_are_unlabelled():
    table, _ = payments(900)
    verdict = table["verdict"].copy()
    verdict[500:520] = "unsure"
    verdict[520:540] = "reopened"
    table["verdict"] = verdict
    model = TableModel(**FAST, anomaly="fraud", normal="false alarm").fit(table, "verdict")
    assert (model.n_labelled_, model.n_normal_) == tuple(
        (verdict == one).sum() for one in ("fraud", "false alarm")
    )


def test_all_rows_may_be_known():
    table, kind = payments(900)
    table["verdict"] = np.where(kind == 0, "fraud", "fine")
    model = TableModel(**SMALL, normal="fine").fit(table, "verdict")
    assert model.n_normal_ == (kind != 0).sum()
    scores = model.score(table)["anomaly_score"].to_numpy()
    assert np.median(scores[kind == 0]) > np.quantile(scores[kind != 0], 0.95)


# Errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"normal": "fine"}, "no row has the value 'fine' .* with normal"),
        ({"normal": "fraud", "anomaly": "Fraud"}, "'fraud' would mark both anomalies and known"),
        ({"normal": "false alarm", "anomaly": "x"}, "no row has the value 'x' .* with anomaly"),
    ],
)
def test_labels_that_cannot_be_meant_get_a_sentence(options, words):
    table, _ = payments(900)
    with pytest.raises(TableError, match=words):
        TableModel(**FAST, **options).fit(table, "verdict")


def test_normal_rows_alone_are_not_enough():
    table, _ = payments(900)
    table.loc[table["verdict"] == "fraud", "verdict"] = None
    for named in ({}, {"anomaly": "fraud"}):
        with pytest.raises(TableError, match="every label in 'verdict' is 'false alarm', which m"):
            TableModel(**FAST, normal="false alarm", **named).fit(table, "verdict")


@pytest.mark.parametrize("as_column", [True, False])
def test_normal_rows_alone_are_enough_for_a_method_that_needs_no_anomaly(as_column, tmp_path):
    table, _ = payments(900)
    table.loc[table["verdict"] == "fraud", "verdict"] = None
    labels = "verdict" if as_column else table.pop("verdict")
    options = {"anomaly": "fraud", "normal": "false alarm", "random_state": 0}
    model = TableModel("taught deviation", **options).fit(table, labels)
    is_dismissed = (table["verdict"] if as_column else labels) == "false alarm"
    assert (model.n_labelled_, model.n_normal_) == (0, is_dismissed.sum())
    plain = TableModel("rank deviation", ignore=["verdict"] * as_column).fit(table)
    ranks = [one.score(table)["anomaly_score"].to_pandas().rank() for one in (plain, model)]
    assert (ranks[1] < ranks[0])[is_dismissed].mean() > 0.9
    model.save(tmp_path / "m.devnet")
    assert devnet.load(tmp_path / "m.devnet").score(table).equals(model.score(table))


@pytest.mark.parametrize(
    ("counts", "n_missing", "anomaly", "normal", "expected"),
    [
        ({"1": 5, "0": 90}, 0, None, "0", ("1", "0")),
        ({"1": 5, "0": 90}, 9, None, "0.0", ("1", "0")),
        ({"1": 5, "0": 90, "2": 7}, 9, None, "2", ("1", "0")[:1] + ("2",)),
        ({"fraud": 5, "ok": 90, "open": 900}, 0, None, "OK", ("fraud", "ok")),
        ({"fraud": 5, "ok": 90, "a": 9, "b": 9}, 0, "fraud", "ok", ("fraud", "ok")),
        ({"fraud": 60, "ok": 4}, 0, "fraud", "ok", ("fraud", "ok")),
        ({"true": 5, "false": 9}, 90, None, "0", ("true", "false")),
    ],
)
def test_the_label_of_normal_rows_is_set_aside(counts, n_missing, anomaly, normal, expected):
    assert find_label_values("label", counts, n_missing, anomaly, normal) == expected


def test_a_column_in_which_nothing_is_labelled_yet_gets_a_sentence():
    with pytest.raises(TableError, match="'label' is empty in all 9 rows: no labelled anomaly"):
        find_label_values("label", {}, 9, "fraud", "fine")


# However long the table is


def read(table, **options):
    generator = np.random.default_rng(0)
    return read_training_rows(open_table(table), "verdict", generator=generator, **options)


def test_all_of_them_are_kept_of_a_long_table(monkeypatch):
    monkeypatch.setattr("devnet.tables.training_rows.KEPT_ROWS", 100)
    table, _ = payments()
    rows = read(table, normal="false alarm")
    assert [len(part.key) for part in (rows.unlabelled, rows.normal, rows.labelled)] == [
        100,
        25,
        25,
    ]
    assert (rows.n_rows, rows.n_normal, rows.n_unlabelled) == (3000, 25, 2950)
    encoder = TableEncoder.learn(rows.summary, rows.others().rows)
    encoded = EncodedRows.encode(rows, encoder, None)
    np.testing.assert_array_equal(
        encoded.y, np.repeat([UNLABELLED, NORMAL, ANOMALY], [100, 25, 25])
    )
    np.testing.assert_allclose(encoded.weight, np.repeat([1, 100 / 2950, 1], [100, 25, 25]))


@pytest.mark.parametrize("size", [100, 10_000])
def test_all_other_rows_are_sampled_as_if_none_were_known(monkeypatch, size):
    monkeypatch.setattr("devnet.tables.training_rows.KEPT_ROWS", size)
    table, _ = payments()
    plain = read(table, anomaly="fraud")
    others = read(table, anomaly="fraud", normal="false alarm").others()
    np.testing.assert_array_equal(others.number, plain.unlabelled.number)
    assert others.rows.equals(plain.unlabelled.rows)
    assert plain.others() is plain.unlabelled
    assert not len(plain.normal.key)


@pytest.mark.parametrize("method", ["deviation ensemble", "DevNet"])
def test_they_stand_for_themselves_in_ranks_if_a_long_table_is_sampled(method, monkeypatch):
    monkeypatch.setattr("devnet.tables.training_rows.KEPT_ROWS", 600)
    table, _ = payments()
    parameters = SMALL["parameters"] if method == "deviation ensemble" else {"n_epochs": 2}
    model = TableModel(method, parameters=parameters, normal="false alarm", random_state=0)
    weight = model.fit(table, "verdict").calibration_.weight
    assert set(np.round(weight, 6)) == {1.0, np.round(600 / 2950, 6)}
    thinned = model.calibration_.representative()
    assert len(thinned) == pytest.approx(weight.sum(), abs=1)
    assert np.isin(thinned, model.calibration_.unlabelled).all()
