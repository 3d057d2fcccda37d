"""The protocol keeps training and test rows apart and gives what it promises."""

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


def test_impossible_requests_get_a_sentence():
    rows, is_anomaly = distinct_rows(100), np.arange(100) < 10
    with pytest.raises(
        ValueError, match="30 labelled anomalies are asked for, but only 8 of the 10"
    ):
        make_task(rows, is_anomaly, seed=0)
    with pytest.raises(ValueError, match=r"contamination=1.5"):
        make_task(rows, is_anomaly, seed=0, n_labelled=2, contamination=1.5)
