"""PU trees: their bags, their out-of-bag scores, and the boxes they carve."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from support.ensemble_checks import make_pool

from devnet import DeviationEnsemble
from devnet.core.seeds import draw_seed
from devnet.detectors.ensemble.bags import draw_bags, out_of_bag_mean
from devnet.detectors.ensemble.combination import combine
from devnet.detectors.ensemble.deviation_trees import BAG_ROWS
from devnet.detectors.ensemble.pu_trees import grow_pu_trees


def spawn(seed, n_trees=8):
    return np.random.default_rng(seed).spawn(n_trees)


def boxes(seed, n=4000, n_labelled=30):
    """Rows whose anomalies fill two small boxes: what one has in two columns, the other mirrors."""
    generator = np.random.default_rng(seed)
    rows = generator.random((n, 20)).astype(np.float32)
    anomalies = generator.permutation(n)[: n // 50]
    corner = generator.permuted(np.tile([0.45, 0.8], (len(anomalies), 1)), axis=1)
    rows[anomalies, :2] = corner + 0.05 * generator.random(corner.shape)
    y = np.zeros(n)
    y[anomalies[:n_labelled]] = 1
    return rows, y, anomalies[n_labelled:]


@pytest.mark.parametrize("n", [1, 3, 600])
def test_trees_are_scikit_learn_s_on_a_bootstrap_of_anomalies_as_they_are(n, seed):
    pool = make_pool(seed, n=n)
    generators = spawn(seed)
    bags = draw_bags(BAG_ROWS, pool, generators)
    values = {DecisionTreeClassifier: [], ExtraTreeClassifier: []}
    for bag, count, generator in zip(bags.unlabelled, bags.anomalies, generators, strict=True):
        rows = np.concatenate([pool.rows[bag], pool.anomalies[count > 0]])
        is_anomaly = np.repeat([0, 1], [len(bag), (count > 0).sum()])
        weight = np.concatenate([np.ones(len(bag)), count[count > 0]])
        for kind, found in values.items():
            if kind is ExtraTreeClassifier and len(found) == 5:
                continue
            tree = kind(max_features=None, random_state=draw_seed(generator))
            found.append(tree.fit(rows, is_anomaly, weight))
    grown = grow_pu_trees(pool, margin=5.0, generators=spawn(seed), n_extra=5)
    for (trees, out_of_bag), plain in zip(grown, values.values(), strict=True):
        for rows, part, is_in_bag in (
            (pool.rows, out_of_bag.unlabelled, bags.holds_unlabelled(n)[: len(plain)]),
            (pool.anomalies, out_of_bag.labelled, bags.anomalies[: len(plain)] > 0),
        ):
            expected = 5 * np.stack([tree.predict_proba(rows)[:, 1] for tree in plain])
            np.testing.assert_allclose(trees.score(rows), expected.mean(axis=0), atol=1e-12)
            np.testing.assert_allclose(part, out_of_bag_mean(expected, is_in_bag), atol=1e-12)


def test_boxes_of_two_columns_are_found_that_networks_and_swapped_trees_blur(seed):
    rows, y, hidden = boxes(seed)
    model = DeviationEnsemble(random_state=seed).fit(rows, y)
    unlabelled = np.flatnonzero(y == 0)
    truth = np.isin(unlabelled, hidden)
    scores = np.stack(model.learners_.scores(rows[unlabelled]))  # (n_scorers, b)
    found = average_precision_score(truth, model.anomaly_score(rows[unlabelled]))
    others = model.combination_.scale[:2] @ scores[:2]
    assert found > average_precision_score(truth, others) + 0.05


def test_trees_do_not_depend_on_the_number_of_cores(seed, monkeypatch):
    pool, found = make_pool(seed), []
    for n_cores in (1, 2, 5, 64):
        monkeypatch.setattr("devnet.core.cores.cpu_count", lambda n_cores=n_cores: n_cores)
        grown = grow_pu_trees(pool, margin=5.0, generators=spawn(seed), n_extra=3)
        found.append([part for trees, votes in grown for part in (trees.score(pool.rows), *votes)])
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_few_labels_make_pu_trees_count_less(seed):
    rows, y, _ = boxes(seed, n=1000)
    model = DeviationEnsemble(n_networks=2, n_trees=4, random_state=0).fit(rows, y)
    few, many = (model.learners_.trust(k) for k in (5, 500))
    assert few[0] == few[1] == many[0] == 1
    assert (few[2:] < 0.5).all()
    assert (many[2:] > 0.95).all()
    assert combine([model.out_of_bag_], model.pool_weight_).scale.shape == (1,)
