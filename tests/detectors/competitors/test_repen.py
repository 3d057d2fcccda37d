"""REPEN's objective against NumPy, its triplets and its scores."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from support.tasks import make_labels, make_task, numerical_slope

from devnet.competitors import REPEN
from devnet.core.rows import as_rows
from devnet.detectors.competitors.lesinn import draw_subsamples, lesinn_scores
from devnet.detectors.competitors.repen import triplet_loss_and_slope
from devnet.detectors.competitors.triplet_sampler import TripletSampler


def test_loss_and_slope(seed):
    outputs = np.random.default_rng(seed).normal(size=(2, 3 * 5, 4))
    margin = 3.0

    def total(values):
        return triplet_loss_and_slope(values, margin=margin)[0].sum()

    loss, slope = triplet_loss_and_slope(outputs, margin=margin)
    for member in range(2):
        query, positive, negative = outputs[member].reshape(3, 5, 4)
        losses = [
            max(0.0, margin - ((q - n) ** 2).sum() + ((q - p) ** 2).sum())
            for q, p, n in zip(query, positive, negative, strict=True)
        ]
        assert loss[member] == pytest.approx(np.mean(losses))
    np.testing.assert_allclose(slope, numerical_slope(total, outputs), atol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_lesinn_is_the_mean_distance_to_the_nearest_of_each_subsample(make, seed):
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(300, 6)).astype(np.float32)
    chosen = draw_subsamples(np.arange(300), generator)
    assert chosen.shape == (400,)
    subsamples = chosen.reshape(8, 50).T
    assert all(len(set(part)) == 8 for part in subsamples.tolist())
    rows = as_rows(make(matrix))
    found = lesinn_scores(rows, rows.select(chosen))
    nearest = [
        np.linalg.norm(matrix[:, None].astype(float) - matrix[part], axis=2).min(1)
        for part in subsamples
    ]
    np.testing.assert_allclose(found, np.mean(nearest, axis=0), rtol=1e-4, atol=1e-5)


def triplets(rows, is_anomaly, seed, n_steps=60, batch_size=64, is_normal=None):
    """Row indices (n, 3), read off a first column that numbers the rows."""
    numbered = np.column_stack([np.arange(len(rows)), rows]).astype(np.float32)
    sampler = TripletSampler(
        as_rows(numbered),
        make_labels(is_anomaly, is_normal),
        batch_size=batch_size,
        n_steps=n_steps,
        generators=[np.random.default_rng(seed)],
    )
    batches = sampler.batches(lambda array: array, sparse=False)
    drawn = [batch.rows[0, :, 0].reshape(3, -1).T for batch in batches]
    return np.concatenate(drawn).astype(int)


def test_triplets_are_inliers_and_an_anomaly_or_an_outlier_in_turn(seed):
    rows = np.zeros((500, 2), dtype=np.float32)
    rows[:, 0] = np.random.default_rng(seed).normal(size=500)
    is_anomaly = np.arange(500) < 10
    rows[10:20] += 1e6  # outliers that nobody labelled, beyond what the numbering column adds
    drawn = triplets(rows, is_anomaly, seed)
    query, positive, negative = drawn.T
    assert query.min() >= 20
    assert positive.min() >= 20
    assert (query != positive).all()
    by_turn = negative.reshape(60, 64)
    assert (by_turn[:, ::2] < 10).all()
    assert ((by_turn[:, 1::2] >= 10) & (by_turn[:, 1::2] < 20)).all()
    alone = triplets(rows, np.zeros(500, dtype=bool), seed)
    assert ((alone[:, 2] >= 10) & (alone[:, 2] < 20)).all()


def test_steps_follow_the_number_of_rows_within_limits():
    assert [REPEN()._steps_of_an_epoch(n) for n in (100, 10_000, 10**6)] == [20, 39, 100]
    assert REPEN(n_batches=7)._steps_of_an_epoch(10**6) == 7


def test_finds_outliers_without_labels(seed):
    rows, _, truth = make_task(seed, shift=4)
    for nothing in (None, np.zeros(len(rows), dtype=int)):
        model = REPEN(n_epochs=5, random_state=seed).fit(rows, nothing)
        assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.8
        assert model.predict(rows).max() == 1


def test_the_subsamples_that_score_are_part_of_the_model(task):
    rows, y, _ = task
    model = REPEN(n_epochs=2, random_state=0).fit(rows, y)
    kernel, bias = model.network_._kernels[0][0], model.network_._biases[0][0]
    outputs = np.maximum(rows.astype(np.float64) @ kernel + bias, 0)
    distances = np.linalg.norm(outputs[:, None] - model.landmarks_[0], axis=2)
    expected = distances.reshape(len(rows), 8, 50).min(1).mean(1)
    np.testing.assert_allclose(model.anomaly_score(rows), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_unlabelled", [1, 2, 5])
def test_very_few_rows_are_no_trouble(n_unlabelled):
    rows = np.arange(2.0 * (n_unlabelled + 1)).reshape(-1, 2)
    y = np.arange(n_unlabelled + 1) == n_unlabelled
    scores = REPEN(n_epochs=1, n_batches=2, random_state=0).fit(rows, y).anomaly_score(rows)
    assert np.isfinite(scores).all()
    alike = REPEN(n_epochs=1, n_batches=2, random_state=0).fit(np.ones((9, 2)), np.arange(9) == 0)
    assert np.isfinite(alike.anomaly_score(rows)).all()


def test_a_row_close_to_a_subsample_scores_the_same_alone():
    rows = np.repeat(np.random.default_rng(0).normal(1000, 1, (21, 2)), 2, axis=0)
    y = np.arange(42) == 0
    model = REPEN(n_epochs=1, n_batches=2, random_state=0).fit(rows, y)
    alone = np.concatenate([model.anomaly_score(row[None]) for row in rows])
    np.testing.assert_array_equal(alone, model.anomaly_score(rows))


def test_what_rounding_leaves_of_no_distance_is_none():
    rows = np.full((5, 3), [0.1, 0.7, 1.3])
    model = REPEN(n_epochs=1, n_batches=2, random_state=0).fit(rows, np.arange(5) == 0)
    points = model.landmarks_[:, :1].astype(np.float64)  # all are the same
    assert points.any()
    for outputs in (points, np.nextafter(points, np.inf)):
        assert model._member_scores(outputs).tolist() == [[0.0]]


def test_known_normal_rows_are_queries_but_never_negatives(seed):
    rows = np.zeros((500, 2), dtype=np.float32)
    rows[10:20] += 1e6  # outliers, had nobody looked at them
    is_anomaly, is_normal = np.arange(500) < 10, np.isin(np.arange(500), np.arange(10, 20))
    query, positive, negative = triplets(rows, is_anomaly, seed, is_normal=is_normal).T
    assert not is_normal[negative].any()
    assert is_normal[query].mean() > 5 * is_normal.mean()
    assert is_normal[positive].any()
    *_, without = triplets(rows, is_anomaly, seed).T
    assert is_normal[without].any()


def test_the_nearest_of_points_that_are_nearly_the_same_is_the_same_alone(seed):
    """Squared distances of about 1e-17 would be lost among coordinates of about 1."""
    generator = np.random.default_rng(seed)
    far = generator.integers(0, 2, (54, 2))
    rows = np.hstack([far, 3e-9 * generator.integers(0, 9, (54, 2))])
    model = REPEN(n_epochs=1, n_batches=2, random_state=seed).fit(rows, np.arange(54) == 0)
    alone = np.concatenate([model.anomaly_score(row[None]) for row in rows])
    np.testing.assert_array_equal(alone, model.anomaly_score(rows))
    assert len(np.unique(alone)) > 1
