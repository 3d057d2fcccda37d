"""Bags: which member sees which row, how rows are drawn, and out-of-bag means."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devnet import ModelFileError
from devnet.core.known_normals import WORTH
from devnet.core.layout import Layout
from devnet.detectors.ensemble.bags import (
    SWAPPED_SHARE,
    Bags,
    draw_bags,
    extend_bags,
    out_of_bag_mean,
    swap_values,
)
from devnet.detectors.ensemble.pool import Pool


def make_pool(n=100, k=7, d=3, weight=None, anomaly_weight=None):
    rows = np.arange((n + k) * d, dtype=np.float32).reshape(n + k, d)
    weight = np.ones(n) if weight is None else weight
    anomaly_weight = np.ones(k) if anomaly_weight is None else anomaly_weight
    return Pool(rows[k:], weight, rows[:k], anomaly_weight, np.arange(k) * 2, np.full(k, -1))


def now(labelled, positions=None, normals=(), n=100):
    """The pool in which these rows are known now."""
    labelled = np.asarray(labelled)
    positions = np.full(len(labelled), -1) if positions is None else positions
    pool = make_pool(n, len(labelled))
    return pool._replace(
        labelled=labelled, positions=positions, normals=np.array(normals, dtype=int)
    )


def spawn(seed, n_members):
    return np.random.default_rng(seed).spawn(n_members)


@given(n=st.integers(1, 60), size=st.integers(1, 50), seed=st.integers(0, 99))
def test_at_most_half_of_the_rows_are_in_a_bag_and_each_once(n, size, seed):
    bags = draw_bags(size, make_pool(n), spawn(seed, 4))
    assert bags.unlabelled.shape == (4, max(1, min(size, n // 2)))
    for bag in bags.unlabelled:
        assert len(np.unique(bag)) == len(bag)
        assert 0 <= bag.min() <= bag.max() < n
    np.testing.assert_array_equal(bags.anomalies.sum(axis=1), 7)


def test_rows_of_weight_zero_are_never_drawn(seed):
    weight = np.ones(100)
    weight[10:90] = 0
    anomaly_weight = np.array([1, 0, 1, 0, 0, 2, 0.5])
    bags = draw_bags(50, make_pool(weight=weight, anomaly_weight=anomaly_weight), spawn(seed, 200))
    assert bags.unlabelled.shape == (200, 10)
    assert set(bags.unlabelled.ravel()) == {*range(10), *range(90, 100)}
    np.testing.assert_array_equal(bags.anomalies.any(axis=0), anomaly_weight > 0)


def test_a_single_draw_is_proportional_to_the_weight(seed):
    weight = np.arange(1.0, 11)
    bags = draw_bags(1, make_pool(10, weight=weight), spawn(seed, 20_000))
    share = np.bincount(bags.unlabelled[:, 0], minlength=10) / 20_000
    np.testing.assert_allclose(share, weight / weight.sum(), atol=0.015)


def test_several_draws_follow_the_law_of_draws_without_replacement(seed):
    weight = np.array([1, 1, 2, 4.0])
    bags = draw_bags(2, make_pool(4, weight=weight), spawn(seed, 20_000))
    share = np.bincount(bags.unlabelled.ravel(), minlength=4) / 20_000
    first = weight / weight.sum()
    second = [
        sum(first[j] * weight[i] / (weight.sum() - weight[j]) for j in range(4) if j != i)
        for i in range(4)
    ]
    np.testing.assert_allclose(share, first + second, atol=0.02)


def test_anomalies_are_a_bootstrap_by_weight(seed):
    weight = np.array([1, 2, 3, 0.5, 0.5, 0, 0])
    bags = draw_bags(1, make_pool(anomaly_weight=weight), spawn(seed, 5000))
    np.testing.assert_allclose(bags.anomalies.mean(axis=0), weight, atol=0.1)


@pytest.mark.parametrize("least", [1e-300, 1e-42, 1e-31])
def test_tiny_weights_are_drawn_last_and_without_a_warning(least, seed):
    weight = np.full(20, least)
    weight[:10] = 1
    bags = draw_bags(10, make_pool(20, weight=weight), spawn(seed, 50))
    assert (np.sort(bags.unlabelled, axis=1) == np.arange(10)).all()


def test_a_member_draws_the_same_whatever_the_others_are(seed):
    pool = make_pool()
    many, one = draw_bags(9, pool, spawn(seed, 5)), draw_bags(9, pool, spawn(seed, 5)[2:3])
    np.testing.assert_array_equal(many.unlabelled[2:3], one.unlabelled)
    np.testing.assert_array_equal(many.anomalies[2:3], one.anomalies)
    for part, expected in zip(many.members(slice(2, 3)), one, strict=True):
        np.testing.assert_array_equal(part, expected)


def test_who_holds_which_row(seed):
    bags = draw_bags(9, make_pool(), spawn(seed, 5))
    holds = bags.holds_unlabelled(100)
    expected = [[row in bag for row in range(100)] for bag in bags.unlabelled.tolist()]
    np.testing.assert_array_equal(holds, expected)


# Swapped values


@given(seed=st.integers(0, 10**6), d=st.integers(1, 6), r=st.integers(1, 40))
def test_a_swapped_value_keeps_its_column_and_comes_from_a_donor(seed, d, r):
    generator = np.random.default_rng(seed)
    anomalies = np.arange(8 * d, dtype=np.float32).reshape(8, d)
    drawn, donors = generator.integers(8, size=r), np.array([1, 1, 4, 6])
    rows = swap_values(anomalies, drawn, donors, generator)
    origin, column = np.divmod(rows.astype(int), d)
    np.testing.assert_array_equal(column, np.tile(np.arange(d), (r, 1)))
    assert np.all((origin == drawn[:, None]) | np.isin(origin, donors))


def test_a_fifth_of_the_values_is_swapped_and_donors_count_by_number(seed):
    generator = np.random.default_rng(seed)
    anomalies = np.repeat(np.arange(4, dtype=np.float32), 50).reshape(4, 50)
    rows = swap_values(anomalies, np.zeros(2000, int), np.array([1, 1, 1, 2]), generator)
    assert (rows == 0).mean() == pytest.approx(1 - SWAPPED_SHARE, abs=0.01)
    assert (rows == 1).sum() / (rows == 2).sum() == pytest.approx(3, rel=0.1)
    assert not (rows == 3).any()
    np.testing.assert_array_equal(anomalies[:, 0], range(4))  # the caller's rows are unchanged


# Out of bag


def test_the_out_of_bag_mean_is_that_of_the_members_that_did_not_see_the_row(seed):
    generator = np.random.default_rng(seed)
    scores, is_in_bag = generator.normal(size=(6, 40)), generator.random((6, 40)) < 0.6
    is_in_bag[:, 3] = True
    before = is_in_bag.copy()
    found = out_of_bag_mean(scores, is_in_bag)
    for row in range(40):
        out = ~is_in_bag[:, row]
        expected = scores[out, row].mean() if out.any() else scores[:, row].mean()
        assert found[row] == pytest.approx(expected)
    np.testing.assert_array_equal(is_in_bag, before)


# Further labels


def test_earlier_rows_stay_in_their_bags_when_labels_are_added(seed):
    bags = draw_bags(9, make_pool(), spawn(seed, 300))
    labelled = np.array([1, 2, 4, 12, 50])  # 2, 4 and 12 were labelled before
    more = extend_bags(bags, now(labelled), spawn(seed + 1, 300))
    assert more.unlabelled is bags.unlabelled
    np.testing.assert_array_equal(more.labelled, labelled)
    drew_none = ~(more.anomalies - 1).any(axis=1)  # filled with ones
    np.testing.assert_array_equal(
        more.anomalies[~drew_none][:, [1, 2, 3]], bags.anomalies[~drew_none][:, [1, 2, 6]]
    )
    assert more.anomalies[:, [0, 4]].mean() == pytest.approx(1, abs=0.2)


def test_a_row_that_was_seen_as_unlabelled_is_not_out_of_bag(seed):
    bags = draw_bags(9, make_pool(), spawn(seed, 300))
    labelled, positions = np.array([50, 60]), np.array([5, -1])
    more = extend_bags(bags, now(labelled, positions), spawn(seed + 1, 300))
    saw_it = (bags.unlabelled == 5).any(axis=1)
    assert saw_it.any()
    assert (more.anomalies[saw_it, 0] > 0).all()
    assert (more.anomalies[~saw_it, 0] == 0).any()


def test_no_bag_is_left_without_an_anomaly(seed):
    bags = draw_bags(9, make_pool(), spawn(seed, 300))
    for labelled in ([0], [99], [0, 99]):
        more = extend_bags(bags, now(labelled), spawn(seed + 1, 300))
        assert more.anomalies.any(axis=1).all()


# Known normal rows


@given(
    n_normal=st.integers(1, 40),
    n_other=st.integers(0, 60),
    m=st.integers(1, 6),
    seed=st.integers(0, 99),
)
@example(n_normal=1, n_other=2, m=1, seed=0)  # the bag is not the known row alone
def test_known_normal_rows_come_on_top_and_each_is_left_out_by_some_member(
    n_normal, n_other, m, seed
):
    n = n_normal + n_other
    normals = np.sort(np.random.default_rng(seed).permutation(n)[:n_normal])
    bags = draw_bags(20, make_pool(n)._replace(normals=normals), spawn(seed, m))
    assert bags.unlabelled.shape[1] <= max(1, n_other // 2)
    assert not np.isin(bags.unlabelled, normals).any()
    rows = [bags.rows(member) for member in range(m)]
    assert all(map(len, rows))
    holds = bags.holds_unlabelled(n)
    for held, bag in zip(holds, rows, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(held), np.unique(bag))
    if n_other > 1 or (m > 1 and n_normal > m):
        assert not holds[:, normals].all(axis=0).any()


def test_however_few_known_normal_rows_are_drawn_often_enough(seed):
    n, normals = 20_000, np.array([7, 70, 700])
    pool = make_pool(n)._replace(normals=normals)
    bags = draw_bags(256, pool, spawn(seed, 400))
    share = np.mean([np.isin(bags.rows(member), normals).mean() for member in range(400)])
    assert share == pytest.approx(3 * WORTH / (3 * WORTH + n), rel=0.2)


def test_many_known_normal_rows_do_not_outweigh_the_unlabelled(seed):
    pool = make_pool(1000)._replace(normals=np.arange(200))
    bags = draw_bags(256, pool, spawn(seed, 50))
    share = np.mean([(bags.rows(member) < 200).mean() for member in range(50)])
    assert share == pytest.approx(0.5, abs=0.02)
    bags = draw_bags(256, pool._replace(normals=np.arange(990)), spawn(seed, 50))
    share = np.mean([(bags.rows(member) < 990).mean() for member in range(50)])
    assert share == pytest.approx(0.99, abs=0.02)  # they are most of the rows anyway


def test_weights_compare_known_normal_rows(seed):
    weight = np.ones(1000)
    weight[:4] = [0.5, 1.5, 2, 0]
    pool = make_pool(1000, weight=weight)._replace(normals=np.arange(4))
    counts = draw_bags(256, pool, spawn(seed, 600)).normals.sum(axis=0)
    np.testing.assert_allclose(counts / counts.sum(), weight[:4] / 4, atol=0.06)
    assert counts[3] == 0


def test_rows_known_to_be_normal_stay_in_their_bags_and_new_ones_are_added(seed):
    before = np.array([10, 20, 30])
    bags = draw_bags(9, make_pool()._replace(normals=before), spawn(seed, 300))
    pool = now([0], normals=[10, 20, 40, 50])  # 30 is withdrawn
    more = extend_bags(bags, pool, spawn(seed + 1, 300))
    assert more.known.tolist() == [10, 20, 30, 40, 50]
    held = more.normals > 0
    np.testing.assert_array_equal(held[:, :3], bags.normals > 0)  # as members have learned them
    assert more.normals[:, 2].max() == 1
    saw = np.stack([np.isin([40, 50], bag) for bag in bags.unlabelled])
    assert saw.any()
    assert held[:, 3:][saw].all()
    assert 0.1 < held[:, 3:][~saw].mean() < 0.9


def test_a_confirmed_anomaly_is_not_out_of_bag_where_it_was_taken_for_normal(seed):
    bags = draw_bags(9, make_pool()._replace(normals=np.array([10, 20])), spawn(seed, 300))
    more = extend_bags(bags, now([77], np.array([20]), [10]), spawn(seed + 1, 300))
    saw = (bags.normals[:, 1] > 0) | (bags.unlabelled == 20).any(axis=1)
    assert (more.anomalies[saw, 0] > 0).all()


def test_bags_move_with_a_growing_pool(seed):
    bags = draw_bags(9, make_pool()._replace(normals=np.array([10, 20])), spawn(seed, 3))
    moved = bags.moved(np.arange(100) + (np.arange(100) >= 15))
    assert moved.known.tolist() == [10, 21]
    np.testing.assert_array_equal(moved.unlabelled, bags.unlabelled + (bags.unlabelled >= 15))


# Model files


@pytest.mark.parametrize("normals", [[], [3, 9, 50]])
def test_tensors_and_back_are_the_same(normals, seed):
    pool = make_pool()._replace(normals=np.array(normals, dtype=int))
    bags = draw_bags(9, pool, spawn(seed, 5))
    assert ("bag_normals" in bags.to_tensors()) == bool(normals)
    for part, again in zip(bags, Bags.from_tensors(bags.to_tensors(), 5, 100), strict=True):
        np.testing.assert_array_equal(part, again)


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("unlabelled", lambda bag: bag + 100),
        ("unlabelled", lambda bag: bag - 100),
        ("unlabelled", lambda bag: bag[:, :0]),
        ("unlabelled", lambda bag: bag.ravel()),
        ("unlabelled", lambda bag: bag.ravel()[0]),
        ("unlabelled", lambda bag: bag.astype(np.int32)),
        ("anomalies", lambda bag: bag * 0),
        ("anomalies", lambda bag: -bag),
        ("anomalies", lambda bag: bag[:, 1:]),
        ("anomalies", lambda bag: bag[1:]),
        ("anomalies", lambda bag: bag + 2**30),  # a bootstrap that would fill the memory
        ("anomalies", lambda bag: np.full_like(bag, 2**62)),
        ("labelled", lambda bag: bag[1:]),
        ("labelled", lambda bag: bag[:0]),
        ("labelled", lambda bag: bag.astype(float)),
        ("normals", lambda bag: -bag),
        ("normals", lambda bag: bag[:, 1:]),
        ("normals", lambda bag: bag + 2**30),
        ("known", lambda bag: bag + 100),
        ("known", lambda bag: bag[::-1]),
        ("known", lambda bag: bag - 100),
    ],
)
def test_edited_bags_get_a_sentence(name, edit, seed):
    normals = [3, 9, 50] if name in ("normals", "known") else []
    pool = make_pool()._replace(normals=np.array(normals, dtype=int))
    tensors = draw_bags(9, pool, spawn(seed, 5)).to_tensors()
    tensors[f"bag_{name}"] = np.asarray(edit(tensors[f"bag_{name}"]))
    with pytest.raises(ModelFileError, match="edited or damaged"):
        Bags.from_tensors(tensors, 5, 100)


@pytest.mark.parametrize("name", ["bag_unlabelled", "bag_anomalies", "bag_labelled"])
def test_a_missing_bag_gets_a_sentence(name, seed):
    tensors = draw_bags(9, make_pool(), spawn(seed, 5)).to_tensors()
    del tensors[name]
    with pytest.raises(ModelFileError, match="should hold a tensor"):
        Bags.from_tensors(tensors, 5, 100)


def test_swapped_rows_are_possible_rows_under_a_layout(seed):
    """One category each, and a number from the same row as the mark that it is missing."""
    generator = np.random.default_rng(seed)
    layout = Layout((1, 3, 2), (False, False, False))
    category = np.eye(3, dtype=np.float32)[generator.integers(3, size=40)]
    number = generator.normal(size=(40, 1)).astype(np.float32)
    anomalies = np.hstack([number, category, number + 10, -number])
    drawn = generator.integers(40, size=500)
    rows = swap_values(anomalies, drawn, np.arange(40), generator, layout)
    np.testing.assert_array_equal(rows[:, 1:4].sum(axis=1), 1)
    np.testing.assert_allclose(rows[:, 4] - 10, -rows[:, 5], atol=1e-5)
    moved = (rows != anomalies[drawn])[:, [0, 4]].mean(axis=0)
    np.testing.assert_allclose(moved, 0.2, atol=0.07)


def test_a_layout_of_single_columns_swaps_as_none_does(seed):
    anomalies = np.random.default_rng(seed).normal(size=(9, 4)).astype(np.float32)
    drawn, donors = np.arange(9), np.arange(5)
    one, other = (
        swap_values(anomalies, drawn, donors, np.random.default_rng(1), layout)
        for layout in (None, Layout((1,) * 4, (False,) * 4))
    )
    np.testing.assert_array_equal(one, other)
