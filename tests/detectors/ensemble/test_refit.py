"""Further labels for a trained ensemble."""

import numpy as np
import pytest
from support.ensemble_checks import check_complete, check_same, fitted, quick
from support.tasks import make_task


def test_new_labels_raise_the_scores_of_their_rows(seed):
    rows, y, _ = make_task(seed, n=2000)
    other = np.arange(1000, 1030)  # another kind of anomaly, unlabelled so far
    rows[other, 5:] += 2.5
    model = quick(n_networks=4, n_trees=20).fit(rows, y)
    before = model.anomaly_score(rows)
    more = y.copy()
    more[other[:10]] = 1
    model.refit(rows, more)
    after = model.anomaly_score(rows)
    assert np.median(after[other[:10]]) > np.median(before[other[:10]]) + 1
    assert np.median(after[other[10:]]) > np.median(before[other[10:]])
    assert len(model.out_of_bag_.labelled) == 30
    np.testing.assert_array_equal(model.pool_weight_[np.isin(model.pool_, other[:10])], 0)
    check_complete(model, rows)


def test_retracted_labels_lower_the_scores_of_their_rows(seed):
    rows, y, _ = make_task(seed, n=2000)
    wrong = np.arange(1000, 1010)
    rows[wrong, 5:] += 2.5
    y[wrong] = 1
    model = quick(n_networks=4, n_trees=20).fit(rows, y)
    before = model.anomaly_score(rows)
    y[wrong] = 0
    after = model.refit(rows, y).anomaly_score(rows)
    assert np.median(after[wrong]) < np.median(before[wrong])
    assert len(model.out_of_bag_.labelled) == 20


@pytest.mark.parametrize("kind", ["table", "wide"])
def test_other_rows_are_refused_and_the_model_stays(kind):
    model, rows, y = fitted(kind)
    with pytest.raises(ValueError, match="refit takes the same rows"):
        model.refit(rows[:-1], y[:-1])
    check_same(model, quick().fit(rows, y), rows)


@pytest.mark.parametrize("kind", ["table", "wide"])
def test_labels_of_the_whole_pool_are_refused(kind):
    _, rows, y = fitted(kind)
    weight = np.ones(len(y))
    weight[-1] = 0
    model = quick().fit(rows, y, sample_weight=weight)
    all_but_one = np.ones(len(y))
    all_but_one[-1] = 0
    with pytest.raises(ValueError, match="are labelled now or have weight zero; call fit"):
        model.refit(rows, all_but_one)
    all_but_one[-2] = 0
    check_complete(model.refit(rows, all_but_one), rows)


def test_an_unfitted_model_cannot_go_on():
    _, rows, y = fitted()
    with pytest.raises(AttributeError, match="not fitted"):
        quick().refit(rows, y)


@pytest.mark.parametrize("kind", ["table", "wide"])
def test_refit_refuses_other_rows_of_the_same_number(kind):
    _, rows, y = fitted(kind)
    model = quick().fit(rows, y)
    with pytest.raises(ValueError, match="other rows than the ensemble was fitted on"):
        model.refit(rows[::-1], y)


def test_refit_refuses_another_number_of_networks():
    _, rows, y = fitted()
    model = quick(n_networks=2).fit(rows, y).set_params(n_networks=3)
    with pytest.raises(ValueError, match="n_networks=3, but the ensemble was fitted with 2"):
        model.refit(rows, y)


def test_refit_looks_for_hidden_anomalies_again():
    _, rows, y = fitted()
    few = np.where(np.cumsum(y) <= 3, y, 0)
    model = quick().fit(rows, few)
    assert model.hidden_anomaly_share_ == (0.0, 0.0, 1.0)
    assert model.refit(rows, y).hidden_anomaly_share_.high < 1
