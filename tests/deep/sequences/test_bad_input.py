"""Sequences that cannot be used are refused in a sentence that names the row."""

import numpy as np
import pytest
from support.model_files import write_sealed
from support.sequences import make_signals, quick

import devnet
from devnet import ModelFileError, SequenceDevNet
from devnet.core import model_file

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def model():
    signals, y, _, _ = make_signals()
    return quick(n_epochs=1).fit(signals, y)


@pytest.fixture(scope="module")
def of_symbols():
    return quick(n_epochs=1, symbols=True).fit(["abab", "abba", "baba"] * 4, [0, 1, 0] * 4)


def changed(step, value, row=7):
    signals = make_signals()[0]
    signals[row, step] = value
    return signals


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "X has no sequences"),
        (np.zeros((0, 5)), "X has no sequences"),
        (np.zeros((3, 0)), "row 0 of X is an empty sequence"),
        ([[1.0, 2.0], []], "row 1 of X is an empty sequence; leave it out"),
        (np.zeros((3, 5, 0)), "no channels"),
        (np.zeros(5), r"shape \(5,\).*wrap a single sequence as \[X\]"),
        (np.zeros((2, 2, 2, 2)), r"sequences are \(n, t\), \(n, t, c\) or a list"),
        ([np.zeros((4, 1)), np.zeros((4, 2))], "row 1 of X has 2 channels, but row 0 has 1"),
        ([np.zeros(4), np.zeros((4, 1, 1))], r"row 1 of X has shape \(4, 1, 1\)"),
        (np.zeros((3, 5, 2)), "have 2 channels, but the model learned from 1"),
        (changed(slice(None), np.nan), r"all values of row 7 of X are missing \(NaN\)"),
        (changed(3, np.inf), "inf at row 7, step 3, channel 0"),
        (changed(3, -1e300), "too large: -1e.300 at row 7, step 3, channel 0"),
        ([["a", "b"], ["a"]], "'a' at row 0, step 0, which is no number; give symbols=True"),
        ([[1.0, 2.0], [1.0, "off"]], "'off'.* at row 1, step 1, which is no number"),
    ],
)
def test_sequences_that_cannot_be_scored(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.anomaly_score(X)


def test_what_cannot_be_learned_from():
    signals, y, _, _ = make_signals()
    with pytest.raises(ValueError, match="channel 1 of X has no value in any sequence"):
        quick().fit(np.stack([signals, np.full_like(signals, np.nan)], axis=2), y)
    with pytest.raises(ValueError, match="row 7, step 3"):
        quick().fit(changed(3, np.inf), y)
    with pytest.raises(ValueError, match="X has 90 rows but y has 3 labels"):
        quick().fit(signals, y[:3])
    with pytest.raises(ValueError, match="no labelled anomaly"):
        quick().fit(signals, np.zeros(90))
    with pytest.raises(ValueError, match=r"SequenceDevNet\(head='middle'\) is not possible"):
        quick(head="middle").fit(signals, y)
    with pytest.raises(ValueError, match="top_share must be a number above 0 and at most 1"):
        quick(top_share=0.0).fit(signals, y)


def test_a_fit_that_fails_leaves_the_model_as_it_was(model):
    signals = make_signals()[0]
    before = model.anomaly_score(signals)
    with pytest.raises(ValueError, match="no labelled anomaly"):
        model.fit(np.zeros((5, 4, 3)), np.zeros(5))
    np.testing.assert_array_equal(model.anomaly_score(signals), before)


def test_symbols_that_cannot_be_used(of_symbols):
    with pytest.raises(ValueError, match="2 symbols at each step, but symbols=True takes one"):
        of_symbols.anomaly_score(np.zeros((3, 4, 2), int))
    with pytest.raises(ValueError, match="symbols of the same kind"):
        of_symbols.anomaly_score([[1, 2]])
    new = quick(symbols=True)
    with pytest.raises(ValueError, match="1.5 at row 0, step 1; symbols must be all texts or all"):
        new.fit([[1, 1.5], [1, 2]], [0, 1])
    with pytest.raises(ValueError, match="no symbol of X occurs in two sequences"):
        new.fit([[1, 2], [3, 4]], [0, 1])
    with pytest.raises(ValueError, match="all values of row 1 of X are missing"):
        of_symbols.anomaly_score([["a"], [None]])


@pytest.mark.parametrize(
    "edit",
    [
        {"encoding": None},
        {"encoding": {"mean": [0.0], "std": [0.0], "symbols": None}},
        {"encoding": {"mean": [0.0, 1.0], "std": [1.0, 1.0], "symbols": None}},
        {"encoding": {"mean": ["0"], "std": [1.0], "symbols": None}},
        {"encoding": {"mean": [0.0], "std": [1.0], "symbols": ["a"]}},
        {"surprise": None},
        {"surprise": {"weights": [[0.0] * 8], "usual": [0.0]}},
        {"surprise": {"weights": [[0.0] * 7], "usual": [1.0]}},
        {"surprise": {"weights": [[0.0] * 8] * 2, "usual": [1.0] * 2}},
        {"surprise": {"pairs": [1], "counts": [1]}},
        {"longest": 0},
        {"longest": 10**12},
        {"n_features_in": 2},
    ],
)
def test_edited_model_files_are_refused(model, edit, tmp_path):
    path = tmp_path / "model.devnet"
    write_sealed(path, {**model.header(), **edit}, model.tensors())
    with pytest.raises(ModelFileError):
        devnet.load(path)


@pytest.mark.parametrize("symbols", [None, [], ["b", "a"], ["a", 1], [1.5]])
def test_edited_symbols_are_refused(of_symbols, symbols, tmp_path):
    header = of_symbols.header()
    header["encoding"]["symbols"] = symbols
    write_sealed(tmp_path / "model.devnet", header, of_symbols.tensors())
    with pytest.raises(ModelFileError):
        devnet.load(tmp_path / "model.devnet")


@pytest.mark.parametrize(
    "edit",
    [
        {"pairs": [2, 1], "counts": [1, 1]},
        {"pairs": [1], "counts": [0]},
        {"pairs": [10**9], "counts": [1]},
        {"pairs": [1], "counts": []},
        {"mean": None},
        {"std": 0.0},
        {"more": 1},
    ],
)
def test_edited_pairs_of_symbols_are_refused(of_symbols, edit, tmp_path):
    header = of_symbols.header()
    header["surprise"] |= edit
    write_sealed(tmp_path / "model.devnet", header, of_symbols.tensors())
    with pytest.raises(ModelFileError):
        devnet.load(tmp_path / "model.devnet")


def test_without_torch_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("devnet.deep.methods.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'deviation-network\[torch\]'"):
        SequenceDevNet().fit([[1.0], [2.0]], [0, 1])


def test_the_file_holds_no_pickle(model, tmp_path):
    model.save(tmp_path / "model.devnet")
    header, tensors = model_file.read(tmp_path / "model.devnet")
    assert set(tensors) == {"parameters"}
    assert header["method"] == "SequenceDevNet"
