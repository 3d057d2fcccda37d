"""Bagged networks: sums without rounding, contributions that add up, and training on bags."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from devnet import ModelFileError
from devnet.detectors.ensemble import deviation_networks
from devnet.detectors.ensemble.bags import draw_bags
from devnet.detectors.ensemble.deviation_networks import (
    BAG_ROWS,
    HIDDEN,
    BaggedNetworks,
    train_networks,
)
from devnet.detectors.ensemble.pool import Pool
from devnet.detectors.ensemble.rank_normal import RankNormal
from devnet.engine.scoring_network import ScoringNetwork

SHAPES = [(1, 1), (1, 3), (2, 1), (3, 8), (10, 60), (33, 5), (2, 500), (7, 1000)]


def make_pool(seed, n=400, k=12, d=6):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n + k, d)).astype(np.float32)
    rows[:k, :2] += 2
    return Pool(rows[k:], np.ones(n), rows[:k], np.ones(k), np.arange(k), np.full(k, -1))


def untrained(seed, n_networks, d, n=300, scale=1.0):
    """Networks with random weights and biases, and the rows they encode."""
    pool = make_pool(seed, n=n, d=d)
    generators = np.random.default_rng(seed).spawn(n_networks)
    network = ScoringNetwork.initialise((d, HIDDEN, 1), generators)
    network.parameters[:] += np.random.default_rng(seed).normal(size=network.parameters.shape) / 9
    network.parameters[:] *= np.float32(scale)
    bags = draw_bags(BAG_ROWS, pool, generators)
    return BaggedNetworks(RankNormal.learn(pool.rows), network, bags), pool


def exact_hidden(networks, encoded):
    """The first layer of some rows in rational numbers, which never round."""
    kernel = [[Fraction(float(w)) for w in unit] for unit in networks._kernel.T]
    bias = [Fraction(float(b)) for b in networks._bias]
    return [
        [
            sum((w * Fraction(float(x)) for w, x in zip(unit, row, strict=True)), b)
            for unit, b in zip(kernel, bias, strict=True)
        ]
        for row in encoded
    ]


# Sums without rounding


@pytest.mark.parametrize(("n_networks", "d"), [(1, 1), (2, 8), (1, 60), (1, 500)])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_the_first_layer_is_computed_without_rounding(n_networks, d, scale, seed):
    networks, pool = untrained(seed, n_networks, d, scale=scale)
    encoded = networks.encoding.encode(pool.rows[:3])
    kind = networks._kernel.dtype
    found = encoded.astype(kind) @ networks._kernel + networks._bias
    for row, expected in zip(found, exact_hidden(networks, encoded), strict=True):
        assert [Fraction(float(value)) for value in row] == expected


@pytest.mark.parametrize(("n_networks", "d"), SHAPES)
def test_member_scores_are_those_of_the_rounded_kernel(n_networks, d, seed):
    networks, pool = untrained(seed, n_networks, d)
    encoded = networks.encoding.encode(pool.rows)
    hidden = encoded.astype(np.float64) @ networks._kernel + networks._bias
    hidden = np.maximum(hidden, 0).reshape(len(encoded), n_networks, HIDDEN)
    last, bias = networks.network.layers[1]
    expected = np.einsum("bmh,mhk->mb", hidden, last.astype(np.float64)) + bias[:, 0]
    np.testing.assert_allclose(networks.member_scores(encoded), expected, atol=2e-5, rtol=1e-5)
    np.testing.assert_allclose(networks.score(pool.rows), expected.mean(axis=0), atol=2e-5)


@pytest.mark.parametrize(("n_networks", "d"), SHAPES)
def test_rounding_to_the_grid_hardly_changes_the_network(n_networks, d, seed):
    networks, pool = untrained(seed, n_networks, d)
    encoded = networks.encoding.encode(pool.rows)
    plain, _ = networks.network.forward(encoded[None].astype(np.float64))
    np.testing.assert_allclose(networks.member_scores(encoded), plain[:, :, 0], atol=0.02)


def test_wide_tables_are_summed_in_double_precision(seed):
    assert untrained(seed, 2, 8)[0]._kernel.dtype == np.float32
    assert untrained(seed, 2, 1000)[0]._kernel.dtype == np.float64


@pytest.mark.parametrize(("n_networks", "d"), SHAPES)
def test_a_row_has_the_same_scores_alone_anywhere_and_in_any_order(n_networks, d, seed):
    networks, pool = untrained(seed, n_networks, d, n=700)
    together = networks.score(pool.rows)
    members = networks.member_scores(networks.encoding.encode(pool.rows))
    order = np.random.default_rng(seed).permutation(700)
    np.testing.assert_array_equal(networks.score(pool.rows[order]), together[order])
    for size in (1, 2, 3, 5, 8, 17, 130):
        parts = [pool.rows[start : start + size] for start in range(0, 100, size)]
        scores = np.concatenate([networks.score(part) for part in parts])
        np.testing.assert_array_equal(scores, together[: len(scores)])
        each = [networks.member_scores(networks.encoding.encode(part)) for part in parts]
        each = np.concatenate(each, axis=1)
        np.testing.assert_array_equal(each, members[:, : each.shape[1]])


# Contributions


@pytest.mark.parametrize(("n_networks", "d"), SHAPES)
def test_contributions_add_up_to_the_score_over_the_baseline_s(n_networks, d, seed):
    networks, pool = untrained(seed, n_networks, d)
    baseline = np.median(pool.rows, axis=0)
    parts = networks.contributions(pool.rows, baseline)
    assert parts.shape == pool.rows.shape
    expected = networks.score(pool.rows) - networks.score(baseline[None])
    np.testing.assert_allclose(parts.sum(axis=1), expected, atol=1e-5 if d > 60 else 2e-6)
    np.testing.assert_array_equal(networks.contributions(baseline[None], baseline), 0)


def test_contributions_are_integrated_gradients(seed):
    networks, pool = untrained(seed, 3, 4)
    baseline = np.median(pool.rows, axis=0)
    encoded = networks.encoding.encode(np.concatenate([pool.rows[:20], baseline[None]]))
    start, rows = encoded[-1].astype(np.float64), encoded[:-1].astype(np.float64)
    kernel, bias = (part.astype(np.float64) for part in (networks._kernel, networks._bias))
    last = networks.network.layers[1][0].ravel().astype(np.float64) / 3
    way = (np.arange(20_000) + 0.5) / 20_000  # midpoints of many short steps
    for row, found in zip(rows, networks.contributions(pool.rows[:20], baseline), strict=True):
        points = start + way[:, None] * (row - start)
        is_on = points @ kernel + bias > 0
        expected = (row - start) * ((is_on.mean(axis=0) * last) @ kernel.T)
        np.testing.assert_allclose(found, expected, atol=1e-3)


# Training


def trained(seed, pool, n_networks=2, **settings):
    generators = np.random.default_rng(seed).spawn(n_networks)
    bags = draw_bags(BAG_ROWS, pool, generators)
    encoding = RankNormal.learn(pool.rows)
    return train_networks(pool, encoding, bags, margin=5.0, generators=generators, **settings)


def test_networks_learn_and_their_out_of_bag_scores_are_honest(seed):
    pool, new = make_pool(seed), make_pool(seed + 1000)
    networks, out_of_bag = trained(seed, pool, n_networks=6)
    truth = np.repeat([0, 1], [400, 12])
    honest = roc_auc_score(truth, np.concatenate(out_of_bag))
    actual = roc_auc_score(truth, networks.score(np.concatenate([new.rows, new.anomalies])))
    assert actual > 0.85
    assert abs(honest - actual) < 0.12


def test_a_network_is_the_same_whatever_the_others_and_the_cores_are(seed, monkeypatch):
    monkeypatch.setattr(deviation_networks, "THREADED", 1)
    pool = make_pool(seed)
    parameters = []
    for n_cores, n_networks in ((1, 3), (2, 3), (3, 3), (1, 2)):
        monkeypatch.setattr("devnet.core.cores.cpu_count", lambda n_cores=n_cores: n_cores)
        parameters.append(trained(seed, pool, n_networks)[0].network.parameters)
    for other in parameters[1:]:
        np.testing.assert_array_equal(other, parameters[0][: len(other)])


def test_going_on_starts_from_the_earlier_weights_and_leaves_them(seed):
    pool = make_pool(seed)
    networks, _ = trained(seed, pool)
    before = networks.network.parameters.copy()
    more, _ = trained(seed + 1, pool, earlier=networks.network)
    np.testing.assert_array_equal(networks.network.parameters, before)
    moved = abs(more.network.parameters - before).mean()
    fresh = abs(trained(seed + 1, pool)[0].network.parameters - before).mean()
    assert 0 < moved < fresh / 2


# Model files


def test_tensors_and_back_score_alike(seed):
    networks, pool = untrained(seed, 3, 8)
    again = BaggedNetworks.from_tensors(networks.to_tensors(), 8, 300)
    assert len(again) == 3
    np.testing.assert_array_equal(again.score(pool.rows), networks.score(pool.rows))


@pytest.mark.parametrize(
    "edit",
    [
        lambda array: array[:0],
        lambda array: array[:-1],
        lambda array: array[:, :-1],
        lambda array: array.ravel(),
        lambda array: array.ravel()[0],
        lambda array: array.astype(np.float64),
        lambda array: np.full_like(array, np.nan),
    ],
)
def test_edited_parameters_get_a_sentence(edit, seed):
    tensors = untrained(seed, 3, 8)[0].to_tensors()
    edited = tensors | {"parameters": np.asarray(edit(tensors["parameters"]))}
    with pytest.raises(ModelFileError, match="model file"):
        BaggedNetworks.from_tensors(edited, 8, 300)


def test_enormous_parameters_are_refused(seed):
    networks, _ = untrained(seed, 3, 8)
    tensors = networks.to_tensors()
    tensors["parameters"] = np.full_like(tensors["parameters"], 3e38)
    with pytest.raises(ModelFileError, match="a weight is larger than"):
        BaggedNetworks.from_tensors(tensors, 8, 300)
