"""DeviationEnsemble as its users see it."""

import logging
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score, roc_auc_score
from support.competitor_checks import (
    check_layouts_do_not_matter,
    check_learns_from_labels,
    check_missing_values_get_a_sentence,
    check_rows_of_weight_zero_do_not_matter,
    check_scores_do_not_depend_on_the_batch,
    check_seeds,
)
from support.ensemble_checks import check_complete, check_same, everything, fitted, quick
from support.tasks import make_task

import devnet
from devnet.detectors.ensemble import deviation_networks

# Does it learn?


def test_it_learns_from_labels(seed):
    check_learns_from_labels(quick(n_networks=4, n_trees=30, random_state=seed), seed)


def test_ten_percent_of_wrong_labels_do_not_wreck_it(seed):
    rows, y, _ = make_task(seed, n=3000, n_labelled=40, shift=1.5)
    test, _, truth = make_task(seed + 100, n=3000, n_labelled=60, shift=1.5)
    wrong = y.copy()
    wrong[:4], wrong[-4:] = 0, 1
    model = quick(n_networks=4, n_trees=30)
    clean, spoiled = (
        roc_auc_score(truth, model.fit(rows, labels).anomaly_score(test)) for labels in (y, wrong)
    )
    assert clean > 0.9
    assert spoiled > clean - 0.05


@pytest.mark.parametrize("n_labelled", [1, 2, 3, 4])
def test_very_few_labels_are_learned_from(n_labelled, seed, caplog):
    rows, _, truth = make_task(seed, shift=3)
    y = (np.arange(len(rows)) < n_labelled).astype(int)
    with caplog.at_level(logging.INFO, logger="devnet"):
        model = quick(n_networks=4, n_trees=20).fit(rows, y)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.8
    assert tuple(model.hidden_anomaly_share_) == (0, 0, 1)
    assert "screening for hidden anomalies is off" in caplog.text
    check_complete(model, rows)


@pytest.mark.parametrize("n_unlabelled", [1, 2, 3, 10, 49])
@pytest.mark.parametrize("n_labelled", [1, 5])
def test_very_few_unlabelled_rows_are_no_error(n_unlabelled, n_labelled, seed):
    rows, _, _ = make_task(seed, n=n_labelled + n_unlabelled, n_labelled=n_labelled, shift=6)
    y = (np.arange(len(rows)) < n_labelled).astype(int)
    check_complete(quick().fit(rows, y), rows)


def test_more_labels_than_unlabelled_rows_are_no_error(seed):
    rows, _, truth = make_task(seed, n=600, n_labelled=180, shift=2)
    model = quick().fit(rows, truth)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.9
    check_complete(model, rows)


# What a score means


def test_unlabelled_rows_have_mean_zero_and_spread_one_out_of_bag():
    model, rows, y = fitted()
    scores, weight = model.out_of_bag_.unlabelled, 1 - model.posterior_  # hidden ones left out
    assert np.average(scores, weights=weight) == pytest.approx(0, abs=1e-9)
    assert np.average(scores**2, weights=weight) == pytest.approx(1)
    assert len(scores) == (y == 0).sum()
    assert len(model.out_of_bag_.labelled) == y.sum()


def test_p_values_of_new_ordinary_rows_are_as_rare_as_they_say(seed):
    rows, y, _ = make_task(seed, n=4000, n_labelled=15)
    new = np.random.default_rng(seed + 1000).normal(size=(4000, 8)).astype(np.float32)
    p_values = quick(n_networks=4, n_trees=20).fit(rows, y).p_value(new)
    for rate in (0.01, 0.05, 0.1, 0.5):
        assert (p_values <= rate).mean() < rate + 5 * np.sqrt(rate / 2000)
    assert (p_values <= 0.1).mean() > 0.04  # and not only because all are large


def test_threshold_p_value_and_prediction_agree(seed):
    rows, y, _ = make_task(seed)
    model = quick(confidence=0.9).fit(rows, y)
    scores = model.anomaly_score(rows)
    np.testing.assert_array_equal(model.predict(rows) == 1, scores > model.threshold_)
    np.testing.assert_array_equal(model.decision_function(rows), scores - model.threshold_)
    assert (model.p_value(rows)[model.predict(rows) == 1] <= 0.1 + 1e-12).all()


def test_p_values_do_not_depend_on_how_much_labelled_rows_weigh():
    rows, y, _ = make_task(0)
    one, other = (
        quick().fit(rows, y, sample_weight=np.where(y == 1, weight, 0.5)) for weight in (0.5, 500)
    )
    np.testing.assert_array_equal(one.pool_weight_, other.pool_weight_)
    check_same(one, other, rows)


