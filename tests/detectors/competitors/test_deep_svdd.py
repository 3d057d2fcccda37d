"""DeepSVDD's objective against NumPy, and its centre."""

import logging

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from support.tasks import make_task, numerical_slope

from devnet.competitors import DeepSVDD
from devnet.detectors.competitors.deep_svdd import svdd_loss_and_slope


def oracle(offset, is_anomaly, margin):
    """One row at a time."""
    loss = np.zeros(len(offset))
    for row, vector in enumerate(offset):
        distance = np.sqrt(sum(value**2 for value in vector))
        if not is_anomaly[row]:
            loss[row] = distance**2
        elif margin is not None:
            loss[row] = max(0.0, margin - distance)
    return loss


@pytest.mark.parametrize("margin", [None, 1.5, 5.0])
def test_loss_and_slope(margin, seed):
    generator = np.random.default_rng(seed)
    offset = generator.normal(size=(2, 7, 3))
    is_anomaly = generator.random((2, 7, 1)) < 0.5
    loss, slope = svdd_loss_and_slope(offset, is_anomaly=is_anomaly, margin=margin)
    for member in range(2):
        expected = oracle(offset[member], is_anomaly[member, :, 0], margin)
        np.testing.assert_allclose(loss[member, :, 0], expected, atol=1e-9)

    def total(values):
        return svdd_loss_and_slope(values, is_anomaly=is_anomaly, margin=margin)[0].sum()

    np.testing.assert_allclose(slope, numerical_slope(total, offset), atol=1e-5)


def test_a_row_at_the_centre_is_no_trouble():
    loss, slope = svdd_loss_and_slope(
        np.zeros((1, 2, 3)), is_anomaly=np.array([[[True], [False]]]), margin=5.0
    )
    np.testing.assert_allclose(loss[0, :, 0], [5, 0])
    assert np.isfinite(slope).all()


def test_scores_are_distances_to_a_fixed_centre_and_there_are_no_biases(task):
    rows, y, _ = task
    model = DeepSVDD(n_epochs=2, random_state=0).fit(rows, y)
    outputs = np.maximum(rows.astype(np.float64) @ model.network_._kernels[0][0], 0)
    expected = np.linalg.norm(outputs - model.landmarks_[0, 0], axis=1)
    np.testing.assert_allclose(model.anomaly_score(rows), expected, rtol=1e-5)
    assert not np.any(model.network_._biases[0])
    longer = DeepSVDD(n_epochs=4, random_state=0).fit(rows, y)
    np.testing.assert_array_equal(longer.landmarks_, model.landmarks_)


def test_the_centre_is_the_mean_initial_representation(task):
    rows, y, _ = task
    model = DeepSVDD(n_epochs=1, n_batches=1, learning_rate=1e-12, random_state=0).fit(rows, y)
    outputs = np.maximum(rows[y == 0].astype(np.float64) @ model.network_._kernels[0][0], 0)
    np.testing.assert_allclose(model.landmarks_[0, 0], outputs.mean(0), rtol=1e-4)


def test_the_centre_stays_when_training_goes_on(task):
    rows, y, _ = task
    model = DeepSVDD(n_epochs=2, random_state=0).fit(rows, y)
    centre = model.landmarks_.copy()
    np.testing.assert_array_equal(model.partial_fit(rows, y).landmarks_, centre)


def test_without_margin_labels_are_ignored_which_is_said(seed, caplog):
    rows, y, truth = make_task(seed, shift=4)
    with caplog.at_level(logging.INFO):
        model = DeepSVDD(margin=None, n_epochs=5, random_state=0).fit(rows, y)
    assert "ignores the 20 labels" in caplog.text
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.8
    for nothing in (None, np.zeros(len(rows))):
        alone = DeepSVDD(margin=None, n_epochs=5, random_state=0).fit(rows, nothing)
        assert roc_auc_score(truth, alone.anomaly_score(rows)) > 0.8
    with pytest.raises(ValueError, match="requires y"):
        DeepSVDD().fit(rows, None)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_without_margin_a_fit_is_one_to_the_other_rows_alone(seed, is_weighted):
    rows, y, _ = make_task(seed)
    weights = np.random.default_rng(seed).random(len(rows)) if is_weighted else None
    model = DeepSVDD(margin=None, n_epochs=2, random_state=0).fit(rows, y, sample_weight=weights)
    others = y == 0
    weights = None if weights is None else weights[others]
    alone = DeepSVDD(margin=None, n_epochs=2, random_state=0)
    alone.fit(rows[others], np.zeros(others.sum()), sample_weight=weights)
    np.testing.assert_array_equal(model.anomaly_score(rows), alone.anomaly_score(rows))
    assert model.threshold_ == alone.threshold_
