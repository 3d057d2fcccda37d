"""A sparse matrix whose indices point outside it is refused by every method, at every door."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.small_methods import KINDS, fitted_small, small, small_rows

from devnet.detectors.methods import METHODS
from devnet.explanation import contributions, typical_row
from devnet.significance import calibrate

every = pytest.mark.parametrize("name", METHODS)


def rows_of(kind):
    return sp.csr_array(small_rows(kind)[0])


def too_far(rows):
    rows.indices[rows.indptr[5]] = rows.shape[1]


def very_far(rows):
    rows.indices[rows.indptr[5]] = 2**31 - 1


def negative(rows):
    rows.indices[rows.indptr[5]] = -1


def descending(rows):
    rows.indptr[5], rows.indptr[6] = rows.indptr[6], rows.indptr[5]


def beyond_the_values(rows):
    rows.indptr[-1] += 1000


def before_the_first(rows):
    rows.indptr[0] = -5


BREAKS = {
    too_far: "row 5 has a value in column .*, but there are only",
    very_far: "row 5 has a value in column 2147483647, but there are only",
    negative: "row 5 has a value in column -1, but there are only",
    descending: "its indptr does not ascend from 0",
    beyond_the_values: "its indptr does not ascend from 0",
    before_the_first: "its indptr does not ascend from 0",
}


def doors(name, kind, rows):
    """What a caller may do with rows."""
    model, y = fitted_small(name, kind), small_rows(kind)[1]
    baseline = np.zeros(rows.shape[1], np.float32)
    yield lambda: small(name).fit(rows, y)
    yield lambda: calibrate(small(name), rows, y, random_state=0)
    yield lambda: model.anomaly_score(rows)
    yield lambda: model.predict(rows)
    yield lambda: contributions(model, rows, baseline)
    if hasattr(model, "p_value"):
        yield lambda: model.p_value(rows)


@every
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.__name__)
def test_an_index_outside_gets_a_sentence(name, kind, broken):
    rows = rows_of(kind).copy()
    broken(rows)
    for door in doors(name, kind, rows):
        with pytest.raises(ValueError, match=BREAKS[broken]):
            door()


@pytest.mark.parametrize("layout", [sp.csc_array, sp.bsr_array, sp.coo_array])
def test_other_layouts_are_checked_before_they_are_converted(layout):
    rows = layout(rows_of("dense"))
    index = rows.coords[1] if rows.format == "coo" else rows.indices
    index[3] = 10_000
    with pytest.raises(ValueError, match=f"not a valid {rows.format.upper()} matrix.* 10000"):
        fitted_small("iForest", "dense").anomaly_score(rows)
    with pytest.raises(ValueError, match=f"not a valid {rows.format.upper()} matrix"):
        typical_row(fitted_small("iForest", "dense"), rows)


@every
@pytest.mark.parametrize("kind", KINDS)
def test_unsorted_and_repeated_indices_mean_what_scipy_means(name, kind):
    rows, y = rows_of(kind), small_rows(kind)[1]
    messy = shuffled_and_split(rows)
    before = [part.copy() for part in (messy.data, messy.indices, messy.indptr)]
    np.testing.assert_array_equal(messy.toarray(), rows.toarray())
    model = fitted_small(name, kind)
    np.testing.assert_allclose(model.anomaly_score(messy), model.anomaly_score(rows), rtol=1e-5)
    np.testing.assert_array_equal(
        small(name).fit(messy, y).anomaly_score(rows), small(name).fit(rows, y).anomaly_score(rows)
    )
    baseline = np.zeros(rows.shape[1], np.float32)
    found, expected = (contributions(model, one[:4], baseline) for one in (messy, rows))
    np.testing.assert_allclose(sp.csr_array(found).toarray(), sp.csr_array(expected).toarray())
    for part, kept in zip((messy.data, messy.indices, messy.indptr), before, strict=True):
        np.testing.assert_array_equal(part, kept)


def shuffled_and_split(rows):
    """The same matrix, with the columns of a row in any order and every value in two halves."""
    generator = np.random.default_rng(0)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    row, column = np.tile(row, 2), np.tile(rows.indices, 2)
    order = np.lexsort((generator.random(len(row)), row))
    parts = (np.tile(rows.data / 2, 2)[order], column[order], 2 * rows.indptr)
    return sp.csr_array(parts, shape=rows.shape)
