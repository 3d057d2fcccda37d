"""The objective's slope is the derivative of its loss, whatever the reference is made of."""

import numpy as np
import pytest

from devnet import DataReference, GaussianPrior, HybridReference
from devnet.engine.deviation_objective import deviation_objective
from devnet.engine.sampler import Batch

STEP = 1e-6


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("kind", [GaussianPrior, DataReference, HybridReference])
def test_the_slope_is_that_of_finite_differences(kind, n_outputs, seed):
    generator = np.random.default_rng(seed)
    outputs = generator.normal(2, 2, size=(2, 8, n_outputs))
    is_anomaly = np.tile((np.arange(8) < 3)[:, None], (2, 1, 1))
    weight = generator.random((2, 8, 1))
    batch = Batch(0, None, is_anomaly, weight / weight.sum(1)[:, None])
    generators = [np.random.default_rng([seed, member]) for member in range(2)]
    reference_of = kind().for_training(n_outputs, 1, generators, lambda array: array)
    objective = deviation_objective(reference_of, 5.0)
    loss, slope = objective(outputs.copy(), batch)
    assert loss.shape == (2,)
    for place in np.ndindex(outputs.shape):
        moved = outputs.copy()
        moved[place] += STEP
        found = (objective(moved, batch)[0] - loss).sum() / STEP
        assert slope[place] == pytest.approx(found, abs=1e-4)


def test_rows_count_by_their_weight():
    outputs = np.array([[[1.0], [2.0]]])
    batch = Batch(0, None, np.zeros((1, 2, 1), bool), np.array([[[0.25], [0.75]]]))
    reference_of = GaussianPrior(n_scores=10**9).for_training(
        1, 1, [np.random.default_rng(0)], lambda array: array
    )
    loss, slope = deviation_objective(reference_of, 5.0)(outputs, batch)
    assert loss == pytest.approx([0.25 * 1 + 0.75 * 2], rel=1e-3)
    np.testing.assert_allclose(slope[0, :, 0], [0.25, 0.75], rtol=1e-3)
