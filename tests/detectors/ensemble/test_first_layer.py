import numpy as np
import pytest

from devnet.detectors.ensemble.first_layer import FEWEST, FirstLayer
from devnet.detectors.ensemble.rank_normal import RankNormal


def make_layer(seed, n_indicators, n_others, dtype=np.float64):
    """Rows with indicators among other columns, and a layer with a kernel on a grid."""
    generator = np.random.default_rng(seed)
    ones = generator.random((500, n_indicators)) < 0.05
    rows = np.hstack([ones, generator.lognormal(size=(500, n_others))]).astype(np.float32)
    rows = rows[:, generator.permutation(rows.shape[1])]
    kernel = np.rint(generator.normal(size=(rows.shape[1], 6)) * 16) / 16
    encoding = RankNormal.learn(rows)
    bias = np.arange(6) / 8
    layer = FirstLayer(encoding, kernel.astype(dtype), bias.astype(dtype))

    def exact(rows):
        return encoding.encode(rows).astype(np.float64) @ kernel + bias

    return rows, layer, exact


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_indicators", "n_others"), [(60, 7), (60, 0), (FEWEST - 1, 9), (0, 9)])
def test_sums_are_those_of_the_encoded_rows_to_the_bit(n_indicators, n_others, dtype, seed):
    rows, layer, exact = make_layer(seed, n_indicators, n_others, dtype)
    assert np.array_equal(layer(rows), exact(rows))
    assert np.array_equal(layer(rows[3:4]), exact(rows)[3:4])
    assert layer(rows).dtype == dtype


@pytest.mark.parametrize("value", [-1.0, 0.25, 2.0, 1e30])
def test_other_values_in_columns_of_categories_count_as_what_they_are(value, seed):
    rows, layer, exact = make_layer(seed, 60, 7)
    rows[17, :40] = value
    assert np.array_equal(layer(rows), exact(rows))


def test_a_category_that_was_constant_in_training_counts_as_an_extreme(seed):
    rows, *_ = make_layer(seed, 60, 7)
    rows[:, :10] = 0
    kernel = np.ones((rows.shape[1], 1))
    encoding = RankNormal.learn(rows)
    unusual = rows[:1].copy()
    unusual[0, 0] = 1
    layer = FirstLayer(encoding, kernel, np.zeros(1))
    assert layer(unusual)[0, 0] - layer(rows[:1])[0, 0] == 4.0


def test_no_rows_have_no_sums(seed):
    rows, layer, _ = make_layer(seed, 60, 7)
    assert layer(rows[:0]).shape == (0, 6)
