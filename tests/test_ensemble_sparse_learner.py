"""The closed-form learner of wide rows: what it finds, adds up, keeps and refuses."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from devnet import ModelFileError
from devnet.ensemble.sparse_learner import _rank_error, learn_sparse
from devnet.rows import as_rows

D = 20_000


def make_wide(seed, n=800, n_anomalies=60, sign=1.0):
    """Rows of 40 of the columns; anomalies prefer some columns that others have rarely."""
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


def halves(n_labelled, n=800):
    return np.arange(n_labelled), np.arange(60, n)  # the other anomalies are for testing


@pytest.mark.parametrize("sign", [1.0, -3.0])
@pytest.mark.parametrize(("n_labelled", "least"), [(4, 0.6), (20, 0.95)])
def test_anomalies_of_known_columns_are_found(seed, n_labelled, least, sign):
    rows, is_anomaly = make_wide(seed, sign=sign)
    learned = learn_sparse(as_rows(rows), *halves(n_labelled))
    scores = learned.learner.scores(rows)
    assert roc_auc_score(is_anomaly[20:], scores[20:]) > least


@pytest.mark.parametrize("n_labelled", [1, 2])
def test_very_few_labels_suffice_to_learn(seed, n_labelled):
    rows, _ = make_wide(seed)
    learned = learn_sparse(as_rows(rows), *halves(n_labelled))
    scores = learned.learner.scores(rows)
    assert (scores[:n_labelled] > np.quantile(scores, 0.99)).all()
    assert np.isfinite(learned.pool_scores).all()
    assert np.isnan(learned.labelled_scores).all() == (n_labelled == 1)


def test_scores_without_a_row_are_lower_for_anomalies_and_judge_new_ones_fairly(seed):
    rows, _ = make_wide(seed)
    labelled, pool = halves(20)
    learned = learn_sparse(as_rows(rows), labelled, pool)
    scores = learned.learner.scores(rows)
    assert (learned.labelled_scores < scores[labelled]).all()
    new = scores[20:60]  # anomalies that nobody labelled
    assert abs(np.median(learned.labelled_scores) - np.median(new)) < new.std()


def test_a_score_depends_on_its_row_alone_to_the_last_bit(seed):
    rows, _ = make_wide(seed)
    learner = learn_sparse(as_rows(rows), *halves(20)).learner
    scores = learner.scores(rows)
    np.testing.assert_array_equal(scores[::-1], learner.scores(rows[::-1].tocsr()))
    np.testing.assert_array_equal(scores[:5], [learner.scores(rows[[i]])[0] for i in range(5)])


def test_contributions_add_up_to_the_score_and_unknown_columns_have_none(seed):
    rows, _ = make_wide(seed)
    learner = learn_sparse(as_rows(rows), *halves(20)).learner
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
    labelled, pool = halves(20)
    with_hidden = np.concatenate([np.arange(20, 60), pool])
    keep = np.ones(len(with_hidden))
    plain = learn_sparse(as_rows(rows), labelled, with_hidden, keep).learner.scores(rows)
    keep[:40] = 0
    screened = learn_sparse(as_rows(rows), labelled, with_hidden, keep).learner.scores(rows)
    assert np.median(screened[20:60]) > np.median(plain[20:60])


def test_the_rank_error_is_the_area_above_the_curve(seed):
    generator = np.random.default_rng(seed)
    ours, others = generator.integers(3, 9, size=20), generator.integers(0, 8, size=100)
    weight = generator.random(100)
    weights = np.concatenate([np.ones(20), weight])
    area = roc_auc_score(np.arange(120) < 20, np.concatenate([ours, others]), sample_weight=weights)
    assert _rank_error(ours, others, weight) == pytest.approx(1 - area)


def test_a_learner_is_the_same_from_its_tensors_and_refuses_edited_ones(seed):
    rows, _ = make_wide(seed)
    learner = learn_sparse(as_rows(rows), *halves(20)).learner
    tensors = learner.to_tensors()
    again = type(learner).from_tensors(tensors, D)
    np.testing.assert_array_equal(again.scores(rows), learner.scores(rows))
    with pytest.raises(ModelFileError, match="test_weight"):
        type(learner).from_tensors({**tensors, "test_weight": tensors["test_weight"][1:]}, D)
    with pytest.raises(ModelFileError, match="unit_column"):
        type(learner).from_tensors({"test_weight": tensors["test_weight"]}, D)


def test_rows_without_a_common_column_are_no_error():
    rows = sp.csr_array(np.eye(6, dtype=np.float32))
    learned = learn_sparse(as_rows(rows), np.array([0, 1]), np.arange(2, 6))
    np.testing.assert_array_equal(learned.learner.scores(rows), 0)
    np.testing.assert_array_equal(learned.pool_scores, 0)
