"""The loop against an independent one in plain PyTorch, and how it ends."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from support.tasks import make_labels, make_task

from devnet import DevNet, GaussianPrior
from devnet.core.rows import as_rows
from devnet.core.seeds import member_generators
from devnet.engine.sampler import BalancedSampler
from devnet.experiments.memory import forget_peak_memory, peak_memory


def plain_training(model, rows, y):
    """Algorithm 1 with autograd and the draws of `model`: an nn.Sequential, one loss per step."""
    torch = pytest.importorskip("torch")
    nn = torch.nn
    generators = member_generators(model.random_state, 1)
    network = model._initial_network(as_rows(rows), generators)
    first, last = nn.Linear(rows.shape[1], 20), nn.Linear(20, 1)
    for layer, kernel in zip((first, last), network._kernels, strict=True):
        layer.weight.data = torch.from_numpy(kernel[0].T.copy())
        layer.bias.data.zero_()
    phi = nn.Sequential(first, nn.ReLU(), last)
    n_steps = model.n_epochs * model.n_batches
    sampler = BalancedSampler(
        as_rows(rows), make_labels(y == 1), batch_size=512, n_steps=n_steps, generators=generators
    )
    batches = sampler.batches(network.to_device, sparse=False)
    reference = GaussianPrior().draw((n_steps, 1, 1), generators[0])
    mean_square = [torch.zeros_like(weight) for weight in phi.parameters()]
    losses = []
    for step, batch in enumerate(batches):
        # Every draw as its own row, as in the paper.
        times = np.round(batch.weight[0, :, 0] * 512).astype(int)
        drawn = torch.from_numpy(np.repeat(batch.rows[0], times, axis=0))
        label = torch.from_numpy(np.repeat(batch.is_anomaly[0, :, 0], times)).float()
        assert len(drawn) == 512
        assert label.sum() == 256
        deviation = (phi(drawn)[:, 0] - reference.mean[step].item()) / reference.std[step].item()
        loss = (1 - label) * deviation.abs() + label * torch.clamp(5 - deviation, min=0)
        total = loss.mean() + 0.01 * first.weight.square().sum()
        losses.append(total.item())
        phi.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(phi.parameters(), 1.0)
        with torch.no_grad():
            for weight, square in zip(phi.parameters(), mean_square, strict=True):
                square.mul_(0.9).add_(0.1 * weight.grad**2)
                weight -= 0.001 * weight.grad / (square.sqrt() + 1e-7)
    return phi, np.reshape(losses, (model.n_epochs, model.n_batches)).mean(1)


def test_whole_training_equals_a_plain_autograd_loop(seed):
    torch = pytest.importorskip("torch")
    rows, y, _ = make_task(seed)
    model = DevNet(n_epochs=4, keep_best=False, random_state=seed).fit(rows, y)
    phi, losses = plain_training(model, rows, y)
    expected = phi(torch.from_numpy(rows))[:, 0].detach().numpy()
    np.testing.assert_allclose(model.anomaly_score(rows), expected, rtol=1e-3, atol=1e-3)
    found = [record["loss"] for record in model.history_]
    np.testing.assert_allclose(found, losses, rtol=1e-4)


def test_the_epoch_of_lowest_loss_is_kept_for_each_member(seed):
    rows, y, _ = make_task(seed)
    settings = {
        "n_epochs": 12,
        "n_batches": 3,
        "learning_rate": 0.2,
        "n_members": 5,
        "random_state": seed,
    }
    best = DevNet(**settings).fit(rows, y)
    losses = np.array([record["member_loss"] for record in best.history_])  # (epochs, m)
    assert best.best_epoch_ == (losses.argmin(0) + 1).tolist()
    assert best.best_epoch_ != [12] * 5
    last = DevNet(**settings, keep_best=False).fit(rows, y)
    assert last.best_epoch_ == [12] * 5
    assert not np.array_equal(last.anomaly_score(rows), best.anomaly_score(rows))


class InterruptAfter:
    """A callback that presses Ctrl-C at the end of an epoch."""

    def __init__(self, epoch):
        self.left = epoch

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.left -= context.task_name == "epoch"
        if self.left == 0 and context.task_name == "epoch":
            raise KeyboardInterrupt


def test_ctrl_c_keeps_the_weights_when_asked(task, caplog):
    rows, y, _ = task
    model = DevNet(n_epochs=10, keep_interrupted=True, random_state=0)
    model.set_callbacks(InterruptAfter(4)).fit(rows, y)
    assert model.n_iter_ == 4
    assert "interrupted after 4 of 10 epochs" in caplog.text
    assert np.isfinite(model.anomaly_score(rows)).all()


def test_ctrl_c_is_raised_otherwise_and_loses_nothing(task):
    rows, y, _ = task
    model = DevNet(n_epochs=3, random_state=0).fit(rows, y)
    before = model.anomaly_score(rows)
    model.set_params(warm_start=True).set_callbacks(InterruptAfter(2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, y)
    np.testing.assert_array_equal(model.anomaly_score(rows), before)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks cannot be reset")
def test_wide_rows_take_memory_for_weights_state_and_best_weights_of_columns_that_occur():
    n, d, n_used, width = 200, 1_000_000, 60_000, 500
    generator = np.random.default_rng(0)
    columns = generator.choice(d, n_used, replace=False).reshape(n, -1)  # each in one row
    positions = (np.repeat(np.arange(n), n_used // n), columns.ravel())
    rows = sp.csr_array((np.ones(n_used, np.float32), positions), shape=(n, d))
    y = (np.arange(n) < 10).astype(int)
    forget_peak_memory()
    before = peak_memory()
    DevNet(hidden=(width,), n_epochs=2, n_batches=5, batch_size=16, random_state=0).fit(rows, y)
    assert peak_memory() - before < 3.5 * (4 * n_used * width)
