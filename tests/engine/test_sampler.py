"""Every batch is exactly half and half, whatever the labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tasks import make_labels

from devnet.core.known_normals import WORTH
from devnet.core.rows import as_rows
from devnet.engine.sampler import BalancedSampler


def numbered_rows(n):
    """Rows that carry their own number."""
    return np.arange(n, dtype=np.float32)[:, None]


def draw(
    rows,
    is_anomaly,
    *,
    half=8,
    n_steps=6,
    members=1,
    seed=0,
    weight=None,
    sparse=False,
    is_normal=None,
    counted=True,
):
    sampler = BalancedSampler(
        as_rows(rows),
        make_labels(is_anomaly, is_normal),
        batch_size=2 * half,
        n_steps=n_steps,
        generators=[np.random.default_rng([seed, member]) for member in range(members)],
        sample_weight=weight,
        counted=counted,
    )
    return list(sampler.batches(lambda array: array, sparse=sparse))


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 10), st.integers(1, 3))
def test_every_batch_is_exactly_half_and_half(n_labelled, n_unlabelled, half, members):
    n = n_labelled + n_unlabelled
    is_anomaly = np.arange(n) < n_labelled
    for batch in draw(numbered_rows(n), is_anomaly, half=half, members=members):
        drawn = batch.rows[:, :, 0].astype(int)
        np.testing.assert_array_equal(is_anomaly[drawn], batch.is_anomaly[:, :, 0])
        counts = batch.weight[:, :, 0] * 2 * half
        np.testing.assert_allclose(counts, np.round(counts), atol=1e-4)
        labelled = np.where(batch.is_anomaly[:, :, 0], counts, 0)
        np.testing.assert_allclose(labelled.sum(1), half, rtol=1e-5)
        np.testing.assert_allclose((counts - labelled).sum(1), half, rtol=1e-5)


def test_uncounted_draws_are_rows_of_their_own():
    is_anomaly = np.arange(30) < 5
    for batch in draw(numbered_rows(30), is_anomaly, half=20, counted=False):
        assert batch.rows.shape == (1, 40, 1)
        np.testing.assert_allclose(batch.weight, 1 / 40)
        assert batch.is_anomaly.sum() == 20
        assert (batch.rows[0, :20] < 5).all()


def test_counted_draws_have_the_law_of_single_draws(seed):
    is_anomaly = np.arange(30) < 5
    batches = draw(numbered_rows(30), is_anomaly, half=20, n_steps=3000, seed=seed)
    counts = np.array([batch.weight[0, :5, 0] * 40 for batch in batches])
    np.testing.assert_allclose(counts.mean(0), 4, atol=0.2)  # multinomial: 20 draws of 5 rows
    np.testing.assert_allclose(counts.var(0), 20 * 0.2 * 0.8, rtol=0.12)


def test_sample_weight_is_the_probability_of_a_draw(seed):
    is_anomaly = np.arange(12) < 3
    weight = np.array([1, 3, 0] + [0, 0, 1, 1, 2, 0, 0, 0, 0], dtype=float)
    batches = draw(numbered_rows(12), is_anomaly, half=50, n_steps=400, seed=seed, weight=weight)
    totals = np.zeros(12)
    for batch in batches:
        np.add.at(totals, batch.rows[0, :, 0].astype(int), batch.weight[0, :, 0])
    totals /= len(batches)
    np.testing.assert_allclose(totals[:3], [0.125, 0.375, 0], atol=0.01)
    np.testing.assert_allclose(totals[3:], np.array([0, 0, 1, 1, 2, 0, 0, 0, 0]) / 8, atol=0.01)


def test_a_member_draws_the_same_however_many_there_are():
    is_anomaly = np.arange(50) < 4
    alone = draw(numbered_rows(50), is_anomaly, members=1)
    together = draw(numbered_rows(50), is_anomaly, members=3)
    for one, three in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.rows[0], three.rows[0])
        assert not np.array_equal(three.rows[0], three.rows[1])


def test_sparse_batches_hold_the_same_rows():
    is_anomaly = np.arange(50) < 4
    rows = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    dense = draw(rows, is_anomaly)
    sparse = draw(sp.csr_matrix(rows), is_anomaly, sparse=True)
    for one, other in zip(dense, sparse, strict=True):
        np.testing.assert_array_equal(one.rows[0], other.rows[0].toarray())


def test_few_known_normal_rows_are_drawn_as_often_as_many_unlabelled_ones(seed):
    n = 5000
    is_normal = np.isin(np.arange(n), [100, 200])
    batches = draw(
        numbered_rows(n), np.arange(n) < 3, half=256, n_steps=100, seed=seed, is_normal=is_normal
    )
    drawn = np.concatenate([b.rows[~b.is_anomaly[:, :, 0]].astype(int).ravel() for b in batches])
    share = 2 * WORTH / (2 * WORTH + n - 5)
    assert is_normal[drawn].mean() == pytest.approx(share, rel=0.2)
    assert set(drawn[is_normal[drawn]]) == {100, 200}