def test_contributions_add_up_and_name_the_columns(seed):
    rows, y, _ = make_task(seed, shift=2)
    model = quick(n_networks=4, n_trees=20).fit(rows, y)
    parts = model.contributions(rows)
    expected = model.anomaly_score(rows) - model.anomaly_score(model.learners_.baseline[None])
    np.testing.assert_allclose(parts.sum(axis=1), expected, atol=1e-5)
    np.testing.assert_array_equal(model.learners_.baseline, np.median(rows[y == 0], axis=0))
    assert set(np.argsort(model.column_importance_)[-3:]) == {0, 1, 2}
    assert model.column_importance_.sum() == pytest.approx(1)
    size = abs(model.contributions(rows[y == 1])).sum(axis=0)
    np.testing.assert_allclose(model.column_importance_, size / size.sum(), rtol=1e-6)
    np.testing.assert_allclose(model.contributions(rows[[5]])[0], parts[5], atol=1e-9)


def test_the_expected_quality_is_about_what_new_rows_show(seed):
    rows, y, is_anomaly = make_task(seed, n=3000, n_labelled=50, shift=1.5)
    test, _, truth = make_task(seed + 100, n=3000, n_labelled=50, shift=1.5)
    model = quick(n_networks=4, n_trees=30).fit(rows, y)
    share = is_anomaly[y == 0].mean()
    quality = model.expected_quality(share)
    weight = np.where(truth, share / truth.mean(), (1 - share) / (1 - truth.mean()))
    actual = average_precision_score(truth, model.anomaly_score(test), sample_weight=weight)
    assert quality.low - 0.1 < actual < quality.high + 0.1
    assert quality == model.expected_quality(share)
    unsure = model.expected_quality()
    assert unsure.high - unsure.low > quality.high - quality.low


@pytest.mark.parametrize("share", [0, -0.1, 1, 1.1, np.nan, "a", [0.1], True])
def test_an_impossible_share_gets_a_sentence(share):
    model, _, _ = fitted()
    with pytest.raises(ValueError, match="is not a share above 0 and below 1"):
        model.expected_quality(share)


# The same row, the same score


def test_scores_do_not_depend_on_the_batch():
    check_scores_do_not_depend_on_the_batch(quick())


@pytest.mark.parametrize("kind", ["table", "wide"])
@given(n=st.integers(1, 700), seed=st.integers(0, 10**6))
def test_a_row_s_score_is_the_same_alone_and_in_any_batch(kind, n, seed):
    model, rows, _ = fitted(kind)
    expected = expected_scores(kind)
    chosen = np.random.default_rng(seed).integers(rows.shape[0], size=n)
    np.testing.assert_array_equal(model.anomaly_score(rows[chosen]), expected[chosen])
    np.testing.assert_array_equal(model.anomaly_score(rows[chosen[:1]]), expected[chosen[:1]])


@cache
def expected_scores(kind):
    model, rows, _ = fitted(kind)
    return model.anomaly_score(rows)


def test_layouts_do_not_matter():
    check_layouts_do_not_matter(quick())


@pytest.mark.parametrize("n_cores", [1, 3, 64, None])
def test_results_do_not_depend_on_the_number_of_cores(n_cores, monkeypatch):
    model, rows, y = fitted()
    # None is what the standard library says if it does not know.
    name = "os.cpu_count" if n_cores is None else "devnet.core.cores.cpu_count"
    monkeypatch.setattr(name, lambda: n_cores)
    monkeypatch.setattr(deviation_networks, "THREADED", 1)
    check_same(quick().fit(rows, y), model, rows)


def test_seeds():
    check_seeds(quick())


def test_a_frame_is_its_values_with_names(tmp_path):
    model, rows, y = fitted()
    frame = pd.DataFrame(rows, columns=[f"c{i}" for i in range(8)])
    named = quick().fit(frame, pd.Series(y))
    assert list(named.feature_names_in_) == list(frame.columns)
    for one, same in zip(everything(named, frame), everything(model, rows), strict=True):
        np.testing.assert_array_equal(one, same)
    named.save(tmp_path / "m.devnet")
    with pytest.raises(ValueError, match="feature names"):
        devnet.load(tmp_path / "m.devnet").anomaly_score(frame.iloc[:, ::-1])


# Odd columns and rows


