"""DevNet as its users see it: it learns, scores mean what they say, bad input is refused."""

import logging
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from support.tasks import make_task

from devnet import DevNet, GaussianPrior
from devnet.detectors import network_detector


def quick(**parameters):
    return DevNet(
        **{"n_epochs": 3, "n_batches": 5, "batch_size": 64, "random_state": 0, **parameters}
    )


# Does it learn?


@pytest.mark.parametrize(
    "variant", [{}, {"hidden": ()}, {"hidden": (30, 10, 5)}, {"end_to_end": False}]
)
def test_learns_from_labels_and_not_from_permuted_ones(variant, seed):
    def cloud(number):
        """One symmetric cloud; its upper end in one direction is the anomaly, its lower is not.

        Rows that merely lie far out would score high without any label.
        """
        rows = np.random.default_rng([seed, number]).normal(size=(3000, 8)).astype(np.float32)
        along = rows[:, :3] @ np.array([1, -1, 1])
        return rows, along > np.quantile(along, 0.95)

    (rows, is_anomaly), (unseen, truth) = cloud(0), cloud(1)
    y = is_anomaly & (is_anomaly.cumsum() <= 30)
    generator = np.random.default_rng(seed)

    def auc(labels, random_state):
        model = DevNet(**variant, random_state=random_state).fit(rows, labels)
        return roc_auc_score(truth, model.anomaly_score(unseen))

    assert auc(y, seed) > 0.9
    # Any one permutation may point at the anomalies by chance, or away from them.
    permuted = [auc(generator.permutation(y), random_state) for random_state in range(8)]
    assert 0.25 < np.mean(permuted) < 0.75


def test_exchanged_roles_invert_the_ranking(seed):
    rows, _, truth = make_task(seed, n=1000, n_labelled=150, shift=3)
    scores = DevNet(n_epochs=10, random_state=seed).fit(rows, truth).anomaly_score(rows)
    inverted = DevNet(n_epochs=10, random_state=seed).fit(rows, 1 - truth).anomaly_score(rows)
    assert roc_auc_score(truth, scores) > 0.95
    assert roc_auc_score(truth, inverted) < 0.05


def test_scores_differ_between_rows(task):
    rows, y, _ = task
    assert np.unique(quick().fit(rows, y).anomaly_score(rows)).size > 0.9 * len(rows)


# What a score means


def test_threshold_p_value_and_prediction_agree(task):
    rows, y, _ = task
    model = DevNet(confidence=0.975, n_epochs=10, random_state=0).fit(rows, y)
    assert model.threshold_ == pytest.approx(1.96, abs=1e-3)
    scores, p_values = model.anomaly_score(rows), model.p_value(rows)
    np.testing.assert_array_equal(model.predict(rows) == 1, scores > model.threshold_)
    np.testing.assert_array_equal(p_values < 0.025, scores > model.threshold_)
    np.testing.assert_allclose(model.decision_function(rows), scores - model.threshold_)
    two_sided = model.p_value(rows, two_sided=True)
    np.testing.assert_allclose(two_sided, 2 * np.minimum(p_values, 1 - p_values), atol=1e-12)


def test_the_score_is_the_deviation_whatever_the_prior(task):
    rows, y, _ = task
    plain = DevNet(n_epochs=20, random_state=0).fit(rows, y).anomaly_score(rows)
    moved = DevNet(n_epochs=20, random_state=0, reference=GaussianPrior(mean=2, std=0.5)).fit(
        rows, y
    )
    scores = moved.anomaly_score(rows)
    assert abs(np.median(scores) - np.median(plain)) < 0.7  # on the Z scale, not around 2
    assert np.corrcoef(plain, scores)[0, 1] > 0.8


