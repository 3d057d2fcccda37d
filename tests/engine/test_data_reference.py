"""References made of scores: their values, that they do not run away, what scores mean then."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from support.tasks import make_task

from devnet import DataReference, DevNet, GaussianPrior, HybridReference, StandardPrior
from devnet.engine.reference_scores import UnlabelledScores

LEARNED = [DataReference(), HybridReference(), HybridReference(StandardPrior("gumbel", 50), 0.2)]


def quick(reference, **parameters):
    settings = {"n_epochs": 3, "n_batches": 5, "batch_size": 64, "random_state": 0}
    return DevNet(reference=reference, **{**settings, **parameters})


def bring(with_torch):
    """How arrays reach a network: as they are, or as tensors for a torch module."""
    if not with_torch:
        return lambda array: array
    torch = pytest.importorskip("torch")
    return lambda array: torch.from_numpy(array.copy())


def batch_of(generator, to_device):
    """Scores (2, 7, 3), and a batch whose three anomalies have multiplicities as weights."""
    is_anomaly = np.tile((np.arange(7) < 3)[:, None], (2, 1, 1))
    weight = generator.integers(1, 5, (2, 7, 1)).astype(np.float32)
    batch = SimpleNamespace(step=1, is_anomaly=to_device(is_anomaly), weight=to_device(weight / 16))
    return generator.normal(2, 3, (2, 7, 3)).astype(np.float32), weight, batch


@pytest.mark.parametrize("with_torch", [False, True])
def test_a_step_s_reference_is_that_of_the_batch_s_unlabelled_draws(with_torch, seed):
    to_device = bring(with_torch)
    scores, weight, batch = batch_of(np.random.default_rng(seed), to_device)
    found = DataReference(0.5).for_training(3, 4, [], to_device)(to_device(scores), batch)
    for member in range(2):
        times = weight[member, 3:, 0].astype(int)  # every draw as its own row
        draws = np.repeat(scores[member, 3:], times, axis=0)
        np.testing.assert_allclose(found.mean[member, 0], draws.mean(0), rtol=1e-5)
        expected = np.sqrt(draws.var(0) + 0.25)
        np.testing.assert_allclose(found.std[member, 0], expected, rtol=1e-5)
        added = [0, 0, 0, *(times / times.sum())]
        np.testing.assert_allclose(found.made_of[member, :, 0], added, rtol=1e-6)


@pytest.mark.parametrize("with_torch", [False, True])
def test_a_hybrid_is_the_pool_of_prior_scores_and_the_batch_s(with_torch, seed):
    to_device = bring(with_torch)
    scores, weight, batch = batch_of(np.random.default_rng(seed), to_device)
    prior = GaussianPrior(1.0, 2.0, 30)
    hybrid = HybridReference(prior, share=0.25)
    found = hybrid.for_training(3, 4, _generators(seed), to_device)(to_device(scores), batch)
    drawn = prior.for_training(3, 4, _generators(seed), lambda array: array)(scores, batch)
    for member in range(2):
        draws = np.repeat(scores[member, 3:], weight[member, 3:, 0].astype(int), axis=0)
        for unit in range(3):
            mean, std = drawn.mean[member, 0, unit], drawn.std[member, 0, unit]
            two = mean + std * np.array([-1, 1])  # two scores with the drawn mean and spread
            pool = np.concatenate([np.tile(two, 3 * len(draws)), np.repeat(draws[:, unit], 2)])
            np.testing.assert_allclose(found.mean[member, 0, unit], pool.mean(), rtol=1e-4)
            np.testing.assert_allclose(found.std[member, 0, unit], pool.std(), rtol=1e-4)
    np.testing.assert_allclose(found.made_of.sum(1), 0.25, rtol=1e-6)


def test_numpy_scalars_keep_single_precision():
    scores, _, batch = batch_of(np.random.default_rng(0), lambda array: array)
    for reference in (DataReference(np.float64(2)), HybridReference(share=np.float64(0.5))):
        step = reference.for_training(3, 4, _generators(0), lambda array: array)
        assert {part.dtype.name for part in step(scores, batch)} == {"float32"}


def _generators(seed):
    return [np.random.default_rng([seed, member]) for member in range(2)]


def test_after_training_weights_count_as_repetitions():
    generator = np.random.default_rng(0)
    scores, times = generator.normal(3, 2, (2, 50)), generator.integers(1, 4, 50)
    repeated = np.repeat(scores, times, axis=1)
    found = DataReference().after_training(lambda: UnlabelledScores(scores, times.astype(float)))
    np.testing.assert_allclose(found.mean[:, 0], repeated.mean(1))
    np.testing.assert_allclose(found.std[:, 0], repeated.std(1))


# The detector


@pytest.mark.parametrize("variant", [{}, {"end_to_end": False}, {"n_members": 3}, {"hidden": ()}])
def test_unlabelled_training_rows_have_mean_0_and_spread_1(variant, task):
    rows, y, _ = task
    model = quick(DataReference(), n_epochs=20, **variant).fit(rows, y)
    n_members = variant.get("n_members", 1)
    assert model.reference_.mean.shape == model.reference_.std.shape == (n_members, 1)
    scores = model.anomaly_score(rows[y == 0])
    assert scores.mean() == pytest.approx(0, abs=1e-5)
    if n_members == 1:
        assert scores.std() == pytest.approx(1, abs=1e-5)
    else:  # a mean of members that do not fully agree
        assert 0.7 < scores.std() < 1


@pytest.mark.parametrize("reference", LEARNED)
@pytest.mark.parametrize("variant", [{}, {"end_to_end": False}])
def test_learns_from_labels_and_does_not_run_away(reference, variant, seed):
    rows, y, truth = make_task(seed, n=2000, n_labelled=30, shift=2)
    model = DevNet(reference=reference, random_state=seed, **variant).fit(rows, y)
    assert roc_auc_score(truth[30:], model.anomaly_score(rows[30:])) > 0.95
    losses = [record["loss"] for record in model.history_]
    assert losses[-1] < 0.8 * losses[0]
    outputs = model.anomaly_score(rows) * model.reference_.std[0, 0] + model.reference_.mean[0, 0]
    assert np.abs(outputs).max() < 50  # held constant, the references reach hundreds
    exchanged = DevNet(reference=reference, random_state=seed, **variant).fit(rows, 1 - y)
    assert roc_auc_score(truth, exchanged.anomaly_score(rows)) < 0.2


def test_labelled_anomalies_lie_beyond_the_margin(seed):
    rows, y, _ = make_task(seed, n=2000, n_labelled=30, shift=4)
    model = DevNet(reference=DataReference(), random_state=seed).fit(rows, y)
    assert np.median(model.anomaly_score(rows[y == 1])) > 5


def test_the_paper_s_prior_is_the_default_and_draws_as_ever(task):
    rows, y, _ = task
    prior = GaussianPrior()
    default, said = quick(None).fit(rows, y), quick(prior).fit(rows, y)
    np.testing.assert_array_equal(default.anomaly_score(rows), said.anomaly_score(rows))
    assert (default.reference_.mean.tolist(), default.reference_.std.tolist()) == ([[0.0]], [[1.0]])
    steps = prior.for_training(3, 4, [np.random.default_rng(0)], lambda array: array)
    drawn = prior.draw((4, 1, 3), np.random.default_rng(0))
    for step in range(4):
        found = steps(None, SimpleNamespace(step=step))
        np.testing.assert_array_equal(found.mean[0], drawn.mean[step])
        np.testing.assert_array_equal(found.std[0], drawn.std[step])
        assert found.made_of is None


@pytest.mark.parametrize("reference", LEARNED)
def test_a_torch_module_learns(reference, seed):
    torch = pytest.importorskip("torch")
    nn = torch.nn
    rows, y, truth = make_task(seed, n=2000, n_labelled=30, shift=2)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
    model = quick(reference, hidden=module, n_epochs=30).fit(rows, y)
    assert roc_auc_score(truth, model.anomaly_score(rows)) > 0.9


@pytest.mark.parametrize("reference", LEARNED)
def test_going_on_measures_anew(reference, task):
    rows, y, _ = task
    model = quick(reference).partial_fit(rows, y)
    first = model.reference_
    np.testing.assert_array_equal(
        model.anomaly_score(rows), quick(reference).fit(rows, y).anomaly_score(rows)
    )
    model.partial_fit(rows, y)
    assert not np.array_equal(model.reference_.mean, first.mean)
    warm = quick(reference, warm_start=True).fit(rows, y).fit(rows, y)
    np.testing.assert_array_equal(warm.anomaly_score(rows), model.anomaly_score(rows))


def test_rows_count_by_their_weight(task):
    rows, y, _ = task
    weight = np.random.default_rng(0).integers(1, 4, len(rows))
    weight[-300:] = 0
    far = rows.copy()
    far[-300:] *= 50
    model = quick(DataReference()).fit(far, y, sample_weight=weight)
    scores = np.repeat(model.anomaly_score(far), weight * (y == 0))
    assert scores.mean() == pytest.approx(0, abs=1e-5)
    assert scores.std() == pytest.approx(1, abs=1e-5)


def test_an_even_selection_of_many_rows_is_measured(task, monkeypatch):
    rows, y, _ = task
    monkeypatch.setattr("devnet.detectors.deviation_detector.REFERENCE_ROWS", 100)
    scores = quick(DataReference()).fit(rows, y).anomaly_score(rows[y == 0][::12])
    assert len(scores) <= 100
    assert scores.mean() == pytest.approx(0, abs=1e-5)
    assert scores.std() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("reference", LEARNED)
def test_unlabelled_rows_that_are_all_alike_have_finite_scores(reference):
    rows = np.repeat(np.eye(2), [30, 3], axis=0)
    model = quick(reference, n_epochs=40).fit(rows, rows[:, 1])
    scores = model.anomaly_score(rows)
    assert np.isfinite(scores).all()
    assert scores[-1] > scores[0]


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        (DataReference, {"min_std": 0}, "min_std=0.*above 0"),
        (HybridReference, {"share": 1}, "share=1.*above 0 and below 1"),
        (HybridReference, {"share": 0}, "share=0"),
        (HybridReference, {"prior": DataReference()}, "prior must be a GaussianPrior or"),
        (HybridReference, {"prior": None}, "prior=None"),
    ],
)
def test_impossible_references_are_refused(kind, arguments, words):
    with pytest.raises(ValueError, match=words):
        kind(**arguments)
