"""PUBaggedTrees learns from labels and unlabelled rows, as one of our detectors."""

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier
from support.competitor_checks import (
    check_a_competitor,
    check_layouts_do_not_matter,
    check_learns_from_labels,
    wide_task,
)
from support.tasks import make_task

from devnet.competitors import PUBaggedTrees
from devnet.core.seeds import as_generator, draw_seed


def quick(**parameters):
    return PUBaggedTrees(**{"n_trees": 10, "sample_size": 64, "random_state": 0, **parameters})


def test_scores_are_the_mean_of_scikit_learn_s_trees(seed):
    rows, y, _ = make_task(seed)
    generator = as_generator(seed)
    shares = []
    for _ in range(5):
        drawn = generator.choice(np.flatnonzero(y == 0), 256, replace=False)
        bag = np.r_[np.flatnonzero(y), drawn]
        tree = DecisionTreeClassifier(max_features="sqrt", random_state=draw_seed(generator))
        shares.append(tree.fit(rows[bag], y[bag]).predict_proba(rows)[:, 1])
    found = PUBaggedTrees(5, random_state=seed).fit(rows, y).anomaly_score(rows)
    np.testing.assert_allclose(found, np.mean(shares, axis=0), atol=1e-12)


def test_it_does_what_every_competitor_does(tmp_path):
    check_a_competitor(quick(), tmp_path / "m.devnet")


def test_layouts_do_not_matter():
    check_layouts_do_not_matter(quick())


def test_it_learns_from_labels(seed):
    check_learns_from_labels(quick(n_trees=50, random_state=seed), seed)


def test_few_rows_are_all_drawn(seed):
    rows, y, _ = make_task(seed, n=60, n_labelled=10)
    scores = PUBaggedTrees(3, random_state=seed).fit(rows, y).anomaly_score(rows)
    np.testing.assert_array_equal(scores, y)  # each tree has seen all rows


def test_wide_rows_are_projected(seed):
    rows, y = wide_task(seed)
    test, truth = wide_task(seed + 50)
    model = quick(n_trees=50, random_state=seed).fit(rows, y)
    assert roc_auc_score(truth, model.anomaly_score(test)) > 0.7
