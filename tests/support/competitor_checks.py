"""What every competing method must do; the tests of each one call these."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from support.model_files import write_sealed
from support.tasks import make_task

import devnet
from devnet import ModelFileError
from devnet.core import model_file


def wide_task(seed, n=300, d=5000):
    """Sparse rows; a few have values in columns of their own."""
    rows = sp.random_array((n, d), density=0.01, format="lil", rng=np.random.default_rng(seed))
    y = (np.arange(n) < 30).astype(int)
    rows[:30, :40] = 1.0
    return rows.tocsr(), y


def check_scores_do_not_depend_on_the_batch(model):
    rows, y, _ = make_task(0)
    rows = np.concatenate([rows] * 60)  # more than one tile, and two threads' spans
    model.fit(rows[:1200], y)
    together = model.anomaly_score(rows)
    assert together.dtype == np.float64
    order = np.random.default_rng(0).permutation(len(rows))
    np.testing.assert_array_equal(model.anomaly_score(rows[order]), together[order])
    alone = [model.anomaly_score(rows[[i]])[0] for i in range(25)]
    np.testing.assert_array_equal(alone, together[:25])
    np.testing.assert_array_equal(model.anomaly_score(rows[3:400]), together[3:400])


def check_layouts_do_not_matter(model, *, rtol=0.0):
    rows, y, _ = make_task(1)
    rows[rows < 0.3] = 0
    scores = model.fit(rows, y).anomaly_score(rows)
    for same in (rows.astype(np.float64), np.asfortranarray(rows), pd.DataFrame(rows)):
        np.testing.assert_array_equal(model.fit(same, y).anomaly_score(same), scores)
    sparse = sp.csr_array(rows)
    np.testing.assert_allclose(model.anomaly_score(sparse), scores, rtol=1e-9, atol=1e-9)
    found = model.fit(sparse, y).anomaly_score(sparse)
    if rtol is not None:
        np.testing.assert_allclose(found, scores, rtol=rtol)


def check_saved_and_loaded_is_bit_equal(model, path):
    for rows, y in (make_task(2)[:2], wide_task(2)):
        model.fit(rows, y).save(path)
        loaded = devnet.load(path)
        assert type(loaded) is type(model)
        assert loaded.get_params() == model.get_params()
        assert loaded.threshold_ == model.threshold_
        np.testing.assert_array_equal(loaded.anomaly_score(rows), model.anomaly_score(rows))


def check_edited_tensors_get_a_sentence(model, path):
    for rows, y in (make_task(2)[:2], wide_task(2)):
        model.fit(rows, y).save(path)
        header, tensors = model_file.read(path)

        def refused(changed, header=header):
            write_sealed(path, header, changed)
            with pytest.raises(ModelFileError):
                devnet.load(path)

        refused(tensors | {"other": np.zeros(3)})
        for name, array in tensors.items():
            refused({other: kept for other, kept in tensors.items() if other != name})
            refused(tensors | {name: array[:-1].copy()})
            refused(tensors | {name: np.zeros(array.shape, np.int16)})
            if array.dtype.kind == "f":
                refused(tensors | {name: np.full_like(array, np.nan)})


def check_seeds(model):
    rows, y, _ = make_task(3)
    before = np.random.get_state()[1].tolist()

    def scores(random_state):
        return model.set_params(random_state=random_state).fit(rows, y).anomaly_score(rows)

    np.testing.assert_array_equal(scores(5), scores(5))
    np.testing.assert_array_equal(scores(2**40), scores(2**40))
    for kind in (np.random.RandomState, np.random.default_rng):
        np.testing.assert_array_equal(scores(kind(7)), scores(kind(7)))
    scores(None)
    assert np.random.get_state()[1].tolist() == before
    with pytest.raises(ValueError, match="random_state='now'"):
        scores("now")
    return scores


def check_learns_from_labels(model, seed):
    """Labels help; labels of random rows are no better than chance."""
    rows, y, truth = make_task(seed, n=3000, n_labelled=60, shift=1.5)
    test, _, test_truth = make_task(seed + 100, n=3000, n_labelled=60, shift=1.5)
    learned = roc_auc_score(test_truth, model.fit(rows, y).anomaly_score(test))
    chance = []
    generator = np.random.default_rng(seed)
    for _ in range(3):
        permuted = generator.permutation(y)
        chance.append(roc_auc_score(test_truth, model.fit(rows, permuted).anomaly_score(test)))
    assert learned > 0.85
    assert 0.2 < np.mean(chance) < 0.8
    assert learned > np.max(chance)


def check_threshold_is_the_quantile(model):
    rows, y, _ = make_task(4)
    model.set_params(confidence=0.9).fit(rows, y)
    share = (model.anomaly_score(rows[y == 0]) > model.threshold_).mean()
    assert 0.05 <= share <= 0.1001
    np.testing.assert_array_equal(model.predict(rows) == 1, model.decision_function(rows) > 0)
    with pytest.raises(ValueError, match="confidence=1.5"):
        model.set_params(confidence=1.5).fit(rows, y)


def check_missing_values_get_a_sentence(model):
    for rows, y in (make_task(5)[:2], wide_task(5)):
        model.fit(rows, y)
        broken = with_nan(rows)
        for call in (model.anomaly_score, lambda X, y=y: model.fit(X, y)):
            with pytest.raises(ValueError, match="NaN: row 4, column 3"):
                call(broken)


def with_nan(rows):
    """A copy with a missing value at row 4, column 3."""
    if not sp.issparse(rows):
        broken = rows.copy()
        broken[4, 3] = np.nan
        return broken
    broken = rows.tolil()
    broken[4, 3] = np.nan
    return broken.tocsr()


def check_rows_of_weight_zero_do_not_matter(model):
    rows, y, _ = make_task(6)
    weight = np.ones(len(y))
    weight[10:15] = 0
    weight[600:] = 0
    spoiled = rows.copy()
    spoiled[weight == 0] = 1e3
    one, other = (
        model.fit(matrix, y, sample_weight=weight).anomaly_score(rows) for matrix in (rows, spoiled)
    )
    np.testing.assert_array_equal(one, other)


def check_a_competitor(model, path):
    """All checks above that need only a quick model with a seed."""
    check_scores_do_not_depend_on_the_batch(clone(model))
    check_saved_and_loaded_is_bit_equal(clone(model), path)
    check_edited_tensors_get_a_sentence(clone(model), path)
    check_missing_values_get_a_sentence(clone(model))
    check_rows_of_weight_zero_do_not_matter(clone(model))
    check_seeds(clone(model))
    check_threshold_is_the_quantile(clone(model))
