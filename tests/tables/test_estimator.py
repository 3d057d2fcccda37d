"""TableModel as scikit-learn sees it."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted
from support.payment_tables import make_table

import devnet
from devnet.significance import Budget, Confidence, FalseAlarmRate
from devnet.tables import TableError, TableModel, find_alerts

FAST = {"method": "PU trees", "parameters": {"n_trees": 10}, "random_state": 0}


@pytest.fixture(scope="module")
def frame():
    return make_table()[0].to_pandas()


@pytest.fixture(scope="module")
def X(frame):
    return frame.drop(columns="fraud")


@pytest.fixture(scope="module")
def y(frame):
    return frame["fraud"].fillna(0).astype(int)


@pytest.fixture(scope="module")
def expected(frame):
    return TableModel(**FAST).fit(frame, "fraud").score(frame)


@pytest.mark.parametrize("form", ["frame", "polars", "dict", "arrow", "stream", "file"])
def test_fit_x_y_is_fit_table_label(frame, X, expected, form, tmp_path):
    forms = {
        "frame": lambda: (X, frame["fraud"]),
        "polars": lambda: (pl.from_pandas(X), pl.from_pandas(frame)["fraud"]),
        "dict": lambda: ({name: X[name] for name in X}, frame["fraud"].tolist()),
        "arrow": lambda: (make_table()[0].drop_columns(["fraud"]), make_table()[0]["fraud"]),
        "stream": lambda: (make_table()[0].drop_columns(["fraud"]).to_reader(), frame["fraud"]),
        "file": lambda: (tmp_path / "X.parquet", frame[["fraud"]].to_numpy()),
    }
    X.to_parquet(tmp_path / "X.parquet")
    rows, labels = forms[form]()
    model = TableModel(**FAST)
    assert model.fit(rows, labels) is model
    assert model.score(forms[form]()[0]).equals(expected)
    assert model.label_ == ("fraud" if form in ("frame", "polars", "stream") else "label")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (lambda y: y, [0, 1]),
        (lambda y: y.astype(bool), [False, True]),
        (lambda y: y.map({0: "ok", 1: "fraud"}), ["ok", "fraud"]),
        (lambda y: y.map({0: None, 1: "fraud"}), ["unlabelled", "fraud"]),
        (lambda y: y.map({0: "ok", 1: "fraud"}).astype("category"), ["ok", "fraud"]),
        (lambda y: y.astype("Int64").replace(0, pd.NA), [0, 1]),
        (lambda y: y.replace(0, np.nan).to_numpy(), [0.0, 1.0]),
    ],
)
def test_classes_and_predictions_are_the_values_of_y(X, y, expected, labels, classes, tmp_path):
    model = TableModel(**FAST).fit(X, labels(y))
    assert model.classes_.tolist() == classes
    is_alert = expected["is_alert"].to_numpy()
    assert model.predict(X).tolist() == np.array(classes)[is_alert.astype(int)].tolist()
    model.save(tmp_path / "m.devnet")
    assert devnet.load(tmp_path / "m.devnet").predict(X).tolist() == model.predict(X).tolist()


def test_anomalies_that_are_minus_one_are_named(X, y):
    signs = 1 - 2 * y
    with pytest.raises(TableError, match="'-1' marks them in scikit-learn.*anomaly='-1'"):
        TableModel(**FAST).fit(X, signs)
    model = TableModel(**FAST, anomaly=-1).fit(X, signs)
    assert model.classes_.tolist() == [1, -1]
    assert set(model.predict(X)) == {1, -1}


def test_clone_get_params_and_set_params():
    ignore, parameters = ["limit"], {"n_trees": 7}
    model = TableModel("PU trees", parameters=parameters, ignore=ignore, policy=Budget(3))
    assert model.ignore is ignore
    assert model.parameters is parameters
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(method="DevNet", anomaly="x") is copy
    assert (copy.method, copy.anomaly, model.method) == ("DevNet", "x", "PU trees")
    assert is_classifier(model)
    assert get_tags(model).input_tags.string
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_one_name_needs_no_list(X, y):
    model = TableModel(**FAST, ignore="amount", categorical="limit").fit(X, y)
    assert str(model.encoder_.left_out["amount"]) == "ignored"
    assert {one.name: one.kind for one in model.encoder_.columns}["limit"] == "category"


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_cross_val_score_with_average_precision(X, y, n_jobs):
    found = cross_val_score(
        TableModel(**FAST), X, y, cv=3, scoring="average_precision", n_jobs=n_jobs
    )
    assert found.shape == (3,)
    assert found.min() > 0.2


def test_grid_search_and_pipelines(X, y):
    search = GridSearchCV(
        TableModel(**FAST),
        {"parameters": [{"n_trees": 3}, {"n_trees": 8}], "ignore": [(), ["limit"]]},
        scoring="average_precision",
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.2
    assert len(search.predict(X)) == len(X)
    numbers = X[["amount"]].assign(twice=X["amount"] * 2)
    pipe = make_pipeline(StandardScaler(), TableModel(**FAST)).fit(numbers, y)
    assert pipe[-1].encoder_.read_columns() == ["x0", "x1"]
    assert pipe.decision_function(numbers).shape == (len(X),)
    drop = FunctionTransformer(lambda frame: frame.drop(columns="shop"))
    pipe = make_pipeline(drop, TableModel(**FAST)).fit(X, y)
    assert "shop" not in pipe[-1].encoder_.read_columns()


@pytest.mark.parametrize("policy", [FalseAlarmRate(0.01), Budget(20), Confidence(1 - 1e-12)])
def test_the_decision_function_ranks_as_scores_do(X, y, policy):
    model = TableModel(**{**FAST, "method": "deviation ensemble", "parameters": {}}, policy=policy)
    model.fit(X, y)
    scores, decision = model.score(X), model.decision_function(X)
    assert np.isfinite(decision).all()
    assert np.ptp(scores["anomaly_score"].to_numpy() - decision) < 1e-9
    is_alert = scores["is_alert"].to_numpy().astype(bool)
    assert decision[~is_alert].max() <= 0
    assert decision[is_alert].min(initial=0) >= 0


def test_a_fitted_model_survives_joblib(X, y, tmp_path):
    model = TableModel(**FAST).fit(X, y)
    joblib.dump(model, tmp_path / "model.joblib")
    assert joblib.load(tmp_path / "model.joblib").score(X).equals(model.score(X))


def test_score_with_labels_says_to_name_a_scorer(frame, X, y):
    with pytest.raises(TypeError, match="scores of rows .* scoring='average_precision'"):
        TableModel(**FAST).fit(X, y).score(X, y)
    with pytest.warns(UserWarning, match="takes no labels. To measure quality, name a scorer"):
        assert np.isnan(cross_val_score(TableModel(**FAST), X, y, cv=2)).all()


def test_swapped_arguments_get_a_sentence(frame, X, y, tmp_path):
    with pytest.raises(TableError, match=r"wrong order: 'fraud' .* fit\(table, 'fraud'\)"):
        TableModel().fit("fraud", frame)
    X.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(TableError, match="wrong order"):
        TableModel().fit("fraud", str(tmp_path / "t.csv"))
    model = TableModel(**FAST).fit(X, y)
    with pytest.raises(TableError, match="a TableModel is a model, not a table"):
        model.score(model)
    with pytest.raises(TypeError, match="DataFrame is not a model; the model comes first"):
        find_alerts(frame, model)


def test_labels_that_do_not_fit_get_a_sentence(frame, X, y, tmp_path):
    with pytest.raises(TableError, match="3,000 rows, but y has 2,999 labels"):
        TableModel(**FAST).fit(X, y[1:])
    X.to_csv(tmp_path / "t.csv", index=False)  # its length is not known before it is read
    for n_labels in (2_999, 3_001):
        with pytest.raises(TableError, match=f"3,000 rows, but y has {n_labels:,} labels"):
            TableModel(**FAST).fit(tmp_path / "t.csv", [*y, 0][:n_labels])
    with pytest.raises(TableError, match=r"a column 'fraud', .* fit\(table, 'fraud'\)"):
        TableModel(**FAST).fit(frame, frame["fraud"])
    with pytest.raises(TableError, match=r"no labels are given.* fit\(table, 'fraud'\)"):
        TableModel().fit(X)
    with pytest.raises(TableError, match="y is None"):
        TableModel(**FAST).fit(X, None)
    with pytest.raises(TableError, match="y mixes values of several kinds"):
        TableModel(**FAST).fit(X, ["fraud", *y[1:]])
    with pytest.raises(TableError, match=r"y has the shape \(3000, 2\)"):
        TableModel(**FAST).fit(X, np.column_stack([y, y]))


def test_integer_column_names(X, y):
    numbered = X.assign(label=y).set_axis(range(7), axis=1)
    model = TableModel(**FAST, ignore=[2]).fit(numbered, 6)
    assert model.label_ == "6"
    assert model.encoder_.read_columns() == ["1", "3", "4"]
    assert model.score(numbered).num_rows == len(X)


def test_a_seed_of_minus_one_gets_a_sentence(X, y):
    with pytest.raises(ValueError, match=r"random_state=-1.* whole number of at least 0"):
        TableModel(random_state=-1).fit(X, y)


def test_a_column_to_ignore_and_to_be_a_category_gets_a_sentence(X, y):
    with pytest.raises(TableError, match=r"'shop' cannot be a category .*categorical=\['shop'\]"):
        TableModel(ignore=["shop"], categorical=["shop"]).fit(X, y)
