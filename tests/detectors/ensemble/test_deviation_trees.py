"""Deviation trees against scikit-learn's, their range, their bags and their contributions."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier
from support.ensemble_checks import make_pool

from devnet import ModelFileError
from devnet.core.seeds import draw_seed
from devnet.detectors.ensemble.bags import draw_bags, out_of_bag_mean, swap_values
from devnet.detectors.ensemble.deviation_trees import (
    BAG_ROWS,
    HALF_AT,
    MAX_CANDIDATES,
    DeviationTrees,
    _n_candidates,
    grow_trees,
)


def spawn(seed, n_trees=8):
    return np.random.default_rng(seed).spawn(n_trees)


def plain(pool, seed, margin):
    """The same trees one by one, scored by scikit-learn."""
    generators = spawn(seed)
    bags = draw_bags(BAG_ROWS, pool, generators)
    trees = []
    for bag, count, generator in zip(bags.unlabelled, bags.anomalies, generators, strict=True):
        donors = np.repeat(np.arange(len(count)), count)
        drawn = donors[generator.integers(len(donors), size=len(bag))]
        anomalies = swap_values(pool.anomalies, drawn, donors, generator)
        tree = DecisionTreeClassifier(
            max_features=round(pool.rows.shape[1] * len(count) / (len(count) + HALF_AT)),
            min_samples_leaf=2,
            random_state=draw_seed(generator),
        )
        is_anomaly = np.repeat([0, 1], len(bag))
        trees.append(tree.fit(np.concatenate([pool.rows[bag], anomalies]), is_anomaly))
    return bags, lambda rows: margin * np.stack([tree.predict_proba(rows)[:, 1] for tree in trees])


@pytest.mark.parametrize("n", [1, 3, 600])
def test_scores_are_the_mean_of_scikit_learn_s_trees(n, seed):
    pool = make_pool(seed, n=n)
    trees, out_of_bag = grow_trees(pool, margin=5.0, generators=spawn(seed))
    bags, values = plain(pool, seed, 5.0)
    for rows in (pool.rows, pool.anomalies):
        np.testing.assert_allclose(trees.score(rows), values(rows).mean(axis=0), atol=1e-12)
    expected = out_of_bag_mean(values(pool.rows), bags.holds_unlabelled(n))
    np.testing.assert_allclose(out_of_bag.unlabelled, expected, atol=1e-12)
    expected = out_of_bag_mean(values(pool.anomalies), bags.anomalies > 0)
    np.testing.assert_allclose(out_of_bag.labelled, expected, atol=1e-12)


@pytest.mark.parametrize("margin", [0.5, 5.0])
def test_scores_lie_between_zero_and_the_margin(margin, seed):
    pool = make_pool(seed)
    trees, _ = grow_trees(pool, margin=margin, generators=spawn(seed))
    scores = trees.score(np.concatenate([pool.rows, pool.anomalies]))
    assert 0 <= scores.min() < scores.max() <= margin


def test_out_of_bag_scores_are_honest_about_new_rows(seed):
    pool, new = make_pool(seed), make_pool(seed + 1000)
    trees, out_of_bag = grow_trees(pool, margin=5.0, generators=spawn(seed, 40))
    truth = np.repeat([0, 1], [600, 15])
    honest = roc_auc_score(truth, np.concatenate(out_of_bag))
    actual = roc_auc_score(truth, trees.score(np.concatenate([new.rows, new.anomalies])))
    assert actual > 0.85
    assert abs(honest - actual) < 0.1


def test_contributions_add_up_to_the_score_over_the_baseline_s(seed):
    pool = make_pool(seed)
    trees, _ = grow_trees(pool, margin=5.0, generators=spawn(seed))
    baseline = np.median(pool.rows, axis=0)
    parts = trees.contributions(pool.rows, baseline)
    assert parts.shape == pool.rows.shape
    expected = trees.score(pool.rows) - trees.score(baseline[None])
    np.testing.assert_allclose(parts.sum(axis=1), expected, atol=1e-9)
    np.testing.assert_array_equal(trees.contributions(baseline[None], baseline), 0)


def test_the_shifted_columns_contribute_most(seed):
    pool = make_pool(seed, k=40)
    trees, _ = grow_trees(pool, margin=5.0, generators=spawn(seed, 40))
    size = abs(trees.contributions(pool.anomalies, np.median(pool.rows, axis=0))).mean(axis=0)
    assert set(np.argsort(size)[-2:]) == {0, 1}


def test_trees_do_not_depend_on_the_number_of_cores(seed, monkeypatch):
    pool, found = make_pool(seed), []
    for n_cores in (1, 2, 5, 64):
        monkeypatch.setattr("devnet.core.cores.cpu_count", lambda n_cores=n_cores: n_cores)
        trees, out_of_bag = grow_trees(pool, margin=5.0, generators=spawn(seed))
        found.append([trees.score(pool.rows), *out_of_bag])
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_rows_of_weight_zero_are_not_learned_from(seed):
    pool = make_pool(seed)
    weight = np.ones(600)
    weight[300:] = 0
    spoiled = pool.rows.copy()
    spoiled[300:] = 1e3
    scores = [
        grow_trees(one, margin=5.0, generators=spawn(seed))[0].score(pool.rows)
        for one in (pool._replace(weight=weight), pool._replace(weight=weight, rows=spoiled))
    ]
    np.testing.assert_array_equal(*scores)


def test_tensors_and_back_score_alike_and_none_are_refused(seed):
    pool = make_pool(seed)
    trees, _ = grow_trees(pool, margin=5.0, generators=spawn(seed))
    tensors = trees.forest.to_tensors()
    again = DeviationTrees.from_tensors(tensors, 6)
    np.testing.assert_array_equal(again.score(pool.rows), trees.score(pool.rows))
    for name in tensors:
        with pytest.raises(ModelFileError, match="edited or damaged"):
            DeviationTrees.from_tensors(tensors | {name: tensors[name][:0]}, 6)
    with pytest.raises(ModelFileError, match="edited or damaged"):
        DeviationTrees.from_tensors({}, 6)


@pytest.mark.parametrize(
    ("n_labelled", "n_columns", "expected"),
    [(20, 60, 30), (5, 60, 12), (1, 3, 1), (30, 10_000, MAX_CANDIDATES)],
)
def test_more_labels_let_a_cut_be_chosen_from_more_columns(n_labelled, n_columns, expected):
    assert _n_candidates(n_labelled, n_columns) == expected
