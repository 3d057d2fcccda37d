"""How much known normal rows count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.core.known_normals import WORTH, learning_weight, worth
from devnet.core.labels import Labels


def make_labels(n_anomalies, n_normal, n_unlabelled):
    kind = np.repeat([1, 2, 0], [n_anomalies, n_normal, n_unlabelled])
    return Labels(kind == 1, kind == 2, np.array([0, 1]))


@given(normal=st.integers(1, 10**6), unlabelled=st.integers(0, 10**7))
def test_few_count_much_and_many_never_outweigh_the_unlabelled(normal, unlabelled):
    each = worth(normal, unlabelled)
    assert 1 <= each <= WORTH
    assert each == 1 or each * normal <= unlabelled * (1 + 1e-12)
    if normal * WORTH <= unlabelled:
        assert each == WORTH


def test_known_normal_rows_weigh_their_worth():
    weight = learning_weight(make_labels(2, 3, 1000), None)
    np.testing.assert_array_equal(weight, np.repeat([1, WORTH, 1], [2, 3, 1000]))
    assert learning_weight(make_labels(2, 0, 10), None) is None
    np.testing.assert_array_equal(learning_weight(make_labels(1, 4, 0), None), np.ones(5))


def test_sample_weights_compare_known_normal_rows_with_each_other():
    labels = make_labels(1, 3, 1000)
    given_weight = np.repeat([1, 0.01, 0.03, 0, 0.5], [1, 1, 1, 1, 1000])
    weight = learning_weight(labels, given_weight)
    np.testing.assert_allclose(weight[1:4], 0.5 * WORTH * np.array([0.5, 1.5, 0]))
    np.testing.assert_array_equal(weight[4:], 0.5)
    assert given_weight[1] == pytest.approx(0.01)  # the caller's array is left alone