def column_of(seed, kind):
    rows, y, _ = make_task(seed, n=400)
    rows[:, 5] = {
        "constant": np.full(400, 3.0),
        "constant and large": np.full(400, 3e38),
        "one huge outlier": np.append(rows[1:, 5], 3e38),
        "denormal": 1e-45 * np.arange(400),
        "heavy tails": np.sinh(15 * rows[:, 5]),
        "tiny": 1e-38 * rows[:, 5],
        "huge": 1e38 * np.sign(rows[:, 5]),
    }[kind]
    return rows, y


@pytest.mark.parametrize(
    "kind",
    [
        "constant",
        "constant and large",
        "one huge outlier",
        "denormal",
        "heavy tails",
        "tiny",
        "huge",
    ],
)
def test_odd_columns_are_no_error_and_survive_saving(kind, seed, tmp_path):
    rows, y = column_of(seed, kind)
    model = quick().fit(rows, y)
    check_complete(model, rows)
    model.save(tmp_path / "m.devnet")
    check_same(model, devnet.load(tmp_path / "m.devnet"), rows)


def test_a_value_unseen_in_a_constant_column_is_no_error(seed):
    rows, y = column_of(seed, "constant")
    model = quick().fit(rows, y)
    moved = rows.copy()
    moved[:, 5] = np.linspace(-1e38, 1e38, 400)
    check_complete(model, moved)


def test_a_binary_table_is_learned(seed):
    rows, y, truth = make_task(seed, shift=2)
    rows = rows > 0
    model = quick(n_networks=4, n_trees=20).fit(rows, y)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.8
    check_complete(model, rows)


def test_duplicated_rows_are_no_error(seed):
    rows, _, _ = make_task(seed, n=12, n_labelled=2, shift=3)
    rows = np.repeat(rows, 30, axis=0)
    y = (np.arange(len(rows)) < 60).astype(int)
    model = quick().fit(rows, y)
    check_complete(model, rows)
    assert roc_auc_score(y, model.anomaly_score(rows)) > 0.9


def test_equal_rows_are_no_error():
    rows, y = np.ones((50, 3), np.float32), (np.arange(50) < 7).astype(int)
    model = quick().fit(rows, y)
    assert np.isfinite(model.anomaly_score(rows)).all()
    assert (model.p_value(rows) > 0.2).all()


def test_one_column_is_enough(seed):
    rows, y, truth = make_task(seed, shift=4)
    model = quick().fit(rows[:, :1], y)
    assert roc_auc_score(truth, model.anomaly_score(rows[:, :1])) > 0.9
    check_complete(model, rows[:, :1])


def test_many_dense_columns_are_no_error(seed, tmp_path):
    rows, y, truth = make_task(seed, n=400, d=1500, shift=4)
    model = quick(n_networks=1, n_trees=20).fit(rows, y)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.9
    alone = [model.anomaly_score(rows[[i]])[0] for i in range(10)]
    np.testing.assert_array_equal(alone, model.anomaly_score(rows)[:10])


def test_missing_values_get_a_sentence():
    check_missing_values_get_a_sentence(quick())
    model, rows, _ = fitted()
    broken = rows.copy()
    broken[2, 1] = np.inf
    with pytest.raises(ValueError, match="infinity.*row 2, column 1"):
        model.contributions(broken)


# Weights


def test_rows_of_weight_zero_do_not_matter():
    check_rows_of_weight_zero_do_not_matter(quick())


def test_tiny_weights_are_no_error(seed):
    rows, y, _ = make_task(seed)
    for weight in (1e-300, 1e-40):
        weights = np.ones(len(y))
        weights[::2] = weight
        check_complete(quick().fit(rows, y, sample_weight=weights), rows)


def test_a_failed_fit_leaves_the_model_as_it_was():
    _, rows, y = fitted()
    model = quick().fit(rows, y)
    with pytest.raises(ValueError, match="n_trees=0"):
        model.set_params(n_trees=0).fit(rows[:50], y[:50])
    check_same(model, fitted()[0], rows)


@pytest.mark.parametrize(
    "call", ["anomaly_score", "p_value", "contributions", "predict", "decision_function"]
)
def test_nothing_is_told_before_a_fit(call):
    _, rows, _ = fitted()
    with pytest.raises(NotFittedError):
        getattr(quick(), call)(rows)


def test_one_label_lets_nothing_expect(seed):
    rows, y, _ = make_task(seed, n=300, n_labelled=1)
    quality = quick().fit(rows, y).expected_quality(0.05)
    assert np.isnan(quality.auc_pr)
    assert quality[1:] == (0.0, 1.0)


@pytest.mark.parametrize("margin", [0, 1e6, 1e300])
def test_an_impossible_margin_gets_a_sentence(margin):
    _, rows, y = fitted()
    with pytest.raises(ValueError, match="margin"):
        quick(margin=margin).fit(rows, y)
