"""The protocol keeps training and test rows apart and gives what it promises."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from devnet.experiments.protocol import make_task


def distinct_rows(n, d=6):
    """Rows that differ from each other in every column."""
    return (np.arange(n)[:, None] + np.arange(d) / 100).astype(np.float32)


def numbers_of(rows):
    return set(
        np.floor(np.asarray(rows.todense() if sp.issparse(rows) else rows)).ravel().astype(int)
    )


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@given(st.integers(0, 1000), st.integers(10, 40), st.floats(0, 0.3))
def test_no_test_row_nor_part_of_one_enters_training(make, seed, n_anomalies, contamination):
    rows = distinct_rows(200) + 1
    is_anomaly = np.arange(200) < n_anomalies
    task = make_task(make(rows), is_anomaly, seed=seed, n_labelled=5, contamination=contamination)
    assert not numbers_of(task.train) & numbers_of(task.test)
    assert task.y.sum() == 5
    labelled = numbers_of(task.train[task.y == 1])
    assert all(number - 1 < n_anomalies for number in labelled)
    values = np.asarray(task.train.todense()) if sp.issparse(task.train) else task.train
    hidden = (np.floor(values[task.y == 0][:, :1]) - 1 < n_anomalies).sum()
    unlabelled = (task.y == 0).sum()
    assert abs(hidden - contamination * unlabelled) <= 1
    assert task.is_anomaly.sum() == round(0.2 * n_anomalies)


def test_every_run_has_its_own_split():
    rows, is_anomaly = distinct_rows(300), np.arange(300) < 60
    one, same, other = (make_task(rows, is_anomaly, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.train, same.train)
    assert numbers_of(one.test) != numbers_of(other.test)


def test_dense_and_sparse_rows_give_the_same_task():
    rows, is_anomaly = distinct_rows(300) + 1, np.arange(300) < 45
    dense = make_task(rows, is_anomaly, seed=3, contamination=0.0)
    sparse = make_task(sp.csr_matrix(rows), is_anomaly, seed=3, contamination=0.0)
    np.testing.assert_array_equal(sparse.train.toarray(), dense.train)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_missing_contamination_is_made_by_swapping(make):
    rows, is_anomaly = distinct_rows(1000, d=40) + 1, np.arange(1000) < 12
    task = make_task(make(rows), is_anomaly, seed=0, n_labelled=5, contamination=0.05)
    train = np.asarray(task.train.todense()) if sp.issparse(task.train) else task.train
    made = train[-30:]  # 42 hidden anomalies, of which 5 are real
    for row in made:
        parents, counts = np.unique(np.floor(row), return_counts=True)
        assert len(parents) == 2
        assert sorted(counts) == [2, 38]
        assert (parents - 1 < 12).all()


def test_swapped_sparse_columns_follow_the_law_of_dense_ones():
    d, filled = 1000, 40
    rows = np.zeros((400, d), dtype=np.float32)
    rows[:, :filled] = distinct_rows(400, filled) + 1
    is_anomaly = np.arange(400) < 30
    given = {}
    for make in (np.asarray, sp.csr_matrix):
        task = make_task(make(rows), is_anomaly, seed=1, n_labelled=20, contamination=0.8)
        made = task.train[-1000:]
        made = made.toarray() if sp.issparse(made) else made
        main = np.floor(np.median(made[:, :filled], axis=1))[:, None]
        given[make] = (np.floor(made[:, :filled]) != main).sum(1)
    # 50 of 1,000 columns are swapped, so 2 of 40 in the mean, with variance 2 * .95 * .96
    for counts in given.values():
        assert abs(counts.mean() - 2) < 0.2
        assert abs(counts.var() - 1.83) < 0.4


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_the_script_s_protocol_leaks_test_anomalies_and_reuses_one_split(make):
    rows, is_anomaly = distinct_rows(400) + 1, np.arange(400) < 60
    one, other = (
        make_task(
            make(rows), is_anomaly, seed=seed, n_labelled=5, contamination=0.3, protocol="script"
        )
        for seed in (0, 1)
    )
    np.testing.assert_array_equal(one.origin, other.origin)
    assert numbers_of(one.train[one.y == 1]) != numbers_of(other.train[other.y == 1])
    assert numbers_of(one.train) & numbers_of(one.test)  # which the paper's own must never do
    assert not numbers_of(one.train[one.y == 1]) & numbers_of(one.test)


def test_labels_are_drawn_from_the_anomalies_that_may_be_labelled():
    rows, is_anomaly = distinct_rows(400), np.arange(400) < 60
    may_be_labelled = np.arange(400) < 20
    task = make_task(rows, is_anomaly, seed=0, n_labelled=10, may_be_labelled=may_be_labelled)
    assert max(numbers_of(task.train[task.y == 1])) < 20


def test_those_that_may_not_be_labelled_are_not_hidden_first(seed):
    rows, is_anomaly = distinct_rows(4000), np.arange(4000) < 800
    may_be_labelled = np.arange(4000) < 400
    task = make_task(
        rows, is_anomaly, seed=seed, contamination=0.1, may_be_labelled=may_be_labelled
    )
    hidden = task.train[task.y == 0][:, 0]
    hidden = hidden[hidden < 800]
    assert 0.4 < (hidden < 400).mean() < 0.55  # 370 of the 770 that are left, tenths aside


def test_origin_tells_which_rows_are_tested():
    rows, is_anomaly = distinct_rows(300), np.arange(300) < 60
    task = make_task(rows, is_anomaly, seed=0)
    np.testing.assert_array_equal(task.test, rows[task.origin])
    np.testing.assert_array_equal(task.is_anomaly, is_anomaly[task.origin])


def test_a_task_is_one_copy_of_the_set():
    rows, is_anomaly = np.zeros((20_000, 100), np.float32), np.arange(20_000) < 1000
    tracemalloc.start()
    task = make_task(rows, is_anomaly, seed=0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert task.train.nbytes + task.test.nbytes <= rows.nbytes
    assert peak < 1.2 * rows.nbytes


@pytest.mark.parametrize(
    ("n_anomalies", "request_", "sentence"),
    [
        (10, {}, "cannot label 30 anomalies: only 8 that may be labelled"),
        (10, {"n_labelled": 2, "contamination": 1.5}, "contamination=1.5"),
        (10, {"n_labelled": 0}, "n_labelled=0: at least one"),
        (10, {"n_labelled": 2, "protocol": "scripts"}, "protocol='scripts' is neither"),
        (1, {"n_labelled": 1}, "the set has 1 anomalies among 100 rows"),
    ],
)
def test_impossible_requests_get_a_sentence(n_anomalies, request_, sentence):
    rows, is_anomaly = distinct_rows(100), np.arange(100) < n_anomalies
    with pytest.raises(ValueError, match=sentence):
        make_task(rows, is_anomaly, seed=0, **request_)


def test_wrong_labels_are_normal_training_rows():
    rows, is_anomaly = distinct_rows(500), np.arange(500) < 100
    task = make_task(rows, is_anomaly, seed=1, n_labelled=20, wrong_labels=0.25)
    labelled = np.floor(task.train[task.y == 1][:, 0]).astype(int)
    assert len(labelled) == 20
    assert (~is_anomaly[labelled]).sum() == 5
    assert not numbers_of(task.train) & numbers_of(task.test)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_an_impossible_share_of_wrong_labels_is_refused(share):
    with pytest.raises(ValueError, match=f"wrong_labels={share} is not a share"):
        make_task(distinct_rows(500), np.arange(500) < 100, seed=0, wrong_labels=share)


def test_made_sparse_rows_are_whole_rows_of_their_parents_values():
    rows = sp.random(60, 5000, density=0.01, format="csr", random_state=0, dtype=np.float32)
    made = make_task(rows, np.arange(60) < 12, seed=0, n_labelled=3, contamination=0.3).train
    assert made.has_canonical_format  # ascending columns, none twice
    anomalies = rows[:12].toarray()
    for row in made[-10:].toarray():
        shared = [((row == one) & (one != 0)).sum() for one in anomalies]
        assert max(shared) >= 0.8 * (row != 0).sum()
        assert all((anomalies == value)[:, row == value].any() for value in row[row != 0])


def test_contamination_that_needs_no_made_rows_makes_none():
    rows = sp.random(60, 5000, density=0.01, format="csr", random_state=0, dtype=np.float32)
    task = make_task(rows, np.arange(60) < 12, seed=0, n_labelled=3, contamination=0.0)
    assert task.train.shape[0] == 3 + 48 - 10