def test_predict_uses_the_caller_s_values(task):
    rows, y, _ = task
    named = np.where(y == 1, "fraud", "ok")
    model = quick(pos_label="fraud").fit(rows, named)
    assert set(model.predict(rows)) <= {"ok", "fraud"}
    np.testing.assert_array_equal(
        model.anomaly_score(rows), quick().fit(rows, y).anomaly_score(rows)
    )


# The same row, the same score


@given(st.integers(1, 700), st.integers(0, 10**6))
def test_a_row_s_score_is_the_same_alone_and_in_any_batch(n, seed):
    model, rows, expected = _fitted_once()
    chosen = np.random.default_rng(seed).integers(len(rows), size=n)
    np.testing.assert_array_equal(model.anomaly_score(rows[chosen]), expected[chosen])
    np.testing.assert_array_equal(model.anomaly_score(rows[chosen[:1]]), expected[chosen[:1]])


def _fitted_once(cache={}):  # noqa: B006
    if not cache:
        rows, y, _ = make_task(0, n=5000)
        model = DevNet(hidden=(20, 7), n_epochs=2, n_members=2, random_state=0).fit(rows, y)
        cache["found"] = model, rows, model.anomaly_score(rows)
    return cache["found"]


def test_threads_do_not_change_scores(monkeypatch):
    model, rows, expected = _fitted_once()
    many = np.tile(rows, (20, 1))
    for n_threads in (1, 3):
        monkeypatch.setattr("devnet.core.cores.cpu_count", lambda n=n_threads: n)
        np.testing.assert_array_equal(model.anomaly_score(many), np.tile(expected, 20))
    rows, y, _ = wide_task(0)
    wide = quick().fit(rows, y)
    many_wide = sp.vstack([rows] * 110).tocsr()
    np.testing.assert_array_equal(
        wide.anomaly_score(many_wide), np.tile(wide.anomaly_score(rows), 110)
    )
    many[70_000, 2] = np.nan
    with pytest.raises(ValueError, match="NaN: row 70000, column 2"):
        model.anomaly_score(many)


def test_overlapping_threads_give_blas_its_threads_back():
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info, threadpool_limits

    def blas_threads():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    model, rows, expected = _fitted_once()
    many = np.tile(rows, (20, 1))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(3) as pool:
            for scores in pool.map(model.anomaly_score, [many] * 6):
                np.testing.assert_array_equal(scores, np.tile(expected, 20))
        assert blas_threads() == before
    assert 2 in before


def test_narrow_sparse_rows_train_exactly_as_dense_ones(task):
    rows, y, _ = task
    rows = np.where(np.abs(rows) > 1, rows, 0)
    for matrix in (sp.csr_matrix(rows), sp.csc_array(rows), sp.coo_array(rows)):
        model, dense = quick().fit(matrix, y), quick().fit(rows, y)
        np.testing.assert_array_equal(model.anomaly_score(matrix), dense.anomaly_score(rows))


def wide_task(seed, d=5000):
    """A sparse task with many columns; the first 40 carry the anomalies."""
    generator = np.random.default_rng(seed)
    noise = sp.random_array((900, d), density=0.004, format="lil", dtype=np.float32, rng=generator)
    signal = generator.random((60, 40)) < 0.4
    noise[:60, :40] = signal.astype(np.float32)
    y = np.zeros(900, dtype=int)
    y[:30] = 1
    truth = np.zeros(900, dtype=int)
    truth[:60] = 1
    return noise.tocsr(), y, truth


def test_wide_sparse_rows_learn_as_well_as_dense_ones(seed, monkeypatch):
    rows, y, truth = wide_task(seed)
    lazy = DevNet(n_epochs=10, random_state=seed).fit(rows, y)
    assert lazy.network_.first_kernel is not None
    monkeypatch.setattr(network_detector, "WIDE", 10**9)
    dense = DevNet(n_epochs=10, random_state=seed).fit(rows, y)
    assert dense.network_.first_kernel is None
    found = [roc_auc_score(truth[30:], model.anomaly_score(rows[30:])) for model in (lazy, dense)]
    assert min(found) > 0.9
    assert abs(found[0] - found[1]) < 0.05


