"""DeviationEnsemble as its users see it: it learns, its numbers mean what they say, it lasts."""

import json
import logging
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from competitor_checks import (
    check_edited_tensors_get_a_sentence,
    check_layouts_do_not_matter,
    check_learns_from_labels,
    check_missing_values_get_a_sentence,
    check_rows_of_weight_zero_do_not_matter,
    check_saved_and_loaded_is_bit_equal,
    check_scores_do_not_depend_on_the_batch,
    check_seeds,
    wide_task,
)
from conftest import make_task
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score, roc_auc_score

import devnet
from devnet import DeviationEnsemble, ModelFileError, model_file


def quick(**parameters):
    return DeviationEnsemble(**{"n_networks": 2, "n_trees": 6, "random_state": 0, **parameters})


@cache
def fitted(kind="table"):
    """A model and its rows and labels, for tests that change neither."""
    rows, y = make_task(0)[:2] if kind == "table" else wide_task(0)
    return quick().fit(rows, y), rows, y


def everything(model, rows):
    """All that a model says about rows."""
    contributions = model.contributions(rows)
    if sp.issparse(contributions):
        contributions = contributions.toarray()
    return [
        model.anomaly_score(rows),
        model.p_value(rows),
        model.predict(rows),
        contributions,
        model.column_importance_,
        model.learners_.baseline,
        np.array(model.hidden_anomaly_share_),
        np.array(model.expected_quality())[1:],  # the value itself is nan for a single label
        np.array(model.threshold_),
        *model.out_of_bag_,
    ]


def check_same(model, other, rows):
    for one, same in zip(everything(model, rows), everything(other, rows), strict=True):
        np.testing.assert_array_equal(one, same)


def check_whole(model, rows):
    """Whatever the data were, all numbers are there and fit together."""
    scores, p_values, *rest = everything(model, rows)
    assert all(np.isfinite(part).all() for part in (scores, p_values, *rest))
    assert ((p_values > 0) & (p_values <= 1)).all()
    order = np.argsort(scores, kind="stable")
    assert (np.diff(p_values[order]) <= 0).all()
    baseline = model.anomaly_score(model.learners_.baseline[None])
    parts = np.asarray(model.contributions(rows).sum(axis=1)).ravel()
    size = max(1, abs(scores).max())
    np.testing.assert_allclose(parts / size, (scores - baseline) / size, atol=1e-5)


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
    assert "screening of hidden anomalies is off" in caplog.text
    check_whole(model, rows)


@pytest.mark.parametrize("n_unlabelled", [1, 2, 3, 10, 49])
@pytest.mark.parametrize("n_labelled", [1, 5])
def test_very_few_unlabelled_rows_are_no_error(n_unlabelled, n_labelled, seed):
    rows, _, _ = make_task(seed, n=n_labelled + n_unlabelled, n_labelled=n_labelled, shift=6)
    y = (np.arange(len(rows)) < n_labelled).astype(int)
    check_whole(quick().fit(rows, y), rows)


def test_more_labels_than_unlabelled_rows_are_no_error(seed):
    rows, _, truth = make_task(seed, n=600, n_labelled=180, shift=2)
    model = quick().fit(rows, truth)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.9
    check_whole(model, rows)


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
    monkeypatch.setattr("os.cpu_count", lambda: n_cores)
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
    check_whole(model, rows)
    model.save(tmp_path / "m.devnet")
    check_same(model, devnet.load(tmp_path / "m.devnet"), rows)


def test_a_value_unseen_in_a_constant_column_is_no_error(seed):
    rows, y = column_of(seed, "constant")
    model = quick().fit(rows, y)
    moved = rows.copy()
    moved[:, 5] = np.linspace(-1e38, 1e38, 400)
    check_whole(model, moved)


def test_a_binary_table_is_learned(seed):
    rows, y, truth = make_task(seed, shift=2)
    rows = rows > 0
    model = quick(n_networks=4, n_trees=20).fit(rows, y)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.8
    check_whole(model, rows)


def test_duplicated_rows_are_no_error(seed):
    rows, _, _ = make_task(seed, n=12, n_labelled=2, shift=3)
    rows = np.repeat(rows, 30, axis=0)
    y = (np.arange(len(rows)) < 60).astype(int)
    model = quick().fit(rows, y)
    check_whole(model, rows)
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
    check_whole(model, rows[:, :1])


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
        check_whole(quick().fit(rows, y, sample_weight=weights), rows)


