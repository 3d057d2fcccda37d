"""Calibration: scores of rows that were not trained on, and the p-values they give."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from support.plain_detector import PlainDetector
from support.tasks import make_task

from devnet import DeviationEnsemble, DevNet, StandardPrior
from devnet.competitors import IForest
from devnet.detectors.methods import METHODS
from devnet.detectors.own_estimator import OwnEstimator
from devnet.significance.calibration import (
    Calibration,
    calibrate,
    calibration_curve,
)

QUICK = {
    **{name: {"n_epochs": 2, "device": "cpu"} for name in ("DevNet", "REPEN", "DSVDD", "FSNet")},
    **{name: {"n_trees": 20} for name in ("iForest", "PU trees", "gradient boosting")},
    "deviation ensemble": {"n_networks": 2, "n_trees": 10},
}


class Recording(OwnEstimator):
    """Remembers what it was fitted on and what it scored."""

    def fit(self, X, y):
        self.fitted_on, self.y = X, y
        return self

    def anomaly_score(self, X):
        self.scored = X
        return np.asarray(X)[:, 0].astype(float)


class FirstColumn:
    """The smallest possible estimator: a fit, and scores to rank rows by."""

    def fit(self, X, y):
        self.values = sorted(set(y))
        return self

    def score_samples(self, X):
        return -X[:, 0]


def test_any_estimator_with_a_fit_and_scores_can_be_calibrated():
    rows, y, _ = make_task(0)
    own = OwnEstimator(FirstColumn())
    calibration = calibrate(own, rows, np.where(y == 1, "fraud", "fine"), random_state=0)
    assert own.estimator.values == [0, 1]
    assert set(calibration.unlabelled) <= set(rows[y == 0, 0])
    assert (len(calibration.unlabelled), calibration.labelled) == (590, None)
    assert own.nominal_p_value(calibration.unlabelled) is None
    assert own.prior_quantile is None


def test_a_detector_that_answers_nothing_itself_gets_the_defaults():
    rows, y, _ = make_task(0)
    plain = PlainDetector()
    calibration = calibrate(plain, rows, y, random_state=0)
    held = calibration.unlabelled
    assert (len(held), calibration.labelled, calibration.hidden_share) == (590, None, None)
    np.testing.assert_array_equal(np.isin(held, rows[y == 0].sum(axis=1, dtype=float)), True)
    assert plain.n_rows_ == 1200 - 590
    assert not plain.keeps_unseen_scores
    with pytest.raises(NotImplementedError, match="PlainDetector keeps no scores of unseen rows"):
        plain.unseen_scores()
    assert plain.nominal_p_value(held) is None
    assert plain.prior_quantile is None
    assert not plain.is_thread_safe
    assert plain.expectations() == {}
    curve = calibration_curve(calibration, None, [0.1, 0.5])
    assert curve.nominal is None


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_calibrated(name):
    rows, y, _ = make_task(0)
    model = METHODS[name](random_state=0, **QUICK.get(name, {}))
    calibration = calibrate(model, rows, y, random_state=0)
    assert len(calibration.unlabelled) == (1180 if name == "deviation ensemble" else 590)
    assert calibration.weight.tolist() == [1.0] * len(calibration.unlabelled)
    assert (calibration.labelled is not None) == (name == "deviation ensemble")
    assert 0 < calibration.ranks().p_value(model.anomaly_score(rows)).min() < 0.01


@pytest.mark.parametrize(
    ("n_unlabelled", "n_held"), [(3, 1), (600, 300), (5_000, 1_000), (30_000, 3_000)]
)
def test_held_back_rows_are_not_trained_on_and_labelled_ones_all_are(n_unlabelled, n_held):
    rows = np.arange(n_unlabelled + 2.0)[:, None]
    y = (np.arange(len(rows)) < 2).astype(int)
    model = Recording(None)
    calibration = calibrate(model, rows, y, random_state=0)
    assert len(model.scored) == n_held
    assert sorted([*model.fitted_on[:, 0], *model.scored[:, 0]]) == rows[:, 0].tolist()
    np.testing.assert_array_equal(model.y, model.fitted_on[:, 0] < 2)
    np.testing.assert_array_equal(calibration.unlabelled, model.scored[:, 0])
    again = calibrate(Recording(None), rows, y, random_state=0)
    np.testing.assert_array_equal(again.unlabelled, calibration.unlabelled)


def test_at_most_ten_thousand_rows_are_held_back():
    rows = np.arange(150_000.0)[:, None]
    calibration = calibrate(Recording(None), rows, np.arange(150_000) < 5, random_state=0)
    assert len(calibration.unlabelled) == 10_000


def test_layouts_and_names_of_labels_do_not_matter():
    rows, y, _ = make_task(0)
    names = np.where(y == 1, "fraud", "unknown")
    found = calibrate(IForest(10, random_state=0), rows, y, random_state=0).unlabelled
    for X in (rows.tolist(), pd.DataFrame(rows), sp.coo_array(rows), sp.csr_matrix(rows)):
        model = IForest(10, pos_label="fraud", random_state=0)
        scores = calibrate(model, X, names, random_state=0).unlabelled
        np.testing.assert_allclose(scores, found)
        assert model.classes_.tolist() == ["unknown", "fraud"]
    without = calibrate(IForest(10, random_state=0), rows, None, random_state=0)
    assert len(without.unlabelled) == 600
    missing = np.where(y == 1, 1.0, np.nan)
    own = OwnEstimator(LogisticRegression())
    assert len(calibrate(own, rows, missing, random_state=0).unlabelled) == 590


@pytest.mark.parametrize("model", [DevNet(n_epochs=2, device="cpu"), DeviationEnsemble(2, 4)])
def test_rows_of_weight_zero_calibrate_nothing(model):
    rows, y, _ = make_task(0)
    weight = np.where(np.arange(1200) < 700, 2.0, 0.0)
    weight[y == 0] *= np.where(np.arange(1180) % 2, 1.0, 0.5)
    weight[y == 1] = 30  # unlabelled rows count relative to the largest weight among them
    calibration = calibrate(model, rows, y, weight, random_state=0)
    assert set(calibration.weight) == {0.5, 1.0}
    assert len(calibration.unlabelled) == (680 if isinstance(model, DeviationEnsemble) else 340)


def test_few_labelled_anomalies_say_nothing_about_a_share():
    rows, y, _ = make_task(0)
    for n_labelled, has_scores, has_share in ((1, False, False), (4, True, False), (5, True, True)):
        few = y * (np.arange(len(y)) < n_labelled)
        calibration = calibrate(DeviationEnsemble(2, 8, random_state=0), rows, few)
        assert (calibration.labelled is not None) == has_scores
        assert (calibration.hidden_share is not None) == has_share


def test_bad_input_gets_a_sentence():
    rows, y, _ = make_task(0)
    with pytest.raises(ValueError, match="X has 1200 rows but y has 3 labels"):
        calibrate(DevNet(), rows, y[:3])
    with pytest.raises(ValueError, match=r"DevNet requires y .* y is None\. Give 1"):
        calibrate(DevNet(), rows, None)
    with pytest.raises(ValueError, match="y is None; give 1"):
        calibrate(Recording(None), rows, None)
    with pytest.raises(ValueError, match="at least 2 unlabelled rows, but found 1"):
        calibrate(DevNet(), rows[:21], y[:21])
    with pytest.raises(ValueError, match="sample_weight of row 1199 is -1"):
        calibrate(DevNet(), rows, y, np.append(np.ones(1199), -1))
    with pytest.raises(ValueError, match="OwnEstimator takes no sample_weight; leave it out"):
        calibrate(OwnEstimator(LogisticRegression()), rows, y, np.ones(1200))
    with pytest.raises(ValueError, match="score of row 0 is not a number"):
        calibrate(Recording(None), np.full((9, 1), np.nan), np.arange(9) < 2)
    with pytest.raises(ValueError, match="at least 4 unlabelled rows .* but has 3"):
        calibration_curve(Calibration(np.arange(3), np.ones(3), None, None), None, [0.1])


def test_nominal_p_values_are_those_of_what_scores_are_measured_by():
    scores = np.array([-1.0, 0.0, 1.6449, 5.0])
    normal = [0.8413, 0.5, 0.05, 2.867e-7]
    np.testing.assert_allclose(DevNet().nominal_p_value(scores), normal, rtol=1e-3)
    np.testing.assert_allclose(DeviationEnsemble().nominal_p_value(scores), normal, rtol=1e-3)
    laplace = DevNet(reference=StandardPrior("laplace"))
    at = laplace.prior_quantile(0.99)
    assert laplace.nominal_p_value(np.array([at]))[0] == pytest.approx(0.01)
    assert IForest().nominal_p_value(scores) is None


def coverage(make, levels, n_runs=300):
    """How often calibrated and nominal shares lie below, within and above the band, by level."""
    found = []
    for run in range(n_runs):
        scores, weight = make(np.random.default_rng(run))
        curve = calibration_curve(
            Calibration(scores, weight, None, None),
            lambda scores: DevNet().nominal_p_value(scores),
            levels,
            random_state=run,
        )
        for share in (curve.calibrated, curve.nominal):
            found.append([share < curve.low - 1e-9, share > curve.high + 1e-9])
    outside = np.array(found).reshape(n_runs, 2, 2, len(levels)).mean(axis=0)
    return {"calibrated": outside[0], "nominal": outside[1]}


@pytest.mark.parametrize("kind", ["normal", "cauchy"])
def test_calibrated_shares_lie_in_the_band_whatever_the_scores_and_nominal_ones_if_true(kind):
    def make(generator):
        draw = {"normal": generator.normal, "cauchy": generator.standard_cauchy}[kind]
        return draw(size=1000), np.ones(1000)

    outside = coverage(make, np.array([0.01, 0.05, 0.2, 0.5]))
    assert (outside["calibrated"] < 0.05).all()  # 2.5% on either side, and chance
    assert (outside["calibrated"].sum(axis=0)[1:] > 0.02).all()  # no wider than necessary
    assert (outside["nominal"].sum(axis=0)[:2] < 0.05).all() == (kind == "normal")


@pytest.mark.parametrize("weights", [(0.5,), (0.25, 1.0)])
def test_the_band_holds_for_rows_that_count_differently(weights):
    def make(generator):
        return generator.normal(size=400), generator.choice(weights, 400)

    outside = coverage(make, np.array([0.02, 0.1, 0.5]))["calibrated"]
    assert (outside < 0.05).all()
    assert (outside.sum(axis=0)[1:] > 0.02).all()


def test_the_band_is_that_of_both_halves_being_drawn():
    from scipy.stats import betabinom

    levels = np.array([0.003, 0.0149, 0.05, 0.29, 0.5, 0.9, 0.995, 1])
    calibration = Calibration(np.arange(198.0), np.ones(198), None, None)
    curve = calibration_curve(calibration, None, levels)
    rank = np.array([1, 5, 29, 50, 90, 99])  # of 99 rows and the one that is ranked
    for end, bound in ((0.025, curve.low), (0.975, curve.high)):
        exact = betabinom.ppf(end, 99, rank, 100 - rank) / 99
        np.testing.assert_allclose(bound[1:-1], exact)
        assert (bound[0], bound[-1]) == (0, 1)  # no p-value is below 1 in 100, all are at most 1


def test_a_curve_knows_weights_and_does_without_nominal_p_values():
    scores = np.arange(1000.0)
    weight = np.where(np.arange(1000) < 500, 1.0, 1e-9)
    levels = np.linspace(0.05, 1, 20)
    curve = calibration_curve(Calibration(scores, weight, None, None), None, levels)
    half = calibration_curve(Calibration(scores[:500], weight[:500], None, None), None, levels)
    assert curve.nominal is None
    assert curve.calibrated[-1] == 1
    np.testing.assert_allclose(curve.calibrated, half.calibrated, atol=0.1)
    np.testing.assert_allclose(curve.high, half.high, atol=0.02)


def test_rows_that_count_less_are_shown_less_often():
    scores = np.random.default_rng(0).normal(size=1000)
    equal = Calibration(scores, np.full(1000, 0.3), None, None)
    assert equal.representative() is scores
    weight = np.where(np.arange(1000) < 500, 1.0, 0.1)
    shown = Calibration(scores, weight, None, None).representative()
    assert len(shown) == pytest.approx(550, abs=1)
    assert np.isin(scores[500:], shown).sum() == pytest.approx(50, abs=15)
    assert np.median(shown) == pytest.approx(np.median(scores), abs=0.1)
