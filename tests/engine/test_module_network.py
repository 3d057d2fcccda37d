"""A caller's own torch module as feature learner."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from support.model_files import write_sealed
from support.tasks import make_task

import devnet
from devnet import DevNet, ModelFileError
from devnet.core import model_file

torch = pytest.importorskip("torch")
nn = torch.nn


def learner(d=8):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(d, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1))


class NoWidth(nn.Module):
    def forward(self, rows):
        return rows[:, :0]


def quick(module, **parameters):
    return DevNet(module, n_epochs=5, random_state=0, **parameters)


@pytest.mark.parametrize("variant", [{}, {"end_to_end": False}, {"n_members": 2}])
def test_learns(variant, seed):
    rows, y, truth = make_task(seed, n=2000, n_labelled=30, shift=2)
    scores = quick(learner(), **variant).fit(rows, y).anomaly_score(rows)
    assert roc_auc_score(truth, scores) > 0.9


def test_equals_the_built_in_network(task):
    rows, y, _ = task
    built_in = DevNet(n_epochs=3, random_state=0)
    from devnet.core.rows import as_rows
    from devnet.core.seeds import member_generators

    start = built_in._initial_network(as_rows(rows), member_generators(0, 1))
    module = nn.Sequential(nn.Linear(8, 20), nn.ReLU())
    module[0].weight.data = torch.from_numpy(start._kernels[0][0].T.copy())
    module[0].bias.data.zero_()
    # The built-in network draws its first kernel from the generator; let the module's do so too.
    unit = torch.from_numpy(start._kernels[1][0].T.copy())

    class SameStart(DevNet):
        def _initial_network(self, rows, generators):
            network = super()._initial_network(rows, generators)
            for generator in generators:
                generator.uniform(size=160)  # what the first kernel took
            network.members[0][1].weight.data.copy_(unit)
            return network

    expected = built_in.fit(rows, y).anomaly_score(rows)
    found = SameStart(module, n_epochs=3, random_state=0).fit(rows, y).anomaly_score(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_the_given_module_is_copied_and_the_global_state_left_alone(task):
    rows, y, _ = task
    module = learner()
    before = module[0].weight.clone()
    state = torch.get_rng_state()
    model = quick(module[:3]).fit(rows, y)
    assert torch.equal(module[0].weight, before)
    assert not torch.equal(model.network_.members[0][0][0].weight, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_frozen_parameters_stay(task):
    rows, y, _ = task
    module = learner()
    module[0].weight.requires_grad_(False)
    model = quick(module).fit(rows, y)
    assert torch.equal(model.network_.members[0][0][0].weight, module[0].weight)
    assert not torch.equal(model.network_.members[0][0][0].bias, module[0].bias)


def test_clone_pickle_save_and_load(task, tmp_path):
    rows, y, _ = task
    model = quick(learner(), n_members=2).fit(rows, y)
    scores = model.anomaly_score(rows)
    assert isinstance(clone(model).hidden, nn.Module)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).anomaly_score(rows), scores)
    model.save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet", hidden=learner())
    np.testing.assert_array_equal(loaded.anomaly_score(rows), scores)
    with pytest.raises(devnet.ModelFileError, match="load.path, hidden=module"):
        devnet.load(tmp_path / "m.devnet")
    with pytest.raises(devnet.ModelFileError, match="'parameters'"):
        devnet.load(tmp_path / "m.devnet", hidden=nn.Linear(8, 3))


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.Linear(5, 3), r"failed on rows of shape \(2, 8\)"),
        (nn.Sequential(nn.Linear(8, 6), nn.Unflatten(1, (2, 3))), r"to shape \(2, 2, 3\)"),
        (nn.LSTM(8, 3), "failed on rows"),
        (NoWidth(), r"to shape \(2, 0\)"),
    ],
)
def test_unfit_modules_get_a_sentence(module, words, task):
    rows, y, _ = task
    with pytest.raises(ValueError, match=words):
        quick(module).fit(rows, y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without CUDA")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", "quantum"])
def test_a_device_that_torch_cannot_use_is_refused(device, task):
    rows, y, _ = task
    with pytest.raises(
        ValueError, match=rf"device='{device}' cannot be used here .*use device='auto'"
    ):
        quick(learner(), device=device).fit(rows, y)


@pytest.mark.parametrize("device", ["auto", "cpu", torch.device("cpu")])
def test_devices_that_torch_can_use(device, task):
    rows, y, _ = task
    model = quick(learner(), device=device).fit(rows, y)
    assert np.isfinite(model.anomaly_score(rows)).all()


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_a_lazy_module_is_refused(task):
    rows, y, _ = task
    with pytest.raises(ValueError, match="lazy parameters; call it once"):
        quick(nn.LazyLinear(3)).fit(rows, y)


def test_a_module_without_anything_to_train_is_refused(task):
    rows, y, _ = task
    with pytest.raises(ValueError, match="leaves nothing to train"):
        quick(nn.Identity(), end_to_end=False).fit(rows, y)


def test_wide_sparse_rows_are_refused():
    import scipy.sparse as sp

    rows = sp.random_array((50, 5000), density=0.01, format="csr")
    with pytest.raises(ValueError, match="sparse with 5000 columns; give hidden as a tuple"):
        quick(nn.Linear(5000, 3)).fit(rows, np.arange(50) < 5)


def test_members_of_a_file_are_counted_before_they_are_made(task, tmp_path):
    rows, y, _ = task
    quick(learner()).fit(rows, y).save(tmp_path / "m.devnet")
    header, tensors = model_file.read(tmp_path / "m.devnet")
    header["parameters"]["n_members"] = 10**9
    write_sealed(tmp_path / "m.devnet", header, tensors)
    with pytest.raises(ModelFileError, match="does not have 1000000000 members"):
        devnet.load(tmp_path / "m.devnet", hidden=learner())


def test_a_network_that_scores_in_double_gives_a_row_the_same_score_in_any_batch():
    from devnet.core.rows import as_rows
    from devnet.engine.module_network import ModuleNetwork

    rows = as_rows(np.random.default_rng(0).normal(size=(300, 144)).astype(np.float32))
    images = nn.Sequential(
        nn.Unflatten(1, (1, 12, 12)), nn.Conv2d(1, 9, 3), nn.ReLU(), nn.Flatten()
    )
    network = ModuleNetwork(images, 144, 2, in_double=True)
    generators = [np.random.default_rng(seed) for seed in (1, 2)]
    network.draw_kernels(generators)
    network.draw_output_units(generators)
    assert not torch.equal(*network.parameters)  # each member draws its own
    (_, together), *_ = network.outputs(rows, slice(0, 300))
    alone = [next(network.outputs(rows, slice(i, i + 1)))[1] for i in (0, 7, 299)]
    assert torch.equal(torch.cat(alone, 1).float(), together[:, [0, 7, 299]].float())
    assert together.dtype == torch.float64
    assert network.parameters.dtype == torch.float32
    restored = pickle.loads(pickle.dumps(network))
    assert torch.equal(next(restored.outputs(rows, slice(0, 300)))[1], together)