@pytest.mark.parametrize("variant", [{}, {"hidden": ()}, {"end_to_end": False}, {"n_members": 2}])
def test_wide_models_score_dense_and_sparse_rows_alike(variant):
    rows, y, _ = wide_task(0)
    model = quick(**variant).fit(rows, y)
    scores = model.anomaly_score(rows)
    np.testing.assert_allclose(model.anomaly_score(rows.toarray()), scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(model.anomaly_score(rows[7:9]), scores[7:9])
    dense = quick(**variant).fit(rows.toarray(), y)
    np.testing.assert_allclose(
        dense.anomaly_score(rows), dense.anomaly_score(rows.toarray()), rtol=1e-5, atol=1e-6
    )


def test_a_column_never_seen_in_training_weighs_zero():
    rows, y, _ = wide_task(0)
    rows = rows.tolil()
    rows[:, 4000:] = 0
    rows = rows.tocsr()
    model = quick().fit(rows, y)
    changed = rows.tolil()
    changed[:, 4500] = 100
    np.testing.assert_array_equal(model.anomaly_score(changed.tocsr()), model.anomaly_score(rows))


# Members, resuming, seeds


def test_a_member_equals_a_network_trained_alone(task):
    rows, y, _ = task
    together = quick(n_members=3).fit(rows, y)
    alone = quick(n_members=1).fit(rows, y)
    np.testing.assert_allclose(
        together.network_.parameters[0], alone.network_.parameters[0], rtol=1e-3, atol=1e-5
    )
    mean = np.mean(
        [np.asarray(_member_scores(together, rows, member)) for member in range(3)], axis=0
    )
    np.testing.assert_allclose(together.anomaly_score(rows), mean, rtol=1e-4, atol=1e-5)


def _member_scores(model, rows, member):
    outputs, _ = model.network_.forward(np.broadcast_to(rows, (3, *rows.shape)))
    return outputs[member, :, 0]


def test_partial_fit_and_warm_start_go_on(task):
    rows, y, _ = task
    model = quick().partial_fit(rows, y, classes=[0, 1])
    np.testing.assert_array_equal(
        model.anomaly_score(rows), quick().fit(rows, y).anomaly_score(rows)
    )
    losses = [record["loss"] for record in model.partial_fit(rows, y).history_]
    assert [record["epoch"] for record in model.history_] == [1, 2, 3, 4, 5, 6]
    assert np.mean(losses[3:]) < np.mean(losses[:3])
    warm = quick(warm_start=True).fit(rows, y).fit(rows, y)
    np.testing.assert_array_equal(warm.anomaly_score(rows), model.anomaly_score(rows))
    assert len(quick().fit(rows, y).fit(rows, y).history_) == 3


def test_going_on_with_new_columns_keeps_the_old_ones():
    rows, y, truth = wide_task(0)
    early = rows.tolil()
    early[:, 2500:] = 0
    model = DevNet(n_epochs=5, random_state=0).fit(early.tocsr(), y)
    known = len(model.network_.first_kernel.columns)
    model.partial_fit(rows, y)
    assert len(model.network_.first_kernel.columns) > known
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.9


@pytest.mark.parametrize("hidden", [(7,), (2, 40)])  # the second has as many parameters
def test_going_on_or_saving_with_another_network_is_refused(hidden, task, tmp_path):
    rows, y, _ = task
    model = quick(warm_start=True).fit(rows, y)
    assert model.network_.parameters.shape == (1, 201)
    model.set_params(hidden=hidden)
    with pytest.raises(ValueError, match="cannot train on.*`hidden`.*was changed"):
        model.fit(rows, y)
    with pytest.raises(ValueError, match="cannot save a model.*`hidden`.*was changed"):
        model.save(tmp_path / "m.devnet")


def test_going_on_with_dense_rows_after_wide_sparse_ones():
    rows, y, truth = wide_task(0)
    model = DevNet(n_epochs=5, random_state=0).fit(rows, y)
    model.partial_fit(rows.toarray(), y)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.9


def test_the_penalty_of_lazy_columns_does_not_ramp_up():
    rows, y, _ = wide_task(0)
    losses = [
        record["loss"]
        for record in DevNet(n_epochs=6, n_batches=3, learning_rate=1e-6, l2=0.5, random_state=0)
        .fit(rows, y)
        .history_
    ]
    # 2 d h / (d + h) is the sum of squares of Glorot weights; it is there from the first step.
    assert losses[0] > 0.5 * 2 * 5000 * 20 / 5020 * 0.95
    np.testing.assert_allclose(losses, losses[0], rtol=0.05)


def test_partial_fit_with_announced_classes(task):
    rows, y, _ = task
    expected = quick().fit(rows, y).anomaly_score(rows)
    for classes in ([0, 1], [1, 0], np.array([1, 0])):
        model = quick().partial_fit(rows, y, classes=classes)
        np.testing.assert_array_equal(model.anomaly_score(rows), expected)
        assert model.classes_.tolist() == [0, 1]
    zero = quick(pos_label=0).partial_fit(rows, y, classes=[0, 1])
    np.testing.assert_array_equal(
        zero.anomaly_score(rows), quick(pos_label=0).fit(rows, y).anomaly_score(rows)
    )
    with pytest.raises(ValueError, match="two different values"):
        quick().partial_fit(rows, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="pos_label=0, but 1 has marked the anomalies so far"):
        model.set_params(pos_label=0).partial_fit(rows, y)


def test_a_network_without_layers_is_refused(task):
    rows, y, _ = task
    with pytest.raises(ValueError, match="leaves no layer to train"):
        quick(hidden=(), end_to_end=False).fit(rows, y)
    with pytest.raises(ValueError, match="leaves no layer to train"):
        quick(hidden=(), end_to_end=False).fit(*wide_task(0)[:2])


def test_random_state_decides_everything_and_global_state_nothing(task):
    torch = pytest.importorskip("torch")
    rows, y, _ = task

    def scores(random_state):
        return quick(random_state=random_state).fit(rows, y).anomaly_score(rows)

    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()
    np.testing.assert_array_equal(scores(7), scores(7))
    np.testing.assert_array_equal(
        scores(np.random.RandomState(7)), scores(np.random.RandomState(7))
    )
    np.testing.assert_array_equal(
        scores(np.random.default_rng(7)), scores(np.random.default_rng(7))
    )
    assert not np.array_equal(scores(7), scores(8))
    assert not np.array_equal(scores(None), scores(None))
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.get_rng_state(), torch_state)


