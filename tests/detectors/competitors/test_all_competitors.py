"""What holds for every method, exactly as for DevNet."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from support.competitor_checks import check_edited_tensors_get_a_sentence
from support.tasks import make_task

import devnet
from devnet import ModelFileError
from devnet.core.rows import as_rows
from devnet.core.seeds import member_generators
from devnet.detectors.methods import METHODS

QUICK = {
    "DevNet": {"n_epochs": 3},
    "REPEN": {"n_epochs": 3},
    "DSVDD": {"n_epochs": 3},
    "FSNet": {"n_epochs": 3},
}
BY_GRADIENT = ["DevNet", "REPEN", "DSVDD", "FSNet"]
IGNORES_LABELS = ["iForest", "rank deviation"]
DRAWS_NOTHING = ["logistic regression", "gradient boosting", "rank deviation"]

every = pytest.mark.parametrize("name", METHODS)
every_network = pytest.mark.parametrize("name", BY_GRADIENT)


def quick(name, **parameters):
    return METHODS[name](**{"random_state": 0, **QUICK.get(name, {}), **parameters})


def wide_task(seed, n=400, d=5000):
    """Sparse rows; anomalies have values in the first columns."""
    generator = np.random.default_rng(seed)
    rows = sp.random_array((n, d), density=0.002, format="lil", dtype="f4", rng=generator)
    truth = np.arange(n) < 60
    rows[:60, :20] = generator.random((60, 20)) + 1
    y = (np.arange(n) < 30).astype(int)
    return sp.csr_matrix(rows), y, truth


@pytest.mark.parametrize("name", [name for name in METHODS if name not in IGNORES_LABELS])
def test_learns_from_labels(name, seed):
    rows, y, truth = make_task(seed, n=3000, n_labelled=30, shift=2)
    scores = METHODS[name](random_state=seed).fit(rows, y).anomaly_score(rows)
    assert roc_auc_score(truth[y == 0], scores[y == 0]) > 0.85


@pytest.mark.parametrize("name", [n for n in METHODS if n not in ["REPEN", *IGNORES_LABELS]])
def test_permuted_labels_are_at_chance(name, seed):
    """REPEN would find far rows without labels too; see its own test."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(2000, 8)).astype(np.float32)
    along = rows[:, 0] - rows[:, 1]
    truth = along > np.quantile(along, 0.95)
    y = truth & (truth.cumsum() <= 30)
    found = []
    for random_state in range(6):
        model = quick(name, random_state=random_state).fit(rows, generator.permutation(y))
        found.append(roc_auc_score(truth, model.anomaly_score(rows)))
    assert 0.25 < np.mean(found) < 0.75


@every
def test_a_row_has_the_same_score_alone_and_in_any_batch(name, task):
    rows, y, _ = task
    model = quick(name).fit(rows, y)
    scores = model.anomaly_score(rows)
    order = np.random.default_rng(0).permutation(len(rows))
    np.testing.assert_array_equal(model.anomaly_score(rows[order]), scores[order])
    for row in (0, 7, len(rows) - 1):
        assert model.anomaly_score(rows[row : row + 1])[0] == scores[row]


@every
def test_sparse_rows_train_and_score_as_dense_ones(name, task):
    rows, y, _ = task
    rows = np.where(np.abs(rows) < 1, 0, rows)
    dense = quick(name).fit(rows, y)
    sparse = quick(name).fit(sp.csr_matrix(rows), y)
    np.testing.assert_allclose(
        sparse.anomaly_score(sp.csr_matrix(rows)), dense.anomaly_score(rows), rtol=1e-4, atol=1e-4
    )


@every
def test_wide_sparse_rows_work(name, seed, tmp_path):
    rows, y, truth = wide_task(seed)
    model = quick(name).fit(rows, y)
    scores = model.anomaly_score(rows)
    if name not in IGNORES_LABELS:
        assert roc_auc_score(truth[y == 0], scores[y == 0]) > 0.8
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(devnet.load(tmp_path / "model").anomaly_score(rows), scores)


@every
def test_a_saved_model_scores_bit_equal(name, task, tmp_path):
    rows, y, _ = task
    model = quick(name).fit(rows, np.where(y == 1, "fraud", "?"))
    model.save(tmp_path / "model")
    again = devnet.load(tmp_path / "model")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.anomaly_score(rows), model.anomaly_score(rows))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@every
def test_a_model_file_that_is_cut_gets_a_sentence(name, task, tmp_path):
    rows, y, _ = task
    quick(name).fit(rows, y).save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    for size in (0, 7, len(content) // 2, len(content) - 1):
        (tmp_path / "model").write_bytes(content[:size])
        with pytest.raises(ModelFileError):
            devnet.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["REPEN", "DSVDD", "FSNet"])
def test_edited_landmarks_get_a_sentence(name, tmp_path):
    check_edited_tensors_get_a_sentence(quick(name, n_epochs=1), tmp_path / "model")