def test_a_failed_fit_leaves_the_model_as_it_was():
    _, rows, y = fitted()
    model = quick().fit(rows, y)
    with pytest.raises(ValueError, match="n_trees=0"):
        model.set_params(n_trees=0).fit(rows[:50], y[:50])
    check_same(model, fitted()[0], rows)


# Further labels


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
    check_whole(model, rows)


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
    with pytest.raises(ValueError, match="are labelled now or have weight zero; fit anew"):
        model.refit(rows, all_but_one)
    all_but_one[-2] = 0
    check_whole(model.refit(rows, all_but_one), rows)


def test_an_unfitted_model_cannot_go_on():
    _, rows, y = fitted()
    with pytest.raises(AttributeError, match="not fitted"):
        quick().refit(rows, y)


# Model files


@pytest.mark.parametrize("kind", ["table", "wide"])
def test_everything_comes_back_from_a_file_and_goes_on_alike(kind, tmp_path):
    _, rows, y = fitted(kind)
    model = quick().fit(rows, y)
    model.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    check_same(model, loaded, rows)
    more = y.copy()
    more[-5:] = 1
    check_same(model.refit(rows, more), loaded.refit(rows, more), rows)
    loaded.save(tmp_path / "m.devnet")
    check_same(model, devnet.load(tmp_path / "m.devnet"), rows)


def test_saved_and_loaded_is_bit_equal(tmp_path):
    check_saved_and_loaded_is_bit_equal(quick(), tmp_path / "m.devnet")


def test_a_file_of_sixty_columns_is_small(seed, tmp_path):
    rows, y, _ = make_task(seed, n=21_000, d=60)
    DeviationEnsemble(random_state=0).fit(rows, y).save(tmp_path / "m.devnet")
    assert (tmp_path / "m.devnet").stat().st_size < 5e6


def test_edited_tensors_get_a_sentence(tmp_path):
    check_edited_tensors_get_a_sentence(quick(), tmp_path / "m.devnet")


EDITS = {
    "a number": lambda array: array.ravel()[0],
    "nothing": lambda array: array[:0],
    "one axis more": lambda array: array[None],
    "all below": lambda array: -np.abs(array) - 1,
    "all zero": lambda array: array * 0,
    "as large as can be": lambda array: np.full_like(
        array, np.iinfo(array.dtype).max if array.dtype.kind == "i" else 3e38
    ),
    "reversed": lambda array: array[::-1],
    "other bytes": lambda array: array.view(np.uint8),
}


@pytest.mark.parametrize("kind", ["table", "wide"])
@pytest.mark.parametrize("edit", EDITS)
def test_whatever_is_edited_gets_a_sentence_or_works(kind, edit, tmp_path):
    model, rows, _ = fitted(kind)
    path = tmp_path / "m.devnet"
    model.save(path)
    header, tensors = model_file.read(path)
    for name, array in tensors.items():
        changed = tensors | {name: np.ascontiguousarray(EDITS[edit](array))}
        if edit == "a number":
            changed[name] = np.array(array.ravel()[0])
        save_file(changed, path, metadata={"devnet": json.dumps(header)})
        try:
            loaded = devnet.load(path)
        except ModelFileError as error:
            assert "model file" in str(error)
            continue
        with np.errstate(all="ignore"):
            assert loaded.anomaly_score(rows).shape == (rows.shape[0],)
            assert loaded.p_value(rows).shape == (rows.shape[0],)
            assert loaded.contributions(rows[:5]).shape == (5, rows.shape[1])
            loaded.expected_quality()


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("combination_scale", lambda scale: -scale),
        ("encoding_normal", lambda normal: 100 * normal),
        ("tree_value", lambda value: 0 * value + 1e308),
        ("tree_value", lambda value: value - 6),
        ("importance", lambda importance: 0 * importance + 0.9),
        ("bag_labelled", lambda numbers: numbers - 1000),
        ("bag_labelled", lambda numbers: numbers[::-1]),
        ("bag_unlabelled", lambda bag: 0 * bag),
        ("tree_left", lambda a: np.where(a > 0, 0, a)),
        ("tree_left", lambda a: a + 1000),
        ("tree_column", lambda a: a + 8),
        ("encoding_start", lambda a: a + 1),
        ("bag_unlabelled", lambda a: a + 1180),
        ("bag_anomalies", lambda a: a + 2**40),
        ("pool", lambda a: a + 1),
        ("pool", lambda a: a - 21),
        ("pool_weight", lambda a: a + 0.5),
        ("pool_weight", lambda a: a * 0),
        ("posterior", lambda a: a - 1),
        ("important_column", lambda a: a + 1),
        ("importance", lambda a: a - 1),
    ],
)
def test_numbers_out_of_range_get_a_sentence(name, edit, tmp_path):
    path = tmp_path / "m.devnet"
    fitted()[0].save(path)
    header, tensors = model_file.read(path)
    changed = edit(tensors[name]).astype(tensors[name].dtype)
    save_file(tensors | {name: changed}, path, metadata={"devnet": json.dumps(header)})
    with pytest.raises(ModelFileError, match="edited or damaged"):
        devnet.load(path)