OTHER_VALUES = {
    "hidden": (5,),
    "end_to_end": False,
    "margin": 3.0,
    "reference": GaussianPrior(std=2.0),
    "confidence": 0.5,
    "n_epochs": 4,
    "n_batches": 6,
    "batch_size": 32,
    "learning_rate": 0.01,
    "l2": 0.5,
    "clip_norm": 0.01,
    "keep_best": False,
    "n_members": 2,
    "random_state": 1,
}
OTHER_BEHAVIOUR = {
    "pos_label",
    "normal_label",
    "device",
    "warm_start",
    "keep_interrupted",
    "verbose",
}


def test_every_parameter_is_covered_here():
    assert set(DevNet().get_params()) == set(OTHER_VALUES) | OTHER_BEHAVIOUR


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_every_parameter_changes_something(name, task):
    rows, y, _ = task
    settings = {"learning_rate": 0.1} if name == "keep_best" else {}
    one = quick(n_epochs=8, n_batches=40, **settings).fit(rows, y)
    other = (
        quick(n_epochs=8, n_batches=40, **settings)
        .set_params(**{name: OTHER_VALUES[name]})
        .fit(rows, y)
    )
    assert not np.array_equal(one.decision_function(rows), other.decision_function(rows))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"hidden": 20}, "hidden=20.*tuple of layer widths"),
        ({"hidden": (20, 0)}, r"hidden=\(20, 0\)"),
        ({"hidden": (2.5,)}, "hidden"),
        ({"end_to_end": "yes"}, "end_to_end must be True or False"),
        ({"margin": -1}, "margin=-1.*above 0"),
        ({"margin": np.inf}, "margin=inf"),
        ({"reference": "gaussian"}, "reference='gaussian'.*GaussianPrior"),
        ({"confidence": 1}, "confidence=1.*above 0 and below 1"),
        ({"n_epochs": 0}, "n_epochs=0.*at least 1"),
        ({"n_batches": 2.5}, "n_batches=2.5"),
        ({"batch_size": 511}, "batch_size=511.*even"),
        ({"learning_rate": 0}, "learning_rate=0"),
        ({"l2": -0.1}, "l2=-0.1.*at least 0"),
        ({"clip_norm": 0}, "clip_norm=0.*or None"),
        ({"keep_best": 1}, "keep_best=1"),
        ({"n_members": True}, "n_members=True"),
        ({"device": 3}, "device=3"),
        ({"device": "gpu9"}, "device='gpu9'.*'auto', 'cpu'"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": "a"}, "random_state='a'"),
        ({"verbose": 2}, "verbose=2"),
    ],
)
def test_impossible_parameters_are_refused(parameters, words, task):
    rows, y, _ = task
    with pytest.raises(ValueError, match=words):
        DevNet(**parameters).fit(rows, y)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "mps"])
