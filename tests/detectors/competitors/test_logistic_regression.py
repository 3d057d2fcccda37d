"""BalancedLogistic is scikit-learn's logistic regression, as one of our detectors."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.competitor_checks import (
    check_a_competitor,
    check_layouts_do_not_matter,
    check_learns_from_labels,
    wide_task,
)
from support.tasks import make_task

from devnet.competitors import BalancedLogistic
from devnet.detectors.competitors import logistic_regression


@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_scikit_learn_s_log_odds(sparse, seed, monkeypatch):
    monkeypatch.setattr(
        logistic_regression, "WIDE", 8
    )  # so that these sparse columns count as wide
    rows, y, _ = make_task(seed)
    rows[:, 3] = 20 * rows[:, 3] + (0 if sparse else 1e4)
    rows[:, 4] = 7
    matrix = sp.csr_array(rows) if sparse else rows
    expected = make_pipeline(
        StandardScaler(with_mean=not sparse), LogisticRegression(class_weight="balanced")
    ).fit(matrix, y)
    found = BalancedLogistic().fit(matrix, y).anomaly_score(matrix)
    np.testing.assert_allclose(found, expected.decision_function(matrix), rtol=1e-3, atol=1e-3)


def test_it_does_what_every_competitor_does(tmp_path):
    check_a_competitor(BalancedLogistic(), tmp_path / "m.devnet")


def test_layouts_do_not_matter():
    check_layouts_do_not_matter(BalancedLogistic(), rtol=None)  # sparse columns are not centred


def test_it_learns_from_labels(seed):
    check_learns_from_labels(BalancedLogistic(), seed)


def test_a_search_that_does_not_converge_is_logged_and_raises_no_warning(task, caplog):
    rows, y, _ = task
    with caplog.at_level(logging.INFO, logger="devnet"):
        model = BalancedLogistic(max_iter=1).fit(rows, y)
    assert "BalancedLogistic: lbfgs failed to converge" in caplog.text
    assert model.n_iter_ == 1


def test_wide_rows_stay_sparse(seed):
    rows, y = wide_task(seed)
    test, truth = wide_task(seed + 50)
    model = BalancedLogistic().fit(rows, y)
    assert roc_auc_score(truth, model.anomaly_score(test)) > 0.99
    assert model.coef_.shape == (5000,)
