"""Forward and backward pass against torch and its autograd."""

import copy
import pickle

import numpy as np
import pytest

from devnet.core.rows import as_rows
from devnet.engine.scoring_network import ScoringNetwork

ARCHITECTURES = [((6, 4, 1), True), ((6, 1), True), ((6, 4), False), ((6, 8, 5, 3, 1), True)]


def make_network(sizes, output_unit, members=2, seed=0):
    generators = [np.random.default_rng([seed, member]) for member in range(members)]
    network = ScoringNetwork.initialise(sizes, generators, output_unit=output_unit)
    network.parameters += 0.1 * np.random.default_rng(seed).normal(size=network.parameters.shape)
    return network


def torch_twin(network, member):
    """The same member as an nn.Sequential."""
    torch = pytest.importorskip("torch")
    nn = torch.nn
    layers = []
    parts = network.layers
    for number, (kernel, bias) in enumerate(parts):
        layer = nn.Linear(kernel.shape[1], kernel.shape[2])
        layer.weight.data = torch.from_numpy(kernel[member].T.copy())
        layer.bias.data = torch.from_numpy(bias[member, 0].copy())
        layers.append(layer)
        if number < len(parts) - 1 or not network.output_unit:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


@pytest.mark.parametrize(("sizes", "output_unit"), ARCHITECTURES)
def test_equals_torch_and_autograd(sizes, output_unit, seed):
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(seed)
    network = make_network(sizes, output_unit, seed=seed)
    rows = generator.normal(size=(2, 9, sizes[0])).astype(np.float32)
    slope = generator.normal(size=(2, 9, sizes[-1])).astype(np.float32)
    outputs, tape = network.forward(rows)
    gradient = network.new_gradient()
    network.backward(tape, slope.copy(), gradient)
    for member in range(2):
        twin = torch_twin(network, member)
        expected = twin(torch.from_numpy(rows[member]))
        np.testing.assert_allclose(outputs[member], expected.detach(), rtol=1e-4, atol=1e-5)
        expected.backward(torch.from_numpy(slope[member]))
        linear = [layer for layer in twin if isinstance(layer, torch.nn.Linear)]
        for layer, kernel, bias in zip(linear, gradient.kernels, gradient.biases, strict=True):
            np.testing.assert_allclose(kernel[member], layer.weight.grad.T, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(bias[member, 0], layer.bias.grad, rtol=1e-4, atol=1e-5)


def test_members_do_not_meet(seed):
    network = make_network((6, 4, 1), True, members=3, seed=seed)
    rows = np.random.default_rng(seed).normal(size=(3, 5, 6)).astype(np.float32)
    together, _ = network.forward(rows)
    for member in range(3):
        alone = ScoringNetwork((6, 4, 1), network.parameters[member : member + 1])
        np.testing.assert_allclose(alone.forward(rows[member : member + 1])[0][0], together[member])


def test_initial_weights_are_glorot_uniform():
    generators = [np.random.default_rng(0)]
    network = ScoringNetwork.initialise((30, 20, 1), generators)
    kernel = network._kernels[0][0]
    limit = np.sqrt(6 / 50)
    assert 0.95 * limit < np.abs(kernel).max() <= limit
    assert kernel.std() == pytest.approx(limit / np.sqrt(3), rel=0.1)
    assert not network._biases[0].any()


def test_the_penalty_falls_on_hidden_kernels_only():
    assert make_network((6, 4, 1), True).n_penalised == 24
    assert make_network((6, 1), True).n_penalised == 0
    assert make_network((6, 4), False).n_penalised == 24
    assert make_network((6, 8, 5, 1), True).n_penalised == 48 + 40


def test_a_copy_of_any_kind_keeps_its_parameters_in_one_piece():
    network = make_network((6, 4, 1), True)
    for copied in (
        copy.deepcopy(network),
        pickle.loads(pickle.dumps(network)),
        network.start_training(as_rows(np.zeros((1, 6))), []),
    ):
        before = copied._kernels[0].copy()
        copied.parameters += 1
        np.testing.assert_allclose(copied._kernels[0], before + 1, rtol=1e-6)
        assert network._kernels[0].max() < 1.5


def test_wrong_parameters_are_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 33\), not \(1, 5\)"):
        ScoringNetwork((6, 4, 1), np.zeros((1, 5), dtype=np.float32))
