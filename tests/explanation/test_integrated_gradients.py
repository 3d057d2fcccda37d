"""Integrated gradients of scoring networks: exact where they can be, complete everywhere."""

import numpy as np
import pytest
import scipy.sparse as sp

from devnet.engine.scoring_network import ScoringNetwork
from devnet.engine.sparse_layer import SparseKernel
from devnet.explanation.integrated_gradients import integrated_gradients, mean_slope

SHAPES = [((), True), ((7,), True), ((7,), False), ((12, 7), True), ((30, 12, 7), False)]


def network_of(hidden, output_unit, seed, d=5, m=2):
    generator = np.random.default_rng(seed)
    sizes = (d, *hidden, *([1] if output_unit else []))
    network = ScoringNetwork.initialise(sizes, generator.spawn(m), output_unit=output_unit)
    network.parameters = generator.normal(0, 0.5, network.parameters.shape).astype(np.float64)
    return ScoringNetwork(sizes, network.parameters, output_unit=output_unit)


def weighted_output(network, rows, weight):
    return np.einsum("mbk,mk->b", network.forward(rows[None])[0], weight)


@pytest.mark.parametrize(("hidden", "output_unit"), SHAPES)
def test_contributions_add_up_to_the_rise_of_the_output(hidden, output_unit, seed):
    generator = np.random.default_rng(seed)
    network = network_of(hidden, output_unit, seed)
    rows, baseline = generator.normal(size=(40, 5)), generator.normal(size=5)
    weight = generator.random((2, network.n_outputs))
    found = integrated_gradients(network, rows, baseline, weight)
    expected = weighted_output(network, rows, weight)
    expected = expected - weighted_output(network, baseline[None], weight)
    np.testing.assert_allclose(found.sum(axis=1), expected, atol=1e-10)


@pytest.mark.parametrize(("hidden", "output_unit"), SHAPES)
def test_they_are_the_mean_gradient_on_the_way_times_the_way(hidden, output_unit, seed):
    generator = np.random.default_rng(seed)
    network = network_of(hidden, output_unit, seed)
    rows, baseline = generator.normal(size=(6, 5)), generator.normal(size=5)
    weight = generator.random((2, network.n_outputs))
    found = integrated_gradients(network, rows, baseline, weight)
    tolerance = (5e-3 if len(hidden) > 1 else 1e-3) * abs(found).max()
    n_steps, step = 4000, 1e-6
    at = (np.arange(n_steps) + 0.5)[:, None] / n_steps
    for row, moved in zip(rows, found, strict=True):
        way = baseline + at * (row - baseline)
        for column in range(5):
            shift = step * (np.arange(5) == column)
            rise = weighted_output(network, way + shift, weight).copy()
            rise -= weighted_output(network, way - shift, weight)
            expected = (row - baseline)[column] * rise.mean() / (2 * step)
            assert moved[column] == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("hidden", [(), (7,), (12, 7)])
def test_a_sparse_first_kernel_gives_the_same(hidden, seed):
    generator = np.random.default_rng(seed)
    dense = network_of(hidden, True, seed, d=9)
    known = np.array([0, 2, 3, 7])
    kernel = dense.layers[0][0][:, known].copy()
    dense.layers[0][0][:, [1, 4, 5, 6, 8]] = 0  # a column outside the kernel weighs nothing
    first = SparseKernel(known, kernel, 9)
    sparse = ScoringNetwork(
        dense.sizes, dense.parameters[:, 9 * dense.sizes[1] :].copy(), first_kernel=first
    )
    rows = generator.normal(size=(30, 9)) * (generator.random((30, 9)) < 0.5)
    weight = np.ones((2, 1))
    found = integrated_gradients(sparse, sp.csr_array(rows), None, weight)
    assert found.nnz <= (rows != 0).sum()
    expected = integrated_gradients(dense, rows, None, weight)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-10)


def test_a_kernel_that_knows_no_column_contributes_nothing():
    generators = [np.random.default_rng(0)]
    network = ScoringNetwork.initialise((9, 4, 1), generators, sparse=True)
    rows = sp.csr_array(np.eye(9)[:3])
    assert not integrated_gradients(network, rows, None, np.ones((1, 1))).toarray().any()


def test_the_mean_slope_of_a_relu():
    start, end = np.array([-1.0, -1, -1, 1, 2, 0, 3, -3]), np.array([-2.0, 1, 3, 2, -2, 0, 3, -3])
    np.testing.assert_allclose(mean_slope(start, end), [0, 0.5, 0.75, 1, 0.5, 0, 1, 0])
