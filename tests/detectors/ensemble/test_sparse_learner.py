"""The closed-form learner of wide rows: what it finds, adds up, keeps and refuses."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from devnet import ModelFileError
from devnet.detectors.ensemble.pool import Pool
from devnet.detectors.ensemble.sparse_learner import learn_sparse

D = 20_000


def make_wide(seed, n=800, n_anomalies=60, sign=1.0):
    """Rows with 40 of the columns; anomalies prefer some columns that are rare in other rows."""
    generator = np.random.default_rng(seed)
    popular = generator.zipf(1.3, size=(n, 40)) % 2000
    popular[:n_anomalies, :4] = generator.integers(2000, 2010, size=(n_anomalies, 4))
    rare = generator.integers(2040, D, size=(n, 5))
    columns = np.concatenate([popular, rare], axis=1)
    rows = sp.csr_array(
        (np.ones(columns.size, np.float32), columns.ravel(), np.arange(n + 1) * columns.shape[1]),
        shape=(n, D),
    )
    rows.sum_duplicates()
    rows.data[:] = sign
    return rows, np.arange(n) < n_anomalies


def make_pool(rows, n_labelled, start=60):
    """The first rows are labelled; between them and `start` are anomalies for testing."""
    labelled, others = np.arange(n_labelled), rows[start:]
    ones = np.ones(others.shape[0]), np.ones(n_labelled)
    nowhere = np.full(n_labelled, -1)
    return Pool(others, ones[0], rows[:n_labelled], ones[1], labelled, nowhere)


@pytest.mark.parametrize("sign", [1.0, -3.0])
@pytest.mark.parametrize(("n_labelled", "least"), [(4, 0.6), (20, 0.95)])
def test_anomalies_of_known_columns_are_found(seed, n_labelled, least, sign):
    rows, is_anomaly = make_wide(seed, sign=sign)
    learner, _ = learn_sparse(make_pool(rows, n_labelled))
    scores = learner.scores(rows)
    assert roc_auc_score(is_anomaly[20:], scores[20:]) > least


@pytest.mark.parametrize("n_labelled", [1, 2])
def test_very_few_labels_suffice_to_learn(seed, n_labelled):
    rows, _ = make_wide(seed)
    learner, out_of_bag = learn_sparse(make_pool(rows, n_labelled))
    scores = learner.scores(rows)
    assert (scores[:n_labelled] > np.quantile(scores, 0.99)).all()
    assert np.isfinite(np.concatenate(out_of_bag)).all()
    if n_labelled == 1:  # nothing is left to learn from
        np.testing.assert_allclose(out_of_bag.labelled, scores[:1], rtol=1e-6)


def test_scores_without_a_row_are_lower_for_anomalies_and_judge_new_ones_fairly(seed):
    rows, _ = make_wide(seed)
    learner, out_of_bag = learn_sparse(make_pool(rows, 20))
    scores = learner.scores(rows)
    assert (out_of_bag.labelled < scores[:20]).all()
    new = scores[20:60]  # unlabelled anomalies
    assert abs(np.median(out_of_bag.labelled) - np.median(new)) < new.std()


def test_a_score_depends_on_its_row_alone_to_the_last_bit(seed):
    rows, _ = make_wide(seed)
    learner, _ = learn_sparse(make_pool(rows, 20))
    scores = learner.scores(rows)
    np.testing.assert_array_equal(scores[::-1], learner.scores(rows[::-1].tocsr()))
    np.testing.assert_array_equal(scores[:5], [learner.scores(rows[[i]])[0] for i in range(5)])


def test_contributions_add_up_to_the_score_and_unknown_columns_have_none(seed):
    rows, _ = make_wide(seed)
    learner, _ = learn_sparse(make_pool(rows, 20))
    parts = learner.contributions(rows)
    assert parts.shape == rows.shape
    np.testing.assert_allclose(parts.sum(axis=1), learner.scores(rows), rtol=1e-9, atol=1e-12)
    unseen = np.flatnonzero(np.bincount(rows.indices, minlength=D) == 0)[:50]
    more = rows[[3]].tolil()
    more[0, unseen] = 7
    assert learner.scores(sp.csr_array(more))[0] == learner.scores(rows[[3]])[0]
    assert learner.scores(sp.csr_array((1, D), dtype=np.float32))[0] == 0


def test_a_row_of_weight_zero_does_not_count(seed):
    rows, _ = make_wide(seed)
    pool = make_pool(rows, 20, start=20)  # with hidden anomalies
    plain = learn_sparse(pool)[0].scores(rows)
    pool.weight[:40] = 0
    screened = learn_sparse(pool)[0].scores(rows)
    assert np.median(screened[20:60]) > np.median(plain[20:60])


def test_a_learner_is_the_same_from_its_tensors_and_refuses_edited_ones(seed):
    rows, _ = make_wide(seed)
    learner, _ = learn_sparse(make_pool(rows, 20))
    tensors = learner.to_tensors()
    again = type(learner).from_tensors(tensors, D)
    np.testing.assert_array_equal(again.scores(rows), learner.scores(rows))
    with pytest.raises(ModelFileError, match="test_weight"):
        type(learner).from_tensors({**tensors, "test_weight": tensors["test_weight"][1:]}, D)
    with pytest.raises(ModelFileError, match="unit_column"):
        type(learner).from_tensors({"test_weight": tensors["test_weight"]}, D)


def test_rows_without_a_common_column_are_no_error():
    rows = sp.csr_array(np.eye(6, dtype=np.float32))
    learner, out_of_bag = learn_sparse(make_pool(rows, 2, start=2))
    np.testing.assert_array_equal(learner.scores(rows), 0)
    np.testing.assert_array_equal(out_of_bag.unlabelled, 0)
