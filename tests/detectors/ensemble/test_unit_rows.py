"""Rows scaled to length one, in units of their columns, each independently."""

import numpy as np
import pytest
import scipy.sparse as sp

from devnet import ModelFileError
from devnet.detectors.ensemble.unit_rows import UnitRows


def make_rows(seed, n=60, d=5000, density=0.01):
    generator = np.random.default_rng(seed)
    rows = sp.random_array((n, d), density=density, rng=generator, format="csr", dtype=np.float32)
    rows.data -= np.float32(0.4)  # values of both signs
    return rows


def test_rows_are_divided_by_units_and_then_by_their_length(seed):
    rows = make_rows(seed)
    dense = rows.toarray().astype(np.float64)
    count = (dense != 0).sum(axis=0)
    columns = np.flatnonzero(count >= 2)
    known = dense[:, columns] / np.sqrt((dense[:, columns] ** 2).sum(axis=0) / count[columns])
    expected = known / np.linalg.norm(known, axis=1, keepdims=True)
    units = UnitRows.learn(rows)
    np.testing.assert_array_equal(units.columns, columns)
    np.testing.assert_allclose(units.apply(rows).toarray(), expected, rtol=1e-6)
    np.testing.assert_allclose(units.widen(units.apply(rows)).toarray()[:, columns], expected, 1e-6)


def test_the_measure_of_a_column_does_not_matter(seed):
    rows = make_rows(seed)
    factor = np.random.default_rng(seed).lognormal(0, 3, rows.shape[1]).astype(np.float32)
    scaled = sp.csr_array((rows.data * factor[rows.indices], rows.indices, rows.indptr), rows.shape)
    one, other = UnitRows.learn(rows).apply(rows), UnitRows.learn(scaled).apply(scaled)
    np.testing.assert_allclose(other.toarray(), one.toarray(), rtol=1e-5)


def test_a_row_is_the_same_to_the_last_bit_in_any_batch(seed):
    rows = make_rows(seed)
    units = UnitRows.learn(rows)
    together = units.apply(rows)
    alone = sp.vstack([units.apply(rows[[i]]) for i in range(rows.shape[0])], format="csr")
    np.testing.assert_array_equal(together.data, alone.data)


def test_stored_zeros_duplicates_and_unknown_columns_change_nothing():
    train = sp.csr_array(np.array([[1, 2, 0, 0], [1, 2, 0, 3]], dtype=np.float32))
    units = UnitRows.learn(train)
    np.testing.assert_array_equal(units.columns, [0, 1])  # the last one occurs in one row only
    layout = (np.array([1, 0, 3, 1, 2]), np.array([0, 5]))
    odd = sp.csr_array((np.array([1, 1, 9, 1, 0], np.float32), *layout), shape=(1, 4))
    before = odd.data.copy(), odd.indices.copy(), odd.indptr.copy()
    np.testing.assert_array_equal(units.apply(odd).toarray(), units.apply(train[[0]]).toarray())
    for old, new in zip(before, (odd.data, odd.indices, odd.indptr), strict=True):
        np.testing.assert_array_equal(old, new)


def test_rows_without_known_columns_are_zero_and_nothing_need_be_known():
    train = sp.csr_array(np.eye(3, dtype=np.float32))
    units = UnitRows.learn(train)
    assert units.apply(train).shape == (3, 0)
    assert units.widen(units.apply(train)).shape == (3, 3)
    units = UnitRows.learn(sp.csr_array(np.ones((2, 1), dtype=np.float32)))
    np.testing.assert_array_equal(units.apply(sp.csr_array((1, 1), dtype=np.float32)).toarray(), 0)


@pytest.mark.parametrize("size", [1e-44, 1e-38, 3e38])
def test_values_at_the_ends_of_float32_stay_finite(size):
    rows = sp.csr_array(np.array([[size, 1], [size, 1]], dtype=np.float32))
    units = UnitRows.learn(rows)
    assert np.isfinite(units.apply(rows).data).all()
    wide = sp.csr_array(np.array([[3e38, -3e38]], dtype=np.float32))
    assert np.isfinite(units.apply(wide).data).all()


@pytest.mark.parametrize(
    ("name", "edit", "word"),
    [
        ("unit_column", lambda a: a[::-1].copy(), "ascending"),
        ("unit_column", lambda a: a - a[0] - 1, "ascending"),
        ("unit_column", lambda a: a + 5000, "ascending"),
        ("unit_column", lambda a: a.astype(np.int32), "int64"),
        ("unit_inverse", lambda a: a[1:], "shape"),
        ("unit_inverse", lambda a: -a, "positive"),
        ("unit_inverse", lambda a: a * np.nan, "finite"),
    ],
)
def test_edited_tensors_get_a_sentence(name, edit, word):
    tensors = UnitRows.learn(make_rows(0)).to_tensors()
    UnitRows.from_tensors(tensors, 5000)
    with pytest.raises(ModelFileError, match=word):
        UnitRows.from_tensors({**tensors, name: edit(tensors[name])}, 5000)
