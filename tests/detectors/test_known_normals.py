"""Known normal rows in every detector that can use them."""

import numpy as np
import pandas as pd
import pytest

import devnet
from devnet import DevNet
from devnet.competitors import REPEN, IForest
from devnet.detectors.methods import METHODS
from devnet.significance.calibration import calibrate

NORMAL = 2
USING = [name for name, method in METHODS.items() if method.uses_normals]


def lookalikes(seed, n=3000, n_anomalies=60, n_like=20):
    """Rows and y: anomalies, half of them labelled, then normal rows that look like them."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, 6))
    end = n_anomalies + n_like
    rows[:end, :3] += 2.5
    rows[n_anomalies:end, 5] += 2  # the only difference
    return rows, np.where(np.arange(n) < n_anomalies // 2, 1, 0)


def told_apart(model, seed):
    """Probability that an anomaly scores higher than a row that looks like one, both unseen."""
    rows, _ = lookalikes([seed, 1], n=400, n_anomalies=200, n_like=200)
    scores = model.anomaly_score(rows)
    return (scores[:200, None] > scores[200:]).mean()


@pytest.mark.parametrize("name", USING)
def test_rows_like_dismissed_ones_are_told_from_anomalies(name, seed, tmp_path):
    rows, y = lookalikes(seed)
    told = y.copy()
    told[60:80] = NORMAL
    before = METHODS[name](random_state=seed).fit(rows, y)
    model = METHODS[name](random_state=seed, normal_label=NORMAL).fit(rows, told)
    assert told_apart(model, seed) > told_apart(before, seed) + 0.02
    assert model.classes_.tolist() == [0, 1]
    model.save(tmp_path / "model.devnet")
    loaded = devnet.load(tmp_path / "model.devnet")
    assert loaded.normal_label == NORMAL
    np.testing.assert_array_equal(loaded.anomaly_score(rows), model.anomaly_score(rows))


@pytest.mark.parametrize("name", METHODS)
def test_without_such_rows_their_label_changes_nothing(name, seed):
    rows, y = lookalikes(seed, n=800)
    quick = {"n_epochs": 2} if hasattr(METHODS[name], "partial_fit") else {}
    scores = [
        METHODS[name](random_state=seed, **quick, **options).fit(rows, y).anomaly_score(rows)
        for options in ({}, {"normal_label": NORMAL})
    ]
    np.testing.assert_array_equal(*scores)


def test_the_isolation_forest_takes_them_for_unlabelled_rows():
    rows, y = lookalikes(0)
    told = y.copy()
    told[60:80] = NORMAL
    assert not IForest.uses_normals
    plain = IForest(random_state=0).fit(rows, y)
    model = IForest(random_state=0, normal_label=NORMAL).fit(rows, told)
    np.testing.assert_array_equal(model.anomaly_score(rows), plain.anomaly_score(rows))


@pytest.mark.parametrize("method", [IForest, REPEN])
def test_methods_that_need_no_anomalies_take_dismissed_rows_alone(method):
    rows, _ = lookalikes(0)
    y = np.full(len(rows), np.nan)
    y[60:80] = NORMAL
    quick = {"n_epochs": 2} if method is REPEN else {}
    model = method(random_state=0, normal_label=NORMAL, **quick).fit(rows, y)
    assert np.isfinite(model.anomaly_score(rows)).all()


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ({0: None, 1: "fraud", NORMAL: "ok"}, ["ok", "fraud"]),
        ({0: "open", 1: "fraud", NORMAL: "false alarm"}, ["open", "fraud"]),
        ({0: None, 1: True, NORMAL: False}, [False, True]),
        ({0: None, 1: 1, NORMAL: 0}, [0, 1]),
    ],
)
def test_predictions_have_two_values(values, classes):
    rows, y = lookalikes(0)
    y[60:80] = NORMAL
    labels = pd.Series([values[one] for one in y], dtype=object)
    named = {"pos_label": values[1], "normal_label": values[NORMAL]}
    model = DevNet(n_epochs=2, random_state=0, **named).fit(rows, labels)
    assert model.classes_.tolist() == classes
    assert set(model.predict(rows).tolist()) == set(classes)


def test_partial_fit_takes_batches_with_and_without_them():
    rows, y = lookalikes(0)
    told = y.copy()
    told[60:80] = NORMAL
    model = DevNet(n_epochs=2, random_state=0, normal_label=NORMAL)
    for labels in (y, told, y):
        model.partial_fit(rows, labels, classes=[0, 1, NORMAL])
    assert model.classes_.tolist() == [0, 1]
    assert model.n_iter_ == 6


@pytest.mark.parametrize("unlabelled", [0, None])
def test_held_back_rows_are_drawn_from_unlabelled_and_known_normal_rows_alike(unlabelled):
    rows, y = lookalikes(0)
    y = np.where(y == 1, 1, unlabelled)
    y[60:1000] = NORMAL
    sample_weight = np.where(y == NORMAL, 0.25, 1.0)
    model = DevNet(n_epochs=2, random_state=0, normal_label=NORMAL)
    calibration = calibrate(model, rows, y, sample_weight, random_state=0)
    assert len(calibration.weight) == 1000
    assert (calibration.weight == 0.25).sum() == pytest.approx(940 / 2970 * 1000, rel=0.15)
