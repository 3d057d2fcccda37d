"""Chance is bounded by what exchangeable rows do, and the stability index by its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from devnet.significance.changed_counts import chance, spread_chance, stability_index


@given(st.integers(1, 60), st.integers(1, 200), st.data())
def test_p_values_of_exchangeable_rows_are_valid(n_found, n_learned, data):
    """Of all ways to deal rows into two tables, at most a share `a` has a p-value up to `a`."""
    n_rows = n_found + n_learned
    total = data.draw(st.integers(0, n_rows))
    found = np.arange(max(0, total - n_learned), min(n_found, total) + 1)
    p_value = chance(found, n_found, total - found, n_learned)
    probability = hypergeom(n_rows, total, n_found).pmf(found)
    for level in p_value:
        assert probability[p_value <= level].sum() <= level + 1e-9


@given(st.integers(0, 50), st.integers(0, 500))
def test_a_property_is_as_surprising_as_its_absence(found, learned):
    absent = chance(50 - found, 50, 500 - learned, 500)
    np.testing.assert_allclose(chance(found, 50, learned, 500), absent, rtol=1e-9)


def test_equal_shares_are_no_surprise_and_opposite_ones_are():
    assert chance(10, 100, 100, 1000) == 1
    assert chance(100, 100, 0, 1000) < 1e-30
    assert chance(0, 100, 1000, 1000) < 1e-30
    assert chance(1, 1, 0, 1000) == pytest.approx(2 / 1001, rel=1e-3)


def test_a_shift_is_seen_in_cells_in_order_before_it_is_in_single_ones():
    learned, found = np.full(20, 500), np.full(20, 50)
    found[:10] -= 10
    found[10:] += 10
    assert spread_chance(found, learned, is_ordered=True) < 1e-3
    assert spread_chance(found, learned, is_ordered=False) > 0.1


@pytest.mark.parametrize("counts", [([], []), ([0, 0], [5, 5]), ([5, 5], [0, 0]), ([7], [9])])
def test_without_rows_or_cells_to_compare_nothing_is_a_surprise(counts):
    assert spread_chance(*map(np.array, counts), is_ordered=False) == 1
    assert stability_index(*counts) == 0


def test_the_index_of_many_rows_is_the_population_stability_index():
    here, there = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.4, 0.2])
    expected = ((here - there) * np.log(here / there)).sum()
    assert stability_index(1e9 * here, 1e9 * there) == pytest.approx(expected)


def test_chance_adds_nothing_to_the_index_on_average(seed):
    """Without the correction the mean would be 19 * (1/300 + 1/1000), or 0.08."""
    generator = np.random.default_rng(seed)
    share = np.full(20, 0.05)
    found = [
        stability_index(generator.multinomial(300, share), generator.multinomial(1000, share))
        for _ in range(200)
    ]
    assert np.median(found) < 0.01


def test_cells_that_are_empty_in_both_tables_do_not_count():
    assert stability_index([30, 0, 70], [50, 0, 50]) == stability_index([30, 70], [50, 50])
