"""FSNet's objective against NumPy, and its prototypes."""

import numpy as np
from support.tasks import numerical_slope

from devnet.competitors import FSNet
from devnet.detectors.competitors.fsnet import prototype_loss_and_slope


def oracle(outputs, is_anomaly, counts):
    """One row at a time, each as often as it was drawn."""
    rows = np.repeat(outputs, counts, axis=0)
    labels = np.repeat(is_anomaly, counts)
    prototypes = [rows[labels == label].mean(0) for label in (False, True)]
    losses = []
    for row, label in zip(rows, labels, strict=True):
        weights = [np.exp(-((row - prototype) ** 2).sum()) for prototype in prototypes]
        losses.append(-np.log(weights[int(label)] / sum(weights)))
    return np.mean(losses)


def batch(seed):
    generator = np.random.default_rng(seed)
    outputs = generator.normal(size=(2, 9, 4))
    is_anomaly = np.tile((np.arange(9) < 4)[:, None], (2, 1, 1))
    counts = generator.integers(1, 4, size=(2, 9))
    return outputs, is_anomaly, counts, counts[:, :, None] / counts.sum(1)[:, None, None]


def test_loss_is_that_of_an_episode(seed):
    outputs, is_anomaly, counts, weight = batch(seed)
    loss, _ = prototype_loss_and_slope(outputs, is_anomaly=is_anomaly, weight=weight)
    expected = [oracle(outputs[m], is_anomaly[m, :, 0], counts[m]) for m in range(2)]
    np.testing.assert_allclose(loss, expected)


def test_slope_flows_through_the_prototypes_too(seed):
    outputs, is_anomaly, _, weight = batch(seed)

    def total(values):
        return prototype_loss_and_slope(values, is_anomaly=is_anomaly, weight=weight)[0].sum()

    _, slope = prototype_loss_and_slope(outputs, is_anomaly=is_anomaly, weight=weight)
    np.testing.assert_allclose(slope, numerical_slope(total, outputs), atol=1e-6)


def test_far_representations_do_not_overflow():
    outputs = np.array([[[0.0], [1e3]]])
    loss, slope = prototype_loss_and_slope(
        outputs, is_anomaly=np.array([[[False], [True]]]), weight=np.full((1, 2, 1), 0.5)
    )
    assert np.isfinite(loss).all()
    assert np.isfinite(slope).all()


def test_scores_are_log_odds_that_do_not_saturate(task):
    rows, y, _ = task
    model = FSNet(n_epochs=5, random_state=0).fit(rows, y)
    kernel, bias = model.network_._kernels[0][0], model.network_._biases[0][0]

    def represent(part):
        return np.maximum(part.astype(np.float64) @ kernel + bias, 0)

    prototypes = [represent(rows[y == label]).mean(0) for label in (0, 1)]
    np.testing.assert_allclose(model.landmarks_[0], prototypes, rtol=1e-5)
    distances = [((represent(rows) - p) ** 2).sum(1) for p in prototypes]
    expected = distances[0] - distances[1]
    np.testing.assert_allclose(model.anomaly_score(rows), expected, rtol=1e-4, atol=1e-4)
    probability = 1 / (1 + np.exp(-expected))
    softmax = np.exp(-distances[1]) / (np.exp(-distances[0]) + np.exp(-distances[1]))
    np.testing.assert_allclose(probability, softmax)
