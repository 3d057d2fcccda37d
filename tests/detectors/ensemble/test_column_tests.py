"""Column tests against a plain loop; leave-one-out scores against a second fit."""

import numpy as np
import pytest
import scipy.sparse as sp

from devnet.detectors.ensemble.column_tests import N_TESTS, ColumnTests


def make_halves(seed, k=7, n=50, c=40):
    generator = np.random.default_rng(seed)
    labelled, unlabelled = (
        generator.normal(size=(size, c)) * (generator.random((size, c)) < 0.2) for size in (k, n)
    )
    return labelled, unlabelled, generator.uniform(0.1, 1, size=n)


def plain(labelled, unlabelled, keep, typical=None):
    """Both statistics of each column, by definition."""
    mean = np.average(unlabelled, axis=0, weights=keep)
    null = np.average((unlabelled - mean) ** 2, axis=0, weights=keep)
    typical = null.mean() if typical is None else typical
    deviation = labelled.mean(axis=0) - mean
    welch = np.sqrt(null + labelled.var(axis=0) + typical)
    return np.stack([deviation / (np.sqrt(null) + np.sqrt(typical)), deviation / welch], axis=1)


def typical_spread(unlabelled, keep):
    mean = np.average(unlabelled, axis=0, weights=keep)
    return np.average((unlabelled - mean) ** 2, axis=0, weights=keep).mean()


def compared(labelled, unlabelled, keep, labelled_weight=None):
    labelled_weight = np.ones(len(labelled)) if labelled_weight is None else labelled_weight
    return ColumnTests(sp.csr_array(labelled), labelled_weight, sp.csr_array(unlabelled), keep)


def test_statistics_are_those_of_the_book(seed):
    halves = make_halves(seed)
    np.testing.assert_allclose(compared(*halves).statistics(), plain(*halves), rtol=1e-9)


@pytest.mark.parametrize("tile", [1, 3, 1024])
def test_scores_without_a_row_are_those_of_a_second_fit(seed, tile, monkeypatch):
    monkeypatch.setattr("devnet.detectors.ensemble.column_tests.TILE_ROWS", tile)
    labelled, unlabelled, keep = make_halves(seed)
    tests, typical = compared(labelled, unlabelled, keep), typical_spread(unlabelled, keep)
    ours, others = (tests.scores_without(labelled=kind) for kind in (True, False))
    for i, row in enumerate(labelled):
        again = plain(np.delete(labelled, i, axis=0), unlabelled, keep, typical)
        np.testing.assert_allclose(ours[i], row @ again, rtol=1e-7, atol=1e-9)
    for i, row in enumerate(unlabelled):
        rest = np.delete(unlabelled, i, axis=0), np.delete(keep, i)
        np.testing.assert_allclose(
            others[i], row @ plain(labelled, *rest, typical), rtol=1e-7, atol=1e-9
        )


def test_a_row_of_weight_zero_is_as_if_it_were_not_there(seed):
    labelled, unlabelled, keep = make_halves(seed)
    keep[:20] = 0
    short = compared(labelled, unlabelled[20:], keep[20:])
    np.testing.assert_allclose(
        compared(labelled, unlabelled, keep).statistics(), short.statistics(), rtol=1e-9
    )


def test_weights_of_labelled_anomalies_are_multiplicities(seed):
    labelled, unlabelled, keep = make_halves(seed)
    times = np.array([1, 0, 3, 2, 1, 1, 5])
    weighted = compared(labelled, unlabelled, keep, times / 5)
    repeated = compared(np.repeat(labelled, times, axis=0), unlabelled, keep)
    np.testing.assert_allclose(weighted.statistics(), repeated.statistics(), rtol=1e-9)


def test_one_labelled_anomaly_has_no_score_without_itself(seed):
    labelled, unlabelled, keep = make_halves(seed, k=1)
    tests = compared(labelled, unlabelled, keep)
    assert np.isfinite(tests.statistics()).all()
    assert np.isnan(tests.scores_without(labelled=True)).all()
    assert tests.scores_without(labelled=False).shape == (50, N_TESTS)


def test_without_any_spread_a_deviation_still_counts():
    tests = compared(np.array([[1.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 0.0]]), np.ones(2))
    assert (tests.statistics()[0] > 0).all()
    np.testing.assert_array_equal(tests.statistics()[1], 0)


def test_one_row_that_outweighs_all_others_is_no_spread(seed):
    labelled, unlabelled, keep = make_halves(seed)
    keep[:] = 1e-300
    keep[0] = 1
    found = compared(labelled, unlabelled, keep).statistics()
    assert np.isfinite(found.astype(np.float32)).all()


def test_columns_that_only_one_other_row_has_are_left_out_without_the_row():
    labelled = np.array([[0.6, 0.8, 0, 0], [1.0, 0, 0, 0]])
    unlabelled = np.array([[0.6, 0, 0.8, 0], [1.0, 0, 0, 0], [0, 0.6, 0.8, 0], [0, 0, 0, 1.0]])
    keep = np.ones(4)
    tests, typical = compared(labelled, unlabelled, keep), typical_spread(unlabelled, keep)
    found = tests.scores_without(labelled=False)
    without = plain(labelled, unlabelled[1:], keep[1:], typical)
    np.testing.assert_allclose(
        found[0], without[0]
    )  # scaled to length one again, with the first column only
    assert found[2].tolist() == [0, 0]  # no column is left
