"""Input of every detector: what works, and the clear errors for the rest."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score
from support.tasks import make_task

from devnet import DevNet


def quick(**parameters):
    return DevNet(
        **{"n_epochs": 3, "n_batches": 5, "batch_size": 64, "random_state": 0, **parameters}
    )


def test_hostile_but_valid_tables(task):
    rows, y, _ = task
    constant = rows.copy()
    constant[:, 2] = 7
    doubled = np.vstack([rows, rows])
    for matrix, labels in (
        (constant, y),
        (doubled, np.r_[y, y]),
        (rows[:, :1], y),
        (rows.astype(np.float64), y),
        ((10 * rows).astype(np.int32), y),
        (rows > 0, y),
        (np.asfortranarray(rows), y),
        (rows[:, ::-1], y),
        (rows.tolist(), y.tolist()),
        (rows[18:22], y[18:22]),
    ):
        model = quick().fit(matrix, labels)
        assert np.isfinite(model.anomaly_score(matrix)).all()
    frozen = rows.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(
        quick().fit(frozen, y).anomaly_score(frozen), quick().fit(rows, y).anomaly_score(rows)
    )


def test_one_labelled_anomaly_is_enough(seed):
    rows, _, truth = make_task(seed, shift=6)
    y = np.zeros(len(rows))
    y[0] = 1
    scores = DevNet(random_state=seed).fit(rows, y).anomaly_score(rows)
    assert roc_auc_score(truth, scores) > 0.75


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_bring_their_column_names(library, task):
    rows, y, _ = task
    frame = library.DataFrame({f"c{i}": rows[:, i] for i in range(rows.shape[1])})
    model = quick().fit(frame, library.Series(y))
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_allclose(
        model.anomaly_score(frame), quick().fit(rows, y).anomaly_score(rows), rtol=1e-6
    )
    renamed = (
        frame.rename(columns={"c3": "other"}) if library is pd else frame.rename({"c3": "other"})
    )
    with pytest.raises(ValueError, match="other"):
        model.anomaly_score(renamed)


@pytest.mark.parametrize("text", ["1", "x"])
def test_text_in_categories_never_gets_past_the_checks(text, task):
    rows, y, _ = task
    labels = [text, "2", None] * 400
    words = "contains NaN: row 2, column 1 .'b'" if text == "1" else "'x' in column 1 .'b'"
    for frame in (
        pd.DataFrame({"a": rows[:, 0], "b": pd.Categorical(labels)}),
        pl.DataFrame({"a": rows[:, 0], "b": labels}),
    ):
        with pytest.raises(ValueError, match=words):
            quick().fit(frame, y)


def test_a_failed_fit_leaves_the_detector_as_it_was(task):
    rows, y, _ = task
    model = quick().fit(rows, y)
    before = model.anomaly_score(rows)
    broken = rows[:, :3].copy()
    broken[0, 0] = np.nan
    for matrix, labels in ((rows[:, :3], y * 0), (broken, y), (rows, y[:-1])):
        with pytest.raises(ValueError, match="class|NaN|labels"):
            model.fit(matrix, labels)
        np.testing.assert_array_equal(model.anomaly_score(rows), before)


def test_a_training_without_finite_loss_says_so(task):
    rows, y, _ = task
    with (
        pytest.raises(ValueError, match="no finite loss; scale the columns"),
        np.errstate(all="ignore"),
    ):
        quick(margin=1e39).fit(rows, y)


def test_huge_weights_are_fine(task):
    rows, y, _ = task
    one, other = (quick().fit(rows, y, sample_weight=np.full(len(y), w)) for w in (1, 1e308))
    np.testing.assert_array_equal(one.anomaly_score(rows), other.anomaly_score(rows))


def test_bad_tables_get_a_sentence(task):
    rows, y, _ = task
    with pytest.raises(ValueError, match="y is empty"):
        quick().fit(rows, [])
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        quick().fit(rows[:1], y[:1])
    with pytest.raises(ValueError, match="1200 rows but y has 1199 labels"):
        quick().fit(rows, y[:-1])
    model = quick().fit(rows, y)
    with pytest.raises(ValueError, match="X has 7 features, but DevNet is expecting 8"):
        model.anomaly_score(rows[:, :7])
    broken = rows.copy()
    broken[4, 3] = np.nan
    for method in (model.anomaly_score, model.p_value, model.predict):
        with pytest.raises(ValueError, match="NaN: row 4, column 3"):
            method(broken)
    with pytest.raises(ValueError, match="NaN: row 4, column 3"):
        quick().fit(broken, y)
    with pytest.raises(ValueError, match="y is None"):
        quick().fit(rows, None)


def test_weights_that_are_no_numbers_get_a_sentence(task):
    rows, y, _ = task
    with pytest.raises(ValueError, match="sample_weight cannot be read as numbers .*'a'"):
        quick().fit(rows, y, sample_weight=["a"] * len(y))


def test_text_is_refused_with_its_column():
    frame = pd.DataFrame({"amount": [1.0, 2.0, 3.0], "country": ["at", "no", "nz"]})
    with pytest.raises(ValueError, match="'at' in column 1 .'country'.*OneHotEncoder"):
        quick().fit(frame, [1, 0, 0])
    with pytest.raises(ValueError, match="'b' in column 0 of X"):
        quick().fit(np.array([["b"], ["c"]]), [1, 0])


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones(5), r"sample_weight has shape \(5,\)"),
        (np.full(1200, -1.0), "row 0 is -1.0"),
        (np.r_[np.zeros(20), np.ones(1180)], "all labelled anomalies is zero"),
        (np.r_[np.ones(20), np.zeros(1180)], "all unlabelled rows is zero"),
    ],
)
def test_bad_weights_get_a_sentence(weight, words, task):
    rows, y, _ = task
    with pytest.raises(ValueError, match=words):
        quick().fit(rows, y, sample_weight=weight)


def test_rows_of_weight_zero_do_not_matter(task):
    rows, y, _ = task
    weight = np.ones(len(y))
    weight[600:] = 0
    spoiled = rows.copy()
    spoiled[600:] = 1e6
    one, other = (quick().fit(matrix, y, sample_weight=weight) for matrix in (rows, spoiled))
    np.testing.assert_array_equal(one.anomaly_score(rows), other.anomaly_score(rows))