def test_a_device_is_for_torch_modules(device, task):
    rows, y, _ = task
    words = (
        rf"device='{device}' is for torch modules, but hidden=\(20,\).*leave device out, or give"
    )
    with pytest.raises(ValueError, match=words):
        quick(device=device).fit(rows, y)
    model = quick().fit(rows, y).set_params(device=device)
    with pytest.raises(ValueError, match=words):
        model.partial_fit(rows, y)
    np.testing.assert_array_equal(
        quick(device="cpu").fit(rows, y).anomaly_score(rows), model.anomaly_score(rows)
    )


# Output


def test_silent_unless_asked(task, capfd, caplog):
    rows, y, _ = task
    with caplog.at_level(logging.INFO):
        quick().fit(rows, y)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    with caplog.at_level(logging.DEBUG):
        quick().fit(rows, y)
    assert "epoch 3 of 3: loss" in caplog.text


def test_verbose_shows_a_bar_on_a_terminal(task, monkeypatch, capsys):
    rows, y, _ = task
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    model = quick(verbose=True).fit(rows, y)
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "DevNet - fit" in shown.out
    assert "━" in shown.out
    assert "100%" in shown.out
    model.set_params(verbose=False).partial_fit(rows, y)  # the bar was for one fit
    assert capsys.readouterr() == ("", "")


def test_verbose_is_silent_where_nobody_watches(task, capfd):
    rows, y, _ = task
    quick(verbose=True).fit(rows, y)
    assert capfd.readouterr() == ("", "")


def test_verbose_without_rich_names_what_to_install(task, monkeypatch, caplog):
    rows, y, _ = task
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert quick(verbose=True).fit(rows, y).n_iter_ == 3
    assert "pip install 'deviation-network[progress]'" in caplog.text


def test_verbose_leaves_the_caller_s_callbacks_alone(task, monkeypatch, capsys):
    rows, y, _ = task
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    class Quiet:
        def setup(self, estimator, context): ...

        def teardown(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context): ...

    callback = Quiet()
    model = quick(verbose=True).set_callbacks(callback).fit(rows, y)
    assert capsys.readouterr() == ("", "")
    assert model._skl_callbacks == [callback]
