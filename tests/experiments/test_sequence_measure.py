"""The measures of sequences and of events in long series."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from support.experiments import runs
from support.sequences import make_signals

from devnet.datasets import signal_sets
from devnet.datasets.signal_sets import SIGNAL_SETS, SignalSet, load_signals, plant
from devnet.detectors.methods import find_method
from devnet.experiments import sequence_measure, sequence_methods
from devnet.experiments.plan import read_experiment
from devnet.experiments.sequence_measure import PEAKS, STEPS, events, localisation, sequences
from devnet.experiments.sequence_results import EVENTS
from devnet.experiments.tables import tables

pytest.importorskip("torch")
FOLDER = Path(__file__).parents[2] / "experiments"
HOME = "devnet.experiments.sequence_methods"
METHODS = ["OnSteps", "OnFeatures", "SequenceSVDD", "SupervisedSequences", "Deviations"]


@pytest.fixture
def quickly(monkeypatch):
    monkeypatch.setattr(sequence_methods, "N_EPOCHS", 2)


def made_signals(symbols=False):
    signals, _, truth, starts = make_signals(n=200, n_faults=40)
    X = signals.astype(np.float32)
    if symbols:
        X = np.clip(np.round(4 * X + 8), 0, 26).astype(int)
    return SignalSet(X, truth, None, np.stack([starts, starts + 10], axis=1), "made up")


@pytest.mark.parametrize("symbols", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_ranks_sequences(method, symbols, quickly):
    if method == "OnFeatures":
        detector = find_method(f"{HOME}:{method}")(random_state=0, base="iForest")
    else:
        detector = find_method(f"{HOME}:{method}")(random_state=0)
    found = sequences(detector, made_signals(symbols), 0, n_labelled=10).metrics
    assert set(found) >= {"AUC-ROC", "AUC-PR"}
    assert (STEPS in found) == (method == "Deviations")
    assert found["AUC-ROC"] > (0.8 if method == "Deviations" else 0)


def test_profiles_are_judged_by_the_true_intervals():
    profiles = np.zeros((2, 6))
    profiles[0, 2:4], profiles[1, 0] = 1, 1
    found = localisation(profiles, np.array([[2, 4], [3, 5]]))
    assert found[PEAKS] == 0.5
    assert found[STEPS] == pytest.approx((0.5 * 1 + 0.5 * 0.5) - 1 / 16)


class Louder:
    """Scores a window by its largest change."""

    def fit(self, X, y):
        self.y_ = y
        return self

    def anomaly_score(self, X):
        return np.abs(np.diff(X[:, :, 0], axis=1)).max(axis=1)


def test_faults_of_a_long_series_are_planted_labelled_and_judged(monkeypatch, seed):
    monkeypatch.setattr(sequence_measure, "N_TEST_FAULTS", 10)
    beats = np.sin(np.arange(140) / 10) + np.zeros((1100, 1), np.float32)
    dataset = SignalSet(beats.astype(np.float32), np.zeros(1100, bool), None, None, "made up")
    detector = Louder()
    found = events(detector, dataset, seed, n_labelled=5).metrics
    assert 0 < detector.y_.mean() < 0.05
    assert found[STEPS] > 0.8
    assert found["normal steps beyond 5%"] <= 0.1
    assert 0 <= found[PEAKS] <= 1


@pytest.mark.parametrize("kind", range(5))
def test_planted_faults_change_their_interval_alone(kind, seed):
    before = np.sin(np.arange(200) / 5)
    after = before.copy()
    start, end = plant(after, kind, np.random.default_rng(seed))
    changed = np.flatnonzero(before != after)
    assert start <= changed.min()
    assert changed.max() < end
    assert 12 <= end - start < 30


def write_sets(folder, monkeypatch):
    monkeypatch.setattr(signal_sets, "N_WINDOWS", 40)
    generator = np.random.default_rng(0)
    kind = np.arange(100) % 5 + 1
    np.savez(folder / "ecg5000.npz", X=generator.normal(size=(100, 140)), cls=kind)
    with tarfile.open(folder / "20_newsgroups-19997.tar.xz", "w:xz") as archive:
        for i in range(60):
            content = ("Subject: s\n\n" + "The quick, brown fox! " * (8 + i)).encode()
            entry = tarfile.TarInfo(f"data/alt.x/{i}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


@pytest.mark.parametrize("name", SIGNAL_SETS)
def test_sets_are_read_and_made_alike_each_time(name, tmp_path, monkeypatch):
    write_sets(tmp_path, monkeypatch)
    found, again = (load_signals(name, tmp_path) for _ in range(2))
    np.testing.assert_array_equal(found.X, again.X)
    assert found.X.ndim == 2
    assert 0 < found.is_anomaly.sum() < len(found.X)
    if found.may_be_labelled is not None:
        assert not (found.may_be_labelled & ~found.is_anomaly).any()
        assert (found.is_anomaly & ~found.may_be_labelled).any()
    assert found.description.startswith(f"{name}: ")


@pytest.mark.parametrize("name", ["sequences", "events"])
def test_the_committed_plans_have_tables(name):
    experiment = read_experiment(name, FOLDER)
    dataset, method = experiment.datasets[0], next(iter(experiment.methods))
    settings = experiment.settings[0]
    metrics = dict.fromkeys(EVENTS if name == "events" else ("AUC-PR", STEPS, PEAKS), 0.6)
    of_method = {"measure": name, "parameters": experiment.methods[method], "metrics": metrics}
    found = runs(dataset, method, [0.5, 0.7], settings=settings, **of_method)
    shown = tables(experiment, found)
    assert any("0.600" in cell.text for table in shown for row in table.rows for cell in row)