@every
def test_the_same_seed_gives_the_same_scores_and_no_global_state_is_touched(name, task):
    rows, y, _ = task
    before = np.random.get_state()[1].tolist()
    one, same, other = (
        quick(name, random_state=seed).fit(rows, y).anomaly_score(rows) for seed in (1, 1, 2)
    )
    assert np.random.get_state()[1].tolist() == before
    np.testing.assert_array_equal(one, same)
    if name not in DRAWS_NOTHING:
        assert not np.array_equal(one, other)


@every
@pytest.mark.parametrize("state", [np.random.RandomState(3), np.random.default_rng(3), None])
def test_any_kind_of_random_state(name, task, state):
    rows, y, _ = task
    assert np.isfinite(quick(name, random_state=state).fit(rows, y).anomaly_score(rows)).all()


@every
@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda rows, y: (np.where(np.eye(*rows.shape, 3), np.nan, rows), y),
            "contains NaN: row 0",
        ),
        (lambda rows, y: (rows * 1e300 * 1e10, y), "infinity or a value too large"),
        (lambda rows, y: (rows, y[:-1]), "inconsistent numbers of samples"),
        (lambda rows, y: (rows, np.ones_like(y)), "all rows are labelled anomalies"),
        (lambda rows, y: (rows, np.arange(len(y)) % 3), "Only binary classification"),
        (lambda rows, y: (rows[:, 0], y), "Expected 2D array"),
    ],
)
def test_bad_input_gets_the_same_sentence(name, task, spoil, sentence):
    rows, y, _ = task
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match=sentence),
    ):
        quick(name).fit(*spoil(rows.astype(np.float64), y))


@every
@pytest.mark.parametrize("confidence", [0, 1, -1, "much", None])
def test_an_impossible_confidence_gets_a_sentence(name, task, confidence):
    rows, y, _ = task
    with pytest.raises(ValueError, match="confidence must be"):
        quick(name, confidence=confidence).fit(rows, y)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "DevNet"])
def test_the_threshold_is_the_quantile_of_unlabelled_rows(name, task):
    rows, y, _ = task
    model = quick(name, confidence=0.9).fit(rows, y)
    unseen = model.unseen_scores().unlabelled if model.keeps_unseen_scores else None
    scores = model.anomaly_score(rows[y == 0]) if unseen is None else unseen
    assert abs((scores > model.threshold_).mean() - 0.1) < 0.01


@every_network
def test_torch_trains_as_numpy_does(name, task, monkeypatch):
    """A module with the weights and the draws of the built-in network."""
    torch = pytest.importorskip("torch")
    rows, y, _ = task
    built_in = quick(name, n_epochs=1)
    start = built_in._initial_network(as_rows(rows), member_generators(0, 1))
    (kernel, _), *last = start.layers
    module = torch.nn.Sequential(torch.nn.Linear(8, 20, bias=start.biases), torch.nn.ReLU())
    module[0].weight.data = torch.from_numpy(kernel[0].T.copy())
    if start.biases:
        module[0].bias.data.zero_()

    class SameStart(METHODS[name]):
        def _initial_network(self, rows, generators):
            network = super()._initial_network(rows, member_generators(0, 1))
            built_in._initial_network(rows, generators)  # draws what the built-in network draws
            for unit, (weight, _) in zip(list(network.members[0])[1:], last, strict=True):
                unit.weight.data.copy_(torch.from_numpy(weight[0].T.copy()))
            return network

    on_torch = SameStart(**(built_in.get_params() | {"hidden": module})).fit(rows, y)
    expected = built_in.fit(rows, y).anomaly_score(rows)
    np.testing.assert_allclose(on_torch.anomaly_score(rows), expected, rtol=1e-3, atol=1e-3)


@every_network
def test_members_train_side_by_side_and_a_module_can_learn_the_features(name, task):
    torch = pytest.importorskip("torch")
    rows, y, truth = task
    several = quick(name, n_members=3).fit(rows, y)
    assert len(several.network_.parameters) == 3
    module = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.ReLU())
    scores = quick(name, hidden=module, n_epochs=5).fit(rows, y).anomaly_score(rows)
    assert roc_auc_score(truth, scores) > 0.5


@pytest.mark.parametrize("name", ["REPEN", "DSVDD", "FSNet"])
def test_rows_of_weight_zero_are_no_landmarks(name, task):
    rows, y, _ = task
    rows, weight = rows.copy(), np.ones(len(rows))
    rows[100:700] += 1e3  # if they counted, the landmarks would lie far out
    weight[100:700] = 0
    left_out = quick(name).fit(rows, y, sample_weight=weight)
    assert np.abs(left_out.landmarks_).max() < 100


@every_network
def test_training_goes_on(name, task):
    rows, y, _ = task
    model = quick(name).fit(rows, y)
    before = model.anomaly_score(rows)
    model.partial_fit(rows, y)
    assert model.n_iter_ == 6
    assert not np.array_equal(model.anomaly_score(rows), before)
