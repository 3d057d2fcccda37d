"""Each measure says what its name promises."""

import numpy as np
import pytest

from devnet import DeviationEnsemble, DevNet
from devnet.core.labels import read_labels
from devnet.datasets import Dataset
from devnet.datasets.records import Likeness
from devnet.experiments.measures import (
    LEVELS,
    calibration,
    expectation,
    ranking,
    runtime,
    significance,
    unknown_anomalies,
)


class Oracle:
    """Scores a row by its first column."""

    keeps_unseen_scores = False

    def read_y(self, y, n_rows):
        return read_labels(y)

    def fit(self, rows, y):
        self.labelled = rows[y == 1]
        return self

    def anomaly_score(self, rows):
        return rows[:, 0]

    def p_value(self, rows):
        return 1 - rows[:, 0]

    def nominal_p_value(self, scores):
        return None


@pytest.fixture
def dataset(seed):
    """Normal rows fill [0, 1] in the first column; anomalies are three groups above."""
    generator = np.random.default_rng(seed)
    rows = generator.random((3000, 2)).astype(np.float32)
    is_anomaly = np.arange(3000) < 300
    rows[:300, 0] += 1
    rows[:300, 1] += 10 * (np.arange(300) % 3)
    return Dataset("made", rows, is_anomaly, [], "", Likeness.EXACT)


def test_ranking_is_perfect_for_an_oracle(dataset, seed):
    outcome = ranking(Oracle(), dataset, seed)
    assert outcome.metrics == {"AUC-ROC": 1.0, "AUC-PR": 1.0}
    assert set(outcome.seconds) == {"fit", "score"}


def test_uniform_p_values_lie_beyond_each_level_as_often_as_promised(dataset, seed):
    metrics = significance(Oracle(), dataset, seed).metrics
    for level in LEVELS:
        assert abs(metrics[f"normal beyond {level}"] - (1 - level)) < 0.06
        assert metrics[f"anomalies beyond {level}"] == 1


@pytest.mark.parametrize("make", [DevNet, DeviationEnsemble])
def test_calibrated_p_values_are_as_rare_as_they_say(dataset, seed, make):
    fewer = {"n_epochs": 5} if make is DevNet else {"n_networks": 2, "n_trees": 20}
    metrics = calibration(make(**fewer, random_state=seed), dataset, seed, contamination=0).metrics
    assert metrics["low"] <= 0.01 <= metrics["high"]
    assert metrics["within"] == (metrics["low"] <= metrics["calibrated"] <= metrics["high"])
    assert metrics["calibrated"] < 0.05
    assert 0 <= metrics["nominal"] <= 1


def test_the_band_is_that_of_exact_p_values():
    """Uniform scores are as calibrated as can be, so nine in ten and more lie within the band."""
    within = []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        rows = generator.random((3000, 2)).astype(np.float32)
        is_anomaly = np.arange(3000) < 300
        rows[:300, 0] += 1
        made = Dataset("made", rows, is_anomaly, [], "", Likeness.EXACT)
        within.append(calibration(Oracle(), made, seed, contamination=0).metrics["within"])
    assert np.mean(within) > 0.87


def test_an_expectation_stands_beside_what_came(dataset, seed):
    outcome = expectation(DeviationEnsemble(1, 5, random_state=seed), dataset, seed)
    metrics = outcome.metrics
    assert metrics["low"] <= metrics["expected AUC-PR"] <= metrics["high"]
    is_within = metrics["low"] <= metrics["AUC-PR"] <= metrics["high"]
    assert metrics["within"] == is_within
    assert 0 <= metrics["hidden share"] <= 0.2


def test_the_unknown_kind_is_never_labelled(dataset):
    groups = set()
    for kind in range(3):
        oracle = Oracle()
        metrics = unknown_anomalies(oracle, dataset, kind, labelled_kinds="all but one").metrics
        labelled = {int(value // 10) for value in oracle.labelled[:, 1]}
        assert len(labelled) == 2
        groups |= {0, 1, 2} - labelled
        assert metrics["share of anomalies"] == pytest.approx(1 / 3, abs=0.01)
        assert metrics["AUC-PR, this kind"] == pytest.approx(1)
        assert metrics["AUC-PR, other kinds"] == pytest.approx(1)
        unknown_anomalies(oracle, dataset, kind, labelled_kinds="all")
        assert {int(value // 10) for value in oracle.labelled[:, 1]} == {0, 1, 2}
    assert groups == {0, 1, 2}


def test_kinds_to_label_are_named(dataset):
    with pytest.raises(ValueError, match="labelled_kinds='some'"):
        unknown_anomalies(Oracle(), dataset, 0, labelled_kinds="some")


def test_runtime_trains_and_scores_rows_of_the_size_asked_for(seed):
    detector = DevNet(n_epochs=2, device="cpu", random_state=seed)
    outcome = runtime(detector, None, seed, n_rows=500, n_columns=60)
    assert outcome.seconds["fit"] > 0
    assert outcome.seconds["score"] > 0
    assert outcome.metrics["AUC-ROC"] > 0.8
    assert detector.n_features_in_ == 60
