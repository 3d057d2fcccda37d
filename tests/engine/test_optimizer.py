"""The optimizer against the update rules of Keras 2, written out one weight at a time."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from devnet.core.arrays import to_numpy
from devnet.engine.optimizer import Adadelta, Optimizer, RMSprop, _clip
from devnet.engine.scoring_network import Gradient, ScoringNetwork
from devnet.engine.sparse_layer import ColumnGradient, SparseKernel

SIZES = (6, 4, 1)


def keras(rule, weights, gradients, *, n_penalised, l2, clip_norm):
    """Keras 2.2: penalty in the loss, clip by global norm, then the rule."""
    weights = weights.astype(np.float64)
    mean_square = np.zeros_like(weights)
    mean_square_step = np.zeros_like(weights)
    for gradient in gradients:
        gradient = gradient.astype(np.float64)
        gradient[:n_penalised] += 2 * l2 * weights[:n_penalised]
        norm = np.sqrt((gradient**2).sum())
        if clip_norm is not None and norm >= clip_norm:
            gradient = gradient * clip_norm / norm
        if isinstance(rule, RMSprop):  # rho 0.9, epsilon outside the root
            mean_square = 0.9 * mean_square + 0.1 * gradient**2
            step = gradient / (np.sqrt(mean_square) + 1e-7)
        else:  # Adadelta: rho 0.95, epsilon inside both roots
            mean_square = 0.95 * mean_square + 0.05 * gradient**2
            step = gradient * np.sqrt(mean_square_step + 1e-7) / np.sqrt(mean_square + 1e-7)
            mean_square_step = 0.95 * mean_square_step + 0.05 * step**2
        weights = weights - rule.learning_rate * step
    return weights


def as_on_torch(network):
    """What the optimizer sees of a network, with the torch tensors of a module."""
    torch = pytest.importorskip("torch")
    return SimpleNamespace(
        parameters=torch.from_numpy(network.parameters.copy()),
        n_penalised=network.n_penalised,
        first_kernel=None,
        to_device=lambda array: torch.from_numpy(array.copy()),
    )


@pytest.mark.parametrize("with_torch", [False, True])
@pytest.mark.parametrize("clip_norm", [None, 1.0, 100.0])
@pytest.mark.parametrize("rule", [RMSprop(0.01), Adadelta(1.0)])
def test_equals_keras(with_torch, clip_norm, rule, seed):
    generator = np.random.default_rng(seed)
    network = ScoringNetwork.initialise(SIZES, [generator, generator])
    start = network.parameters.copy()
    if with_torch:
        network = as_on_torch(network)
    gradients = generator.normal(size=(5, *start.shape)).astype(np.float32)
    optimizer = Optimizer(network, rule, l2=0.3, clip_norm=clip_norm)
    for gradient in gradients:
        optimizer.step(Gradient(network.parameters * 0 + network.to_device(gradient)))
    for member in range(2):
        expected = keras(
            rule, start[member], gradients[:, member], n_penalised=24, l2=0.3, clip_norm=clip_norm
        )
        found = to_numpy(network.parameters)[member]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_penalty_counts_hidden_kernels_only():
    network = ScoringNetwork.initialise(SIZES, [np.random.default_rng(0)])
    optimizer = Optimizer(network, RMSprop(0.01), l2=0.3, clip_norm=1.0)
    expected = 0.3 * (network._kernels[0] ** 2).sum()
    np.testing.assert_allclose(optimizer.penalty(), [expected], rtol=1e-5)


def test_a_zero_gradient_changes_nothing():
    network = ScoringNetwork.initialise(SIZES, [np.random.default_rng(0)])
    start = network.parameters.copy()
    Optimizer(network, RMSprop(0.01), l2=0.0, clip_norm=1.0).step(network.new_gradient())
    np.testing.assert_array_equal(network.parameters, start)


@pytest.mark.parametrize(
    ("with_torch", "has_columns"), [(False, False), (False, True), (True, False)]
)
def test_a_gradient_whose_square_exceeds_single_precision_is_clipped(with_torch, has_columns, seed):
    generator = np.random.default_rng(seed)
    network = ScoringNetwork.initialise(SIZES, [generator, generator])
    network = as_on_torch(network) if with_torch else network
    direction = generator.normal(size=network.parameters.shape).astype(np.float32)
    slopes = generator.normal(size=(2, 3, 4)).astype(np.float32) if has_columns else []
    gradients = []
    for size in (1e3, 1e25):
        dense = np.float32(size) * direction
        dense = network.to_device(dense) if with_torch else dense
        found = Gradient(dense)
        found.columns = [ColumnGradient(None, None, np.float32(size) * one) for one in slopes]
        _clip(found, 1.0)
        gradients.append([to_numpy(found.dense), *(one.slope for one in found.columns)])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    squares = [np.square(part.reshape(len(part), -1)).sum() for part in gradients[1]]
    assert np.isclose(sum(squares), 2, rtol=1e-5)  # two members, each of norm 1


def lazy_and_dense(seed, l2, density, n_steps=12, d=30, rule=None):
    """Both ways to train the same first kernel on the same sparse batches."""
    rule = rule or RMSprop(0.01)
    generator = np.random.default_rng(seed)
    dense = ScoringNetwork.initialise((d, 4, 1), [generator])
    first = SparseKernel(np.arange(d), dense._kernels[0].copy(), d).start_training(np.arange(d), [])
    lazy = ScoringNetwork((d, 4, 1), dense.parameters[:, d * 4 :].copy(), first_kernel=first)
    optimizers = [Optimizer(n, rule, l2=l2, clip_norm=1.0) for n in (dense, lazy)]
    touched = np.zeros(d, dtype=bool)
    for _ in range(n_steps):
        rows = sp.random_array((5, d), density=density, format="csr", dtype="f4", rng=generator)
        touched[rows.indices] = True
        slope = generator.normal(size=(1, 5, 1)).astype(np.float32)
        for network, batch, optimizer in zip(
            (dense, lazy), (rows.toarray()[None], [rows]), optimizers, strict=True
        ):
            _, tape = network.forward(batch)
            gradient = network.new_gradient()
            network.backward(tape, slope.copy(), gradient)
            optimizer.step(gradient)
    return dense, lazy, optimizers, touched


@pytest.mark.parametrize("rule", [RMSprop(0.01), Adadelta(1.0)])
def test_lazy_columns_without_penalty_equal_the_dense_rule(rule, seed):
    dense, lazy, _, _ = lazy_and_dense(seed, l2=0.0, density=0.05, rule=rule)
    np.testing.assert_allclose(lazy.first_kernel.kernel, dense._kernels[0], rtol=1e-4, atol=1e-5)


def test_lazy_columns_with_penalty_equal_it_when_every_batch_touches_all(seed):
    dense, lazy, optimizers, _ = lazy_and_dense(seed, l2=0.05, density=1.0)
    np.testing.assert_allclose(lazy.first_kernel.kernel, dense._kernels[0], rtol=1e-4, atol=1e-5)
    penalties = [optimizer.penalty() for optimizer in optimizers]
    np.testing.assert_allclose(penalties[0], penalties[1], rtol=1e-4)


def test_changed_columns_are_told_once(seed):
    _, lazy, (_, optimizer), touched = lazy_and_dense(seed, l2=0.05, density=0.02, n_steps=3)
    np.testing.assert_array_equal(optimizer.changed_columns(0), np.flatnonzero(touched))
    assert len(optimizer.changed_columns(0)) == 0
    assert lazy.first_kernel.kernel.shape == (1, 30, 4)
