"""SequenceDevNet: what it learns, and that a score is of a sequence's own steps alone."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from support.sequences import make_signals, quick, ragged

import devnet
from devnet import SequenceDevNet

torch = pytest.importorskip("torch")
KINDS = [
    {"learner": learner, "head": head}
    for learner in ("convolution", "recurrent")
    for head in ("global", "steps")
]


def each_kind(test):
    return pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind.values()))(test)


def same(found, expected):
    np.testing.assert_array_equal(found, expected)


@each_kind
def test_learns_from_few_labels(kind, seed):
    signals, y, truth, _ = make_signals(seed)
    model = quick(**kind, n_epochs=15, learning_rate=0.01).fit(signals, y)
    assert roc_auc_score(truth, model.anomaly_score(signals)) > 0.95


@each_kind
def test_padding_and_company_change_nothing(kind, seed):
    signals, y, _, _ = make_signals(seed)
    parts = ragged(signals, seed)
    model = quick(**kind, n_members=2).fit(parts, y)
    together = model.anomaly_score(parts)
    same([model.anomaly_score([part])[0] for part in parts[:5]], together[:5])
    same(model.anomaly_score(parts[::-1]), together[::-1])
    longer = np.concatenate([signals[0]] * 4)  # longer than any in training
    same(model.anomaly_score([*parts, longer])[:-1], together)


@each_kind
def test_files_pickles_and_clones_keep_the_scores(kind, tmp_path, seed):
    signals, y, _, _ = make_signals(seed, channels=2)
    model = quick(**kind).fit(signals, y)
    model.save(tmp_path / "model.devnet")
    loaded = devnet.load(tmp_path / "model.devnet")
    assert type(loaded) is SequenceDevNet
    for other in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(signals, y)):
        same(other.anomaly_score(signals), model.anomaly_score(signals))
        same(other.anomaly_profile(signals[:3]), model.anomaly_profile(signals[:3]))
    assert loaded.get_params() == model.get_params()
    same(loaded.predict(signals), model.predict(signals))


def test_shapes_that_mean_the_same_score_the_same():
    signals, y, _, _ = make_signals()
    model = quick().fit(signals, y)
    expected = model.anomaly_score(signals)
    same(model.anomaly_score(signals[:, :, None]), expected)
    same(model.anomaly_score(list(signals)), expected)
    same(model.anomaly_score([signal.tolist() for signal in signals]), expected)
    same(quick().fit(list(signals), y).anomaly_score(signals), expected)


def test_units_of_a_channel_do_not_matter():
    signals, y, _, _ = make_signals(channels=2)
    other = signals * [1000.0, 0.001] + [5000.0, 0]
    np.testing.assert_allclose(
        quick().fit(other, y).anomaly_score(other),
        quick().fit(signals, y).anomaly_score(signals),
        atol=1e-3,
    )


def test_missing_values_are_no_zeros():
    signals, y, truth, _ = make_signals(n=200)
    holes = signals.copy()
    holes[np.random.default_rng(1).random(holes.shape) < 0.2] = np.nan
    model = quick(n_epochs=15, learning_rate=0.01).fit(holes, y)
    assert roc_auc_score(truth, model.anomaly_score(holes)) > 0.95
    filled = np.where(np.isnan(holes), model.encoding_.mean[0], holes)
    assert (model.anomaly_score(holes) != model.anomaly_score(filled)).any()


def test_global_random_states_are_left_alone_and_seeds_decide():
    signals, y, _, _ = make_signals()
    numpy_state, torch_state = np.random.get_state()[1].copy(), torch.get_rng_state()
    first = quick().fit(signals, y)
    torch.rand(7)
    second = quick().fit(signals, y)
    same(first.anomaly_score(signals), second.anomaly_score(signals))
    assert (quick(random_state=1).fit(signals, y).anomaly_score(signals) != 0).all()
    torch.set_rng_state(torch_state)
    quick().fit(signals, y).anomaly_profile(signals)
    same(np.random.get_state()[1], numpy_state)
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_members_are_averaged_and_differ():
    signals, y, _, _ = make_signals()
    model = quick(n_members=3).fit(signals, y)
    assert len(model.history_[0]["member_loss"]) == 3
    assert len({round(loss, 6) for loss in model.history_[0]["member_loss"]}) == 3


def test_training_goes_on_from_the_present_weights():
    signals, y, _, _ = make_signals()
    model = quick().fit(signals, y)
    encoding = model.encoding_
    model.partial_fit(signals[:60] * 2, y[:60])
    assert model.n_iter_ == 8
    assert model.encoding_ is encoding
    warm = quick(warm_start=True).fit(signals, y).fit(signals, y)
    assert warm.n_iter_ == 8
    model.head = "steps"
    with pytest.raises(ValueError, match="`head` was changed after the fit"):
        model.partial_fit(signals, y)


def test_known_normals_and_weights_count():
    signals, y, _, _ = make_signals()
    plain = quick().fit(signals, y).anomaly_score(signals)
    labels = np.where(y == 1, "fault", None)
    labels[60:] = "fine"
    normals = quick(pos_label="fault", normal_label="fine").fit(signals, labels)
    assert (normals.anomaly_score(signals) != plain).any()
    weight = np.where(np.arange(len(y)) % 2, 1.0, 0.0)
    weighted = quick().fit(signals, y, sample_weight=weight).anomaly_score(signals)
    assert (weighted != plain).any()


def test_scores_are_deviations_of_the_prior():
    signals, y, _, _ = make_signals()
    model = quick(confidence=0.9).fit(signals, y)
    scores = model.anomaly_score(signals)
    assert model.threshold_ == pytest.approx(1.2816, abs=1e-4)
    same(model.predict(signals) == 1, scores > model.threshold_)
    p_values = model.p_value(signals)
    assert p_values[np.argmax(scores)] == p_values.min()


def test_works_in_a_pipeline():
    signals, y, _, _ = make_signals()
    model = make_pipeline(FunctionTransformer(np.abs), quick()).fit(signals, y)
    same(
        model.decision_function(signals),
        quick().fit(abs(signals), y).decision_function(abs(signals)),
    )


@pytest.mark.parametrize("letters", [False, True])
@pytest.mark.parametrize("head", ["global", "steps"])
def test_symbols_in_the_wrong_order_are_found(letters, head, seed):
    generator = np.random.default_rng(seed)
    good, bad = np.tile([0, 1, 2, 3], 8), np.tile([0, 2, 1, 3], 8)
    X = [np.roll(bad if i < 20 else good, generator.integers(4)) for i in range(150)]
    X = [one[: generator.integers(16, 33)] for one in X]
    if letters:
        X = ["".join("abcd"[code] for code in one) for one in X]
    y = (np.arange(150) < 10).astype(int)
    settings = {"symbols": True, "n_epochs": 20, "learning_rate": 0.01, "head": head}
    model = quick(**settings).fit(X, y)
    assert roc_auc_score(np.arange(150) < 20, model.anomaly_score(X)) > 0.95


def test_unseen_symbols_share_a_code_of_their_own(tmp_path):
    X = [["start", "work", "end"], ["start", "work", "work", "end"], ["start", "crash", "end"]] * 5
    y = [0, 0, 1] * 5
    model = quick(symbols=True).fit([*X, ["once", "start"]], [*y, 0])
    assert model.encoding_.symbols.tolist() == ["crash", "end", "start", "work"]
    scores = model.anomaly_score([["start", new, "end"] for new in ("once", "never", "x", "work")])
    assert scores[0] == scores[1] == scores[2] != scores[3]
    missing = model.anomaly_score([["start", None, "end"]])
    assert missing[0] not in scores.tolist()
    model.save(tmp_path / "model.devnet")
    same(devnet.load(tmp_path / "model.devnet").anomaly_score(X), model.anomaly_score(X))


def test_whole_numbers_are_symbols_if_asked():
    X = np.random.default_rng(0).integers(0, 5, (40, 12))
    y = (np.arange(40) < 5).astype(int)
    model = quick(symbols=True).fit(X, y)
    renamed = quick(symbols=True).fit(X * 100 - 7, y)  # codes keep their order
    same(model.anomaly_score(X), renamed.anomaly_score(X * 100 - 7))
