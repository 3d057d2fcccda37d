"""A unit is never on both sides, folds are alike, and the past never learns from the future."""

import numpy as np
import pytest

from devnet.experiments.splits import N_FOLDS, RowsToSplit, make_splits, ranked_share
from devnet.tables.table_error import TableError


def make_rows(seed, n=300, n_labelled=30, n_units=None, **more):
    generator = np.random.default_rng(seed)
    is_labelled = generator.permutation(np.arange(n) < n_labelled)
    unit = np.arange(n) if n_units is None else generator.integers(n_units, size=n)
    return RowsToSplit(is_labelled, unit, "payments.csv", **more)


def splits_of(rows, n_repeats=2, seed=0):
    return make_splits(rows, n_repeats, np.random.default_rng(seed))


@pytest.mark.parametrize("n_units", [None, 60, 7])
def test_folds_cover_all_rows_and_no_unit_is_on_both_sides(seed, n_units):
    rows = make_rows(seed, n_units=n_units)
    splits = splits_of(rows)
    assert len(splits) == 2 * N_FOLDS
    for first in (0, N_FOLDS):
        ranked = np.concatenate([test for _, test in splits[first : first + N_FOLDS]])
        assert sorted(ranked) == list(range(300))
    for train, test in splits:
        assert len(train) + len(test) == 300
        assert not {*rows.unit[train]} & {*rows.unit[test]}


def test_folds_of_single_rows_are_alike_in_both_kinds(seed):
    rows = make_rows(seed, n=302, n_labelled=31)
    for _, test in splits_of(rows):
        assert rows.is_labelled[test].sum() in (10, 11)
        assert len(test) in (100, 101)
    assert ranked_share(splits_of(rows)) == pytest.approx(1 / 3)


def test_repeats_and_seeds_split_differently():
    rows = make_rows(0)
    first, other = splits_of(rows, seed=0), splits_of(rows, seed=1)
    assert {*first[0].test} != {*first[N_FOLDS].test}
    assert {*first[0].test} != {*other[0].test}
    assert [*first[0].test] == [*splits_of(rows, seed=0)[0].test]


def test_every_window_ranks_what_comes_after_all_it_learned_from(seed):
    generator = np.random.default_rng(seed)
    time = generator.integers(0, 100, size=300).astype(float)  # with ties
    rows = make_rows(seed, time=time)
    splits = splits_of(rows)
    assert len(splits) == 5  # 15 labelled anomalies in the later half, three in each window
    for train, test in splits:
        assert time[train].max() < time[test].min()
        assert rows.is_labelled[test].sum() >= 1
        assert rows.is_labelled[train].sum() >= 12
    ranked = np.concatenate([test for _, test in splits])
    assert len(ranked) == len({*ranked})
    assert ranked.max() >= np.argmax(time)


def test_units_of_a_window_are_not_learned_from_before_it(seed):
    rows = make_rows(seed, n_units=150, time=np.arange(300.0))
    for train, test in splits_of(rows):
        assert not {*rows.unit[train]} & {*rows.unit[test]}
        before = {*range(test.min())}
        dropped = before - {*train}
        assert dropped
        assert {*rows.unit[[*dropped]]} <= {*rows.unit[test]}


def test_anomalies_of_one_day_cannot_be_learned_from_the_past():
    time = np.where(make_rows(0).is_labelled, 7.0, np.arange(300.0))
    with pytest.raises(TableError, match="too close together in time, by its column 'day'"):
        splits_of(make_rows(0, time=time, time_column="day"))


def test_few_entities_that_are_in_every_window_are_the_reason_given_not_the_time():
    rows = make_rows(0, n_units=4, time=np.arange(300.0), time_column="day", group_column="zip")
    with pytest.raises(TableError, match="with each 'zip' on one side.* Compare without group"):
        splits_of(rows)


def test_one_customer_with_all_the_anomalies_is_refused():
    rows = make_rows(0, group_column="customer")
    unit = np.where(rows.is_labelled, 0, rows.unit + 1)
    with pytest.raises(TableError, match="belong to 1 different values of 'customer'.*group"):
        splits_of(rows._replace(unit=unit))
    with pytest.raises(TableError, match="are only 1 different rows"):
        splits_of(rows._replace(unit=unit, group_column=""))
