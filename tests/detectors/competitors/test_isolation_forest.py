"""IForest is scikit-learn's isolation forest, as one of our detectors."""

import logging

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from support.competitor_checks import check_a_competitor, check_layouts_do_not_matter, wide_task
from support.tasks import make_task

from devnet.competitors import IForest
from devnet.core.seeds import as_generator, draw_seed
from devnet.detectors.competitors.isolation_forest import average_path


def quick(**parameters):
    return IForest(**{"n_trees": 10, "sample_size": 64, "random_state": 0, **parameters})


@pytest.mark.parametrize("n", [40, 1200])
def test_scores_are_scikit_learn_s(n, seed):
    rows, y, _ = make_task(seed, n=n, n_labelled=5)
    same = draw_seed(as_generator(seed))
    expected = IsolationForest(n_estimators=100, max_samples=min(n, 256), random_state=same)
    found = IForest(random_state=seed).fit(rows, y).anomaly_score(rows)
    np.testing.assert_allclose(found, -expected.fit(rows).score_samples(rows), atol=1e-6)


def test_average_paths_by_hand():
    # c(3) = 2 (ln 2 + gamma) - 4 / 3
    np.testing.assert_allclose(
        average_path(np.array([0, 1, 2, 3])), [0, 0, 1, 1.2073923], rtol=1e-6
    )


def test_it_does_what_every_competitor_does(tmp_path):
    check_a_competitor(quick(), tmp_path / "m.devnet")


def test_layouts_do_not_matter():
    check_layouts_do_not_matter(quick())


def test_labels_change_nothing_and_it_says_so(task, caplog):
    rows, y, _ = task
    with caplog.at_level(logging.INFO, logger="devnet"):
        scores = quick().fit(rows, y).anomaly_score(rows)
    assert "IForest does not use the 20 labels." in caplog.text
    other = quick().fit(rows, y[::-1]).anomaly_score(rows)
    np.testing.assert_array_equal(scores, other)


def test_outliers_are_found_without_labels(seed):
    rows, y, truth = make_task(seed, shift=5)
    assert roc_auc_score(truth, IForest(random_state=seed).fit(rows, y).anomaly_score(rows)) > 0.95


def test_of_very_many_rows_a_draw_is_used(seed):
    rows, y, truth = make_task(seed, n=5000, shift=5)
    model = quick(n_trees=20, random_state=seed).fit(rows, y)  # 1,280 rows
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.9


def test_wide_rows_are_projected(seed):
    rows, y = wide_task(seed)
    model = quick().fit(rows, y)
    assert model.projection_.n_components == 1000
    dense = quick().fit(rows.toarray(), y)
    np.testing.assert_array_equal(dense.anomaly_score(rows.toarray()), model.anomaly_score(rows))


def test_y_may_hold_no_label_at_all(task):
    rows, y, _ = task
    labelled = IForest(n_trees=5, random_state=0).fit(rows, y).anomaly_score(rows)
    for nothing in (None, np.zeros(len(rows))):
        model = IForest(n_trees=5, random_state=0).fit(rows, nothing)
        np.testing.assert_array_equal(model.anomaly_score(rows), labelled)
