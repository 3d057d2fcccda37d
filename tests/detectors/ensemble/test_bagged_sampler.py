"""Batches of bags: half and half, from the member's own bag, never an excluded row."""

import numpy as np
import pytest

from devnet.detectors.ensemble.bagged_sampler import HALF, MAX_ANOMALIES, BaggedSampler
from devnet.detectors.ensemble.bags import draw_bags
from devnet.detectors.ensemble.pool import Pool


def make(seed, n=300, k=9, d=3, n_members=3, bag=60, n_steps=40, counts=None, members=slice(None)):
    """A sampler of rows whose values identify them."""
    rows = np.repeat(np.arange(n + k, dtype=np.float32)[:, None], d, axis=1)
    anomalies, unlabelled = rows[:k], rows[k:]
    pool = Pool(unlabelled, np.ones(n), anomalies, np.ones(k), np.arange(k), np.full(k, -1))
    generators = np.random.default_rng(seed).spawn(n_members)
    bags = draw_bags(bag, pool, generators)
    sampler = BaggedSampler(
        unlabelled,
        anomalies,
        bags.members(members),
        np.ones(n, dtype=bool) if counts is None else counts,
        n_steps=n_steps,
        generators=generators[members],
    )
    return sampler, bags


def copied(sampler):
    return [batch._replace(rows=batch.rows.copy()) for batch in sampler.batches()]


@pytest.mark.parametrize("n", [1, 2, 30, 300, 2000])
@pytest.mark.parametrize("k", [1, 9, MAX_ANOMALIES, MAX_ANOMALIES + 50])
def test_batches_are_half_and_half(n, k, seed):
    sampler, bags = make(seed, n=n, k=k, bag=1024, n_steps=3)
    batches = list(sampler.batches())
    assert [batch.step for batch in batches] == [0, 1, 2]
    for batch in batches:
        a = min(k, MAX_ANOMALIES)
        half = min(HALF, bags.unlabelled.shape[1])
        assert batch.rows.shape == (3, a + half, 3)
        assert batch.rows.dtype == batch.weight.dtype == np.float32
        np.testing.assert_array_equal(batch.is_anomaly[:, :, 0].sum(axis=1), a)
        anomalies = (batch.weight * batch.is_anomaly).sum(axis=(1, 2))
        np.testing.assert_allclose(anomalies, 0.5, rtol=1e-6)
        np.testing.assert_allclose(batch.weight.sum(axis=(1, 2)), 1, rtol=1e-6)


def test_unlabelled_rows_come_from_the_member_s_bag_and_all_of_them_do(seed):
    sampler, bags = make(seed)
    rows = np.stack([batch.rows for batch in copied(sampler)])[:, :, 9:, 0] - 9
    for member, bag in enumerate(bags.unlabelled):
        assert set(rows[:, member].astype(int).ravel()) == set(bag)


def test_excluded_rows_are_not_drawn(seed):
    counts = np.arange(300) % 2 == 0
    sampler, bags = make(seed, counts=counts)
    rows = np.stack([batch.rows for batch in copied(sampler)])[:, :, 9:, 0] - 9
    for member, bag in enumerate(bags.unlabelled):
        assert set(rows[:, member].astype(int).ravel()) == set(bag[counts[bag]])


def test_a_bag_of_excluded_rows_alone_is_no_error(seed):
    sampler, bags = make(seed, counts=np.zeros(300, dtype=bool))
    rows = copied(sampler)[0].rows[:, 9:, 0] - 9
    assert set(rows[0].astype(int)) <= set(bags.unlabelled[0])


@pytest.mark.parametrize("k", [1, 9, MAX_ANOMALIES + 50])
def test_anomalies_are_the_member_s_bootstrap_with_values_of_its_donors(k, seed):
    sampler, bags = make(seed, k=k)
    batches = copied(sampler)
    for member, count in enumerate(bags.anomalies):
        donors = np.flatnonzero(count)
        for batch in batches:
            rows = batch.rows[member][batch.is_anomaly[member, :, 0]]
            weight = batch.weight[member][batch.is_anomaly[member, :, 0]][:, 0]
            assert np.isin(rows[weight > 0], donors).all()
            if k <= MAX_ANOMALIES:
                np.testing.assert_allclose(weight, count / k / 2, rtol=1e-6)


def test_a_member_draws_the_same_whatever_the_others_are(seed):
    together, alone = copied(make(seed)[0]), copied(make(seed, members=slice(1, 2))[0])
    for batch, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(batch.rows[1:2], other.rows)
        np.testing.assert_array_equal(batch.weight[1:2], other.weight)


def test_anomalies_are_swapped_anew_from_step_to_step(seed):
    first, second, *_ = copied(make(seed)[0])
    assert not np.array_equal(first.rows[:, :9], second.rows[:, :9])
