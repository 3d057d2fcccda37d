"""ReviewEnsemble ranks by what anomalies are like, by what is unusual, and by verdicts."""

from copy import copy

import numpy as np
import pytest
from support.model_files import write_sealed
from support.small_methods import fitted_small, small_rows
from support.tasks import make_task

import devnet
from devnet import DeviationEnsemble, ModelFileError, ReviewEnsemble
from devnet.core import model_file
from devnet.serving.onnx import ExportedModel

NORMAL = 2
SMALL = {"n_networks": 3, "n_trees": 16}


def two_kinds(seed, n=3000):
    """Rows and y: one kind of anomaly, of which all are known, and another that nobody knows."""
    rows = np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)
    rows[:20, 0] += 6
    rows[20:40, 3:5] -= 5
    return rows, (np.arange(n) < 20).astype(int)


def mean_rank(model, rows, y):
    """Of the unknown kind among all that is not labelled, 1 is the highest."""
    others = np.flatnonzero(y == 0)
    order = others[np.argsort(-model.anomaly_score(rows[others]))]
    return (np.flatnonzero(np.isin(order, np.arange(20, 40))) + 1).mean()


def test_another_kind_of_anomaly_comes_up_earlier(seed):
    rows, y = two_kinds(seed)
    plain, mixed = (
        kind(**SMALL, random_state=seed).fit(rows, y)
        for kind in (DeviationEnsemble, ReviewEnsemble)
    )
    assert mean_rank(mixed, rows, y) < 0.5 * mean_rank(plain, rows, y)


def test_dismissed_rows_push_those_like_them_down(seed):
    rows, y = two_kinds(seed)
    y[20:30] = NORMAL
    told = ReviewEnsemble(**SMALL, normal_label=NORMAL, random_state=seed).fit(rows, y)
    before = ReviewEnsemble(**SMALL, random_state=seed).fit(rows, np.where(y == 1, 1, 0))
    assert mean_rank(told, rows, y) > 2 * mean_rank(before, rows, y)


def test_a_typical_unlabelled_row_scores_0_and_their_spread_is_1(seed):
    rows, y, _ = make_task(seed, n=2000, n_labelled=20)
    y[1000:1100] = NORMAL
    model = ReviewEnsemble(**SMALL, normal_label=NORMAL, random_state=seed).fit(rows, y)
    unknown = np.isin(np.arange(len(model.pool_)), model.normals_, invert=True)
    scores = model.out_of_bag_.unlabelled[unknown]
    assert scores.mean() == pytest.approx(0, abs=1e-9)
    assert scores.std() == pytest.approx(1)
    assert model.unseen_scores().labelled is not None


def test_contributions_and_importance_are_those_of_both_halves(seed):
    rows, y = two_kinds(seed)
    model = ReviewEnsemble(**SMALL, random_state=seed).fit(rows, y)
    start = model.anomaly_score(model.baseline[None])
    found = model.contributions(rows[:60])
    np.testing.assert_allclose(found.sum(axis=1), model.anomaly_score(rows[:60]) - start, atol=1e-4)
    assert model.column_importance_.sum() == pytest.approx(1)
    assert model.column_importance_.argmax() == 0


def test_a_refit_learns_from_further_verdicts(seed):
    rows, y = two_kinds(seed)
    model = ReviewEnsemble(**SMALL, normal_label=NORMAL, random_state=seed).fit(rows, y)
    before = mean_rank(model, rows, y)
    y[20:30] = NORMAL
    assert mean_rank(model.refit(rows, y), rows, y) > before
    y[30:40] = 1
    model.refit(rows, y)
    assert len(model.out_of_bag_.labelled) == 30


def test_wide_rows_are_scored_by_the_ensemble_alone():
    rows, y = small_rows("wide")
    one, other = (
        kind(**SMALL, random_state=0).fit(rows, y).anomaly_score(rows)
        for kind in (DeviationEnsemble, ReviewEnsemble)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["dense", "wide"])
def test_a_saved_model_is_the_same(kind, tmp_path):
    model = fitted_small("review ensemble", kind)
    model.save(tmp_path / "m.devnet")
    rows, y = small_rows(kind)
    loaded = devnet.load(tmp_path / "m.devnet")
    np.testing.assert_array_equal(loaded.anomaly_score(rows), model.anomaly_score(rows))
    np.testing.assert_array_equal(loaded.p_value(rows), model.p_value(rows))
    assert np.isfinite(loaded.refit(rows, y).anomaly_score(rows)).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mix": np.array([1.0, -1.0, 0.0])}, "both halves must count"),
        ({"mix": np.array([1.0, 1.0])}, "mix"),
        ({"order_expected": np.array([0.0, 0.0])}, "must be expected more"),
        ({"order_other": np.zeros(1)}, "order_other"),
    ],
)
def test_an_edited_file_is_refused(changes, words, tmp_path):
    path = tmp_path / "m.devnet"
    fitted_small("review ensemble", "dense").save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header, {**tensors, **changes})
    with pytest.raises(ModelFileError, match=words):
        devnet.load(path)


def test_it_is_not_exported_as_if_it_were_the_ensemble_alone(tmp_path):
    pytest.importorskip("onnx")
    model = fitted_small("review ensemble", "dense")
    devnet.export(model, tmp_path / "m.onnx")
    rows = np.random.default_rng(0).normal(size=(50, model.n_features_in_)).astype(np.float32)
    found = ExportedModel(tmp_path / "m.onnx").score(rows)["anomaly_score"].to_numpy()
    np.testing.assert_allclose(found, model.anomaly_score(rows), atol=1e-5)
    alone = copy(model)
    alone.half_ = None
    assert not np.allclose(found, alone.anomaly_score(rows), atol=1e-2)
