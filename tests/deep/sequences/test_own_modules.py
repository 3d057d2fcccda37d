"""A caller's own module as the feature learner of sequences."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from support.sequences import make_signals, quick, ragged

import devnet
from devnet import ModelFileError

torch = pytest.importorskip("torch")
nn = torch.nn


class Features(nn.Module):
    """A strided convolution: half as many steps as its input."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layer = nn.Conv1d(1, 5, 3, stride=2, padding=1)

    def forward(self, sequences):
        return torch.relu(self.layer(sequences.transpose(1, 2))).transpose(1, 2)


class Answers(nn.Module):
    """Gives what it is told."""

    def __init__(self, answer):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.answer = answer

    def forward(self, sequences):
        return self.answer(sequences)


@pytest.mark.parametrize("head", ["global", "steps"])
def test_a_module_learns_and_never_sees_padding(head, seed, tmp_path):
    signals, y, truth, _ = make_signals(seed)
    parts = ragged(signals, seed)
    model = quick(hidden=Features(), head=head, n_epochs=15, learning_rate=0.01).fit(parts, y)
    scores = model.anomaly_score(parts)
    assert roc_auc_score(truth, scores) > 0.9
    alone = [model.anomaly_score([part])[0] for part in parts[:4]]
    np.testing.assert_array_equal(alone, scores[:4])
    assert [len(p) for p in model.anomaly_profile(parts)] == [len(part) for part in parts]
    model.save(tmp_path / "model.devnet")
    loaded = devnet.load(tmp_path / "model.devnet", hidden=Features())
    np.testing.assert_array_equal(loaded.anomaly_score(parts), scores)
    with pytest.raises(ModelFileError, match="devnet.load"):
        devnet.load(tmp_path / "model.devnet")


def test_the_same_seed_gives_the_same_fit_and_global_draws_do_not_matter():
    signals, y, _, _ = make_signals()
    first = quick(hidden=Features(), head="steps").fit(signals, y).anomaly_score(signals)
    torch.rand(3)
    second = quick(hidden=Features(), head="steps").fit(signals, y).anomaly_score(signals)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("head", ["global", "steps"])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: x.mean(dim=1), r"to shape \(2, 1\), which is no feature sequence"),
        (lambda x: (x, x), "to a tuple, which is no feature sequence"),
        (lambda x: torch.cat([x, x], dim=1), "with at most as many steps"),
        (lambda x: x @ torch.zeros(7, 2), r"failed on sequences of shape \(2, 24, 1\)"),
    ],
)
def test_other_answers_are_refused(answer, message, head):
    signals, y, _, _ = make_signals()
    with pytest.raises(ValueError, match=message):
        quick(hidden=Answers(answer), head=head).fit(signals, y)