@pytest.mark.parametrize("kind", ["table", "wide"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learners", "Evil"),
        ("learners", ["TableLearners"]),
        ("learners", None),
        ("n_rows", 5),
        ("n_rows", 0),
        ("n_rows", 1e9),
        ("n_rows", True),
        ("n_labelled", 0),
        ("n_labelled", 7),
        ("n_labelled", 10**30),
        ("n_labelled", None),
        ("combination_shift", "x"),
        ("combination_shift", None),
        ("hidden_anomaly_share", [0.1, 0.2, 0.3]),
        ("hidden_anomaly_share", [0.1, 0.1]),
        ("hidden_anomaly_share", [0.1, 0.1, 2]),
        ("hidden_anomaly_share", 0.1),
        ("n_features_in", 3),
        ("n_features_in", 10**30),
    ],
)
def test_edited_headers_get_a_sentence(kind, name, value, tmp_path):
    path = tmp_path / "m.devnet"
    fitted(kind)[0].save(path)
    header, tensors = model_file.read(path)
    save_file(tensors, path, metadata={"devnet": json.dumps(header | {name: value})})
    with pytest.raises(ModelFileError, match="model file"):
        devnet.load(path)


def test_a_table_s_file_is_not_taken_for_a_wide_one(tmp_path):
    path = tmp_path / "m.devnet"
    for kind, other in (("table", "WideLearners"), ("wide", "TableLearners")):
        fitted(kind)[0].save(path)
        header, tensors = model_file.read(path)
        save_file(tensors, path, metadata={"devnet": json.dumps(header | {"learners": other})})
        with pytest.raises(ModelFileError, match="should hold a tensor"):
            devnet.load(path)


def test_pickled_and_cloned(tmp_path):
    for kind in ("table", "wide"):
        model, rows, y = fitted(kind)
        check_same(pickle.loads(pickle.dumps(model)), model, rows)
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        check_same(copy.fit(rows, y), model, rows)


def arrays_in(thing, seen):
    """All arrays that can be reached from an object."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
        return
    parts = thing if isinstance(thing, list | tuple) else getattr(thing, "__dict__", {}).values()
    for part in parts:
        yield from arrays_in(part, seen)


@pytest.mark.parametrize("kind", ["table", "wide"])
def test_no_training_row_is_kept(kind, tmp_path):
    model, rows, y = fitted(kind)
    model.save(tmp_path / "m.devnet")
    _, tensors = model_file.read(tmp_path / "m.devnet")
    kept = [*arrays_in(model, set()), *tensors.values()]
    assert len(kept) > 10
    dense = rows.toarray() if sp.issparse(rows) else rows
    row = dense[0][dense[0] != 0].astype(np.float32).tobytes()
    for array in kept:
        assert array.nbytes < dense.nbytes
        assert row not in array.tobytes()
        assert array is not rows


# Wide and sparse rows


def columns_of_their_own(seed, n=600, d=100_000, n_anomalies=60, sign=1.0):
    """Rows of 30 columns of very many; anomalies have some that others rarely have."""
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
    check_whole(model, rows)


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


def test_a_huge_number_of_columns_in_an_edited_file_takes_no_memory(tmp_path):
    path = tmp_path / "m.devnet"
    model, rows, _ = fitted("wide")
    model.save(path)
    header, tensors = model_file.read(path)
    edited = json.dumps(header | {"n_features_in": 10**15})
    save_file(tensors, path, metadata={"devnet": edited})
    with pytest.raises(ModelFileError, match="edited or damaged"):
        devnet.load(path)


# What an analyst does in a loop


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
