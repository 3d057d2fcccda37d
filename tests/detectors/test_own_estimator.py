"""An estimator named by its import path scores like any method, or raises a clear error."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from support.tasks import make_task

from devnet import DevNet
from devnet.detectors.methods import METHODS, find_method


@pytest.mark.parametrize(
    ("path", "floor"),
    [
        ("sklearn.ensemble:RandomForestClassifier", 0.9),  # predict_proba
        ("sklearn.svm:LinearSVC", 0.9),  # decision_function
        ("sklearn.naive_bayes:GaussianNB", 0.9),  # no random_state
        ("sklearn.ensemble:IsolationForest", 0.9),  # decision_function, higher is normal
        ("sklearn.neighbors:KernelDensity", 0.9),  # score_samples, higher is normal
    ],
)
def test_higher_scores_are_more_anomalous(path, floor, seed):
    rows, y, truth = make_task(seed, shift=4)
    model = find_method(path)(random_state=seed).fit(rows, y)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > floor


def test_parameters_and_seed_reach_the_estimator(task):
    rows, y, _ = task
    method = find_method("sklearn.ensemble:RandomForestClassifier")
    one, other = (method(n_estimators=3, random_state=4).fit(rows, y) for _ in range(2))
    assert one.estimator.get_params()["n_estimators"] == 3
    np.testing.assert_array_equal(one.anomaly_score(rows), other.anomaly_score(rows))


def test_our_methods_are_found_by_the_names_that_tables_show():
    assert find_method("DevNet") is DevNet
    paper = ["DevNet", "REPEN", "DSVDD", "FSNet", "iForest"]  # in the order of its Table 1
    assert list(METHODS)[:5] == paper
    assert {"PU trees", "logistic regression", "gradient boosting"} <= set(METHODS)
    assert len({method.__name__ for method in METHODS.values()}) == len(METHODS)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere.at.all:Forest", "cannot be imported .No module named 'nowhere'"),
        (":Forest", "cannot be imported"),
        ("sklearn.ensemble:Forrest", "sklearn.ensemble has no 'Forrest'; write it as in"),
        ("sklearn.ensemble:", "has no ''"),
        ("math:sqrt", "is not an estimator: it has no fit"),
        ("iforest", "unknown method 'iforest'.*Did you mean 'iForest'"),
    ],
)
def test_unknown_paths_and_names_get_a_sentence(path, words):
    with pytest.raises(ValueError, match=words):
        find_method(path)


def test_an_estimator_without_scores_gets_a_sentence(task):
    rows, y, _ = task
    model = find_method("sklearn.cluster:DBSCAN")().fit(rows, y)
    with pytest.raises(ValueError, match="DBSCAN has none of decision_function"):
        model.anomaly_score(rows)
