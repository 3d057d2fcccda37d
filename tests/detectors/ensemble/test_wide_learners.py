"""DeviationEnsemble on wide and sparse rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from support.ensemble_checks import check_complete, fitted, quick


def columns_of_their_own(seed, n=600, d=100_000, n_anomalies=60, sign=1.0):
    """Rows with 30 of very many columns; anomalies have some that are rare in other rows."""
    generator = np.random.default_rng(seed)
    columns = generator.zipf(1.3, size=(n, 30)) % 3000
    columns[:n_anomalies, :5] = generator.integers(d - 10, d, size=(n_anomalies, 5))
    ends = np.arange(n + 1) * 30
    rows = sp.csr_array((np.ones(columns.size), columns.ravel(), ends), shape=(n, d))
    rows.sum_duplicates()
    rows.data[:] = sign * generator.uniform(0.5, 2, size=rows.nnz)
    return rows, (np.arange(n) < n_anomalies).astype(int)


@pytest.mark.parametrize("sign", [1.0, -2.0])
@pytest.mark.parametrize(("n_labelled", "least"), [(1, 0.6), (4, 0.75), (30, 0.95)])
def test_wide_rows_are_learned(n_labelled, least, sign, seed):
    rows, truth = columns_of_their_own(seed, sign=sign)
    y = truth * (np.arange(600) < n_labelled)
    model = quick().fit(rows, y)
    test, test_truth = columns_of_their_own(seed + 100, sign=sign)
    assert roc_auc_score(test_truth, model.anomaly_score(test)) > least
    check_complete(model, rows)


def test_contributions_of_wide_rows_are_sparse_and_unknown_columns_have_none(seed):
    rows, truth = columns_of_their_own(seed)
    model = quick().fit(rows, truth)
    parts = model.contributions(rows)
    assert sp.issparse(parts)
    assert parts.format == "csr"
    assert parts.nnz <= rows.nnz
    empty = sp.csr_array((1, rows.shape[1]))
    expected = model.anomaly_score(rows) - model.anomaly_score(empty)
    np.testing.assert_allclose(parts.sum(axis=1), expected, atol=1e-9)
    unseen = np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]) == 0)[:7]
    more = rows[[3]].tolil()
    more[0, unseen] = 9
    assert model.anomaly_score(sp.csr_array(more)) == model.anomaly_score(rows[[3]])
    assert model.contributions(sp.csr_array(more))[:, unseen].nnz == 0
    assert set(np.argsort(model.column_importance_)[-5:]) <= set(range(99_990, 100_000))


def test_wide_rows_may_also_come_dense_or_in_other_formats(seed):
    model, rows, _ = fitted("wide")
    expected = model.anomaly_score(rows)
    for same in (rows.toarray(), rows.tocsc(), sp.csr_matrix(rows), rows.astype(np.float32)):
        np.testing.assert_array_equal(model.anomaly_score(same), expected)


def test_p_values_of_wide_rows_hold_where_most_columns_are_rare():
    """Leave-one-out scores must be those of a new row, whose rare columns are unknown."""
    shares = []
    for seed in range(8):
        generator = np.random.default_rng(seed)
        columns = generator.zipf(1.05, size=(3040, 30)) % 100_000
        ends = np.arange(3041) * 30
        rows = sp.csr_array((np.ones(columns.size), columns.ravel(), ends), shape=(3040, 100_000))
        rows.sum_duplicates()
        y = (np.arange(1040) < 40).astype(int)
        model = quick().fit(rows[:1040], y)
        shares.append((model.p_value(rows[1040:]) <= 0.1).mean())
    assert 0.08 < np.mean(shares) < 0.12
