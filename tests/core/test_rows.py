"""Rows of any kind reach the engine as the same float32 numbers, or raise a clear error."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from devnet.core.rows import as_rows, dense_tiles, in_threads, sparse_tiles


@given(st.integers(1, 5000), st.integers(1, 300))
def test_tiles_give_back_every_row_in_order(n, d):
    X = np.arange(n, dtype=np.float32)[:, None] + np.zeros(d, dtype=np.float32)
    found = np.full_like(X, -1)
    for selection, tile in dense_tiles(as_rows(X), slice(0, len(X))):
        found[selection] = tile
        assert tile.dtype == np.float64
    np.testing.assert_array_equal(found, X)


def test_dense_and_sparse_rows_agree(seed):
    X = sp.random_array((2500, 30), density=0.2, format="csr", rng=np.random.default_rng(seed))
    for wrap in (as_rows(X), as_rows(X.toarray())):
        np.testing.assert_allclose(
            wrap.dense(np.array([3, 1, 3])), X.toarray()[[3, 1, 3]], rtol=1e-6
        )
        found = sp.vstack([tile for _, tile in sparse_tiles(wrap, slice(0, 2500))])
        np.testing.assert_allclose(found.toarray(), X.toarray(), rtol=1e-6)


def test_selected_rows_are_those_rows(seed):
    matrix = np.random.default_rng(seed).random((9, 4)).astype(np.float32)
    chosen = np.array([7, 0, 3])
    for rows in (as_rows(matrix), as_rows(sp.csr_matrix(matrix))):
        np.testing.assert_array_equal(rows.select(chosen).dense(slice(None)), matrix[chosen])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "g", "i1", "u2", "i8", "?"])
@pytest.mark.parametrize("layout", ["C", "F", "reversed", "readonly"])
def test_any_type_and_layout(dtype, layout):
    X = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    X = {"C": X, "F": np.asfortranarray(X), "reversed": X[::-1, ::-1], "readonly": X}[layout]
    X.flags.writeable = layout != "readonly"
    rows = as_rows(X)
    rows.check_finite()
    taken = rows.dense(np.array([1, 0]))
    assert taken.dtype == np.float32
    np.testing.assert_array_equal(taken, X[[1, 0]].astype(np.float32))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("value", "words"),
    [(np.nan, "contains NaN"), (np.inf, "infinity"), (1e39, "too large.*1e[+]39")],
)
def test_a_value_that_is_not_finite_is_named(make, value, words):
    X = np.ones((3000, 7))
    X[2900, 5] = value
    names = np.array([f"n{i}" for i in range(7)], dtype=object)
    for rows, column in ((as_rows(make(X)), "column 5"), (as_rows(make(X), names), "'n5'")):
        for read in (
            rows.check_finite,
            lambda r=rows: list(dense_tiles(r, slice(0, 3000))),
            lambda r=rows: list(sparse_tiles(r, slice(0, 3000))),
        ):
            with pytest.raises(ValueError, match=f"{words}.*row 2900, column 5") as error:
                read()
            assert column in str(error.value)


def test_large_finite_values_whose_sum_overflows_are_fine():
    X = np.full((4, 3), 3e38)
    as_rows(X).check_finite()
    assert len(list(dense_tiles(as_rows(X), slice(0, len(X))))) == 1


@given(n=st.integers(1, 50), n_cores=st.integers(1, 9), at_least=st.integers(1, 60))
def test_every_row_is_in_one_span_and_spans_are_not_short(n, n_cores, at_least):
    done = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("devnet.core.cores.cpu_count", lambda: n_cores)
        in_threads(n, done.append, at_least=at_least)
    assert len(done) <= n_cores
    assert sorted(row for span in done for row in range(span.start, span.stop)) == list(range(n))
    assert len(done) == 1 or min(span.stop - span.start for span in done) >= at_least
