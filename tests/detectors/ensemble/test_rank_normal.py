"""The rank-normal encoding against its definition, on columns of every kind."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata

from devnet import ModelFileError
from devnet.detectors.ensemble.rank_normal import (
    EXTREME,
    LARGEST,
    MAX_KNOTS,
    RESOLUTION,
    RankNormal,
)

HALF_STEP = 0.5 / RESOLUTION
HIGHEST = np.rint(EXTREME * RESOLUTION) / RESOLUTION

COLUMNS = {
    "normal": lambda generator, n: generator.normal(size=n),
    "heavy tails": lambda generator, n: np.sinh(15 * generator.normal(size=n)),
    "cauchy": lambda generator, n: generator.standard_cauchy(size=n),
    "two values": lambda generator, n: generator.integers(2, size=n),
    "three values": lambda generator, n: generator.choice([-5, 0, 1e6], size=n),
    "mostly zero": lambda generator, n: generator.exponential(size=n) * (generator.random(n) < 0.1),
    "few distinct": lambda generator, n: generator.poisson(30, size=n),
    "next to nothing": lambda generator, n: 1e-33 * generator.integers(500, size=n),
    "tiny": lambda generator, n: 1e-30 * generator.normal(size=n),
    "large": lambda generator, n: 1e37 * generator.normal(size=n),
    "one huge outlier": lambda generator, n: np.append(generator.normal(size=n - 1), 1e38),
    "tiny with huge outliers": lambda generator, n: np.append(
        1e-30 * generator.normal(size=n - 2), [-3e38, 3e38]
    ),
    "far from zero": lambda generator, n: 1e6 + generator.normal(size=n),
}


def draw(kind, seed, n):
    generator = np.random.default_rng(seed)
    return COLUMNS[kind](generator, n).astype(np.float32)


def learned(column):
    """Encoding, knots and their normal scores of one column."""
    encoding = RankNormal.learn(column[:, None])
    tensors = encoding.to_tensors()
    return encoding, tensors["encoding_knots"], tensors["encoding_normal"]


def between(column):
    """Values of a column, and values between and beyond them."""
    ordered = np.unique(column)
    middle = ordered[:-1] / 2 + ordered[1:] / 2
    ends = np.array([-3.4e38, 3.4e38, 0, 1e-45, -1e-45])
    near = [np.nextafter(ordered, np.float32(end)) for end in (-np.inf, np.inf)]
    return np.concatenate([column, middle, *near, ends]).astype(np.float32)


@pytest.mark.parametrize("n", [2, 7, 100, 3000])
@pytest.mark.parametrize("kind", COLUMNS)
def test_values_are_interpolated_between_the_knots_and_rounded(kind, n, seed):
    column = draw(kind, seed, n)
    encoding, knots, normal = learned(column)
    values = between(column)
    found = encoding.encode(values[:, None])[:, 0]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found * RESOLUTION, np.rint(found * RESOLUTION))
    exact = np.interp(values, knots, normal)
    np.testing.assert_allclose(found, exact, rtol=0, atol=HALF_STEP + 1e-5)


@pytest.mark.parametrize("kind", COLUMNS)
def test_few_distinct_values_have_the_normal_quantile_of_their_mid_rank(kind, seed):
    column = draw(kind, seed, 200)
    rank = (rankdata(np.clip(column, -LARGEST, LARGEST)) - 0.5) / len(column)
    expected = np.clip(ndtri(rank), -EXTREME, EXTREME)
    found = RankNormal.learn(column[:, None]).encode(column[:, None])[:, 0]
    np.testing.assert_allclose(found, expected, atol=HALF_STEP + 1e-6)


def test_many_values_become_normal_whatever_their_distribution(seed):
    column = draw("heavy tails", seed, 20_000)
    encoding, knots, _ = learned(column)
    assert len(knots) <= MAX_KNOTS
    found = encoding.encode(column[:, None])[:, 0]
    assert abs(found.mean()) < 0.01
    assert abs(found.std() - 1) < 0.03
    np.testing.assert_array_equal([found.min(), found.max()], [-HIGHEST, HIGHEST])


def test_knots_of_many_values_are_values_of_the_column(seed):
    column = draw("normal", seed, 5000)
    _, knots, normal = learned(column)
    assert np.isin(knots, column).all()
    assert (np.diff(knots) > 0).all()
    assert (np.diff(normal) > 0).all()


@pytest.mark.parametrize("value", [0.0, 1.0, -7.5, 1e-45, 1e30, -1e38, 3e38, -3e38])
def test_a_constant_column_sends_any_other_value_to_an_extreme(value):
    encoding, *_ = learned(np.full(50, value, np.float32))
    value = np.float32(value)
    beside = [np.nextafter(value, np.float32(end)) for end in (-np.inf, np.inf)]
    below, above = (beside[0], -2 * LARGEST), (beside[1], 2 * LARGEST)
    if abs(value) >= LARGEST:  # all values beyond are alike
        below, above = ([-LARGEST / 2], []) if value > 0 else ([], [LARGEST / 2])
    for values, expected in ((below, -HIGHEST), ([value], 0), (above, HIGHEST)):
        for one in values:
            assert encoding.encode(np.array([[one]], np.float32))[0, 0] == expected


def test_two_values_are_interpolated_by_their_ranks():
    column = np.repeat(np.float32([0, 1]), [75, 25])
    encoding, *_ = learned(column)
    zero, one = ndtri(0.375), ndtri(0.875)
    found = encoding.encode(np.array([[0], [1], [0.5], [-9], [9]], np.float32))[:, 0]
    np.testing.assert_allclose(
        found, [zero, one, (zero + one) / 2, zero, one], atol=HALF_STEP + 1e-6
    )


def test_a_column_is_encoded_as_if_it_were_alone(seed):
    rows = np.stack([draw(kind, seed, 600) for kind in COLUMNS], axis=1)
    together = RankNormal.learn(rows).encode(rows)
    for column, found in zip(rows.T, together.T, strict=True):
        alone = RankNormal.learn(column[:, None]).encode(column[:, None])[:, 0]
        np.testing.assert_array_equal(found, alone)


def test_a_row_is_encoded_as_if_it_were_alone(seed):
    rows = np.stack([draw(kind, seed, 600) for kind in COLUMNS], axis=1)
    encoding = RankNormal.learn(rows)
    together = encoding.encode(rows)
    for i in range(0, 600, 37):
        np.testing.assert_array_equal(encoding.encode(rows[[i]])[0], together[i])


@given(
    column=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1),
    others=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)),
)
def test_a_larger_value_is_never_worth_less(column, others):
    encoding, *_ = learned(np.array(column, np.float32))
    values = np.sort(np.array(column + others, np.float32))
    found = encoding.encode(values[:, None])[:, 0]
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    assert abs(found).max() <= HIGHEST


@pytest.mark.parametrize("kind", COLUMNS)
def test_the_encoding_is_monotone_across_knots(kind, seed):
    column = draw(kind, seed, 3000)
    encoding, *_ = learned(column)
    found = encoding.encode(np.sort(between(column))[:, None])[:, 0]
    assert (np.diff(found) >= 0).all()


def test_the_caller_s_rows_are_not_touched(seed):
    rows = np.stack([draw(kind, seed, 50) for kind in COLUMNS], axis=1)
    before = rows.copy()
    RankNormal.learn(rows).encode(rows)
    np.testing.assert_array_equal(rows, before)


def test_tensors_and_back_encode_alike(seed):
    rows = np.stack([draw(kind, seed, 600) for kind in COLUMNS], axis=1)
    rows = np.concatenate([rows, np.full((600, 2), (0, 3e38), np.float32)], axis=1)
    encoding = RankNormal.learn(rows)
    again = RankNormal.from_tensors(encoding.to_tensors(), rows.shape[1])
    assert again.n_columns == rows.shape[1]
    np.testing.assert_array_equal(again.encode(rows), encoding.encode(rows))


def edited(**changes):
    """Tensors of two columns with two knots each."""
    tensors = {
        "encoding_knots": np.float32([0, 1, 5, 6]),
        "encoding_normal": np.float32([-1, 1, -2, 2]),
        "encoding_start": np.array([0, 2]),
    }
    return tensors | {f"encoding_{name}": array for name, array in changes.items()}


@pytest.mark.parametrize(
    "changes",
    [
        {"knots": np.float32([1, 0, 5, 6])},
        {"knots": np.float32([0, 0, 5, 6])},
        {"knots": np.float32([0, 1, 5, 2e38])},
        {"knots": np.float32([0, 1, 5, np.nan])},
        {"knots": np.float32([0, 1, 5])},
        {"knots": np.zeros(0, np.float32), "normal": np.zeros(0, np.float32)},
        {"knots": np.float32(3.0)},
        {"knots": np.zeros(4)},
        {"normal": np.float32([1, -1, -2, 2])},
        {"normal": np.float32([-1, 1, -2, np.inf])},
        {"normal": np.float32([-1, 1])},
        {"start": np.array([1, 2])},
        {"start": np.array([0, 1])},
        {"start": np.array([0, 3])},
        {"start": np.array([0, 4])},
        {"start": np.array([0, 99])},
        {"start": np.array([0, -2])},
        {"start": np.array([0])},
        {"start": np.array([0, 2], np.int32)},
    ],
)
def test_an_edited_encoding_gets_a_sentence(changes):
    RankNormal.from_tensors(edited(), 2)
    with pytest.raises(ModelFileError, match=r"model file"):
        RankNormal.from_tensors(edited(**changes), 2)


@pytest.mark.parametrize("name", ["encoding_knots", "encoding_normal", "encoding_start"])
def test_a_missing_array_gets_a_sentence(name):
    tensors = edited()
    del tensors[name]
    with pytest.raises(ModelFileError, match=r"should hold a tensor|cannot be used"):
        RankNormal.from_tensors(tensors, 2)


def test_denormal_values_keep_their_order(seed):
    column = (1e-44 * np.random.default_rng(seed).integers(500, size=(100, 1))).astype(np.float32)
    encoded = RankNormal.learn(column).encode(column)
    order = np.argsort(column[:, 0])
    assert (np.diff(encoded[order, 0]) >= 0).all()
    assert encoded.max() > encoded.min()
