"""GradientBoosting is scikit-learn's boosting, as one of our detectors."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from support.competitor_checks import (
    check_a_competitor,
    check_layouts_do_not_matter,
    check_learns_from_labels,
    wide_task,
)
from support.tasks import make_task

from devnet.competitors import GradientBoosting
from devnet.core.rows import as_rows
from devnet.core.seeds import as_generator, draw_seed
from devnet.detectors.competitors.binning import columns_to_cut, find_edges, to_bins


def quick(**parameters):
    return GradientBoosting(**{"n_trees": 15, "random_state": 0, **parameters})


def test_scores_are_scikit_learn_s_decision_function(seed):
    rows, y, _ = make_task(seed)
    test = make_task(seed + 1)[0]
    generator = as_generator(seed)
    edges = find_edges(as_rows(rows), np.arange(len(rows)), generator)
    expected = HistGradientBoostingClassifier(
        max_iter=60,
        max_depth=3,
        class_weight="balanced",
        early_stopping=False,
        random_state=draw_seed(generator),
    ).fit(to_bins(as_rows(rows), edges), y)
    found = quick(n_trees=60, random_state=seed).fit(rows, y).anomaly_score(test)
    binned = to_bins(as_rows(test), edges)
    np.testing.assert_allclose(found, expected.decision_function(binned), atol=1e-6)


def test_bins_of_few_values_are_these_values():
    rows = np.array([[5, 1], [0, 1], [5, 1], [9, 1]], np.float32)
    edges = find_edges(as_rows(rows), np.arange(4), as_generator(0))
    assert [edge.tolist() for edge in edges] == [[2.5, 7.0], []]
    assert to_bins(as_rows(rows), edges).tolist() == [[1, 0], [0, 0], [1, 0], [2, 0]]


def test_bins_of_many_values_hold_equally_many(seed):
    rows = np.random.default_rng(seed).normal(size=(5100, 1)).astype(np.float32)
    edges = find_edges(as_rows(rows), np.arange(5100), as_generator(0))
    counts = np.bincount(to_bins(as_rows(rows), edges)[:, 0])
    assert len(counts) == 255
    assert counts.min() >= 19
    assert counts.max() <= 21


def test_columns_to_cut_leave_enough_rows_on_either_side():
    bins = np.zeros((100, 5), np.uint8)
    bins[:19, 1] = 1
    bins[:20, 2] = 1
    bins[:80, 3] = 7
    bins[19:81, 4], bins[81:, 4] = 1, 2  # 19 rows below the first edge, 19 above the second
    assert columns_to_cut(bins, 20).tolist() == [2, 3]
    assert columns_to_cut(bins[:, [0, 1]], 20).tolist() == [0]


def test_columns_that_cannot_be_cut_change_nothing(seed):
    rows, y, _ = make_task(seed)
    rare = np.zeros((len(rows), 3), np.float32)
    rare[:19] = 1
    wider = np.hstack([rare, rows])
    scores = quick(random_state=seed).fit(wider, y).anomaly_score(wider)
    expected = quick(random_state=seed).fit(rows, y).anomaly_score(rows)
    np.testing.assert_array_equal(scores, expected)


def test_it_does_what_every_competitor_does(tmp_path):
    check_a_competitor(quick(), tmp_path / "m.devnet")


def test_layouts_do_not_matter():
    check_layouts_do_not_matter(quick())


def test_it_learns_from_labels(seed):
    check_learns_from_labels(quick(n_trees=50, random_state=seed), seed)


def test_very_few_rows_are_fine():
    """No split leaves 20 rows on both sides, so every tree is a leaf."""
    rows, y, _ = make_task(0, n=12, n_labelled=2)
    scores = quick().fit(rows, y).anomaly_score(rows)
    np.testing.assert_allclose(scores, scores[0])


def test_wide_rows_are_projected(seed):
    rows, y = wide_task(seed)
    test, truth = wide_task(seed + 50)
    model = quick(random_state=seed).fit(rows, y)
    assert model.projection_.n_components == 1000
    assert roc_auc_score(truth, model.anomaly_score(test)) > 0.7
