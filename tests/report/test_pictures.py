"""Pictures of curves show what was computed, on axes that suit it, with numbers for people."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import average_precision_score, roc_auc_score

from devnet.core.wording import (
    contribution_text,
    if_known,
    number_text,
    one_in_text,
    score_text,
    share_text,
)
from devnet.report.axes import nice_ticks, share_end
from devnet.report.calibration_chart import LEVELS, calibration_chart, curve_to_draw
from devnet.report.page import short
from devnet.report.ranking_chart import precision_recall_chart, roc_chart
from devnet.report.ranking_curves import Area, Curve, ranking_curves
from devnet.report.spread_chart import spread_chart
from devnet.significance import Calibration, CalibrationCurve, calibration_curve
from devnet.tables.columns.spread import Place, Spread


def heights(svg):
    """The numbers of the axis upwards."""
    texts = ElementTree.fromstring(svg).findall("text")
    return [float(one.text) for one in texts if one.get("text-anchor") == "end"]


def test_the_axis_of_precision_ends_where_precision_does():
    unlabelled = np.arange(3000.0)
    for at, most in ((1500.0, 0.05), (1e9, 1)):
        curves = ranking_curves("a", unlabelled, at + np.arange(40.0))
        svg = precision_recall_chart([curves.precision_recall])
        assert heights(svg)[0] == 0
        assert curves.precision_recall.y.max() <= heights(svg)[-1] <= most
        line = ElementTree.fromstring(svg).findall("polyline")[-1].get("points").split()
        assert min(float(point.split(",")[1]) for point in line) < 60  # of 220, from above
        assert heights(roc_chart([curves.roc]))[-1] == 1


def test_a_spike_of_a_band_does_not_flatten_its_curve():
    x = np.linspace(0, 1, 101)
    low, y, high = np.full(101, 0.01), np.full(101, 0.02), np.where(x < 0.05, 1.0, 0.03)
    svg = precision_recall_chart([Curve("a", x, y, low, high, Area(0.02, 0.01, 0.03))])
    assert heights(svg)[-1] == 0.03
    unknown = np.full(101, np.nan)
    svg = precision_recall_chart([Curve("a", x, y, unknown, unknown, Area(0.02, np.nan, np.nan))])
    assert heights(svg)[-1] == 0.02


@given(st.floats(1e-7, 1), st.floats(0, 1))
def test_axes_of_shares_end_at_a_tick_little_above_the_highest(share, smaller):
    end = share_end([smaller * share, np.nan, share])
    assert share <= end * (1 + 1e-9) <= 1 + 1e-9
    assert end <= 2 * share * (1 + 1e-9)
    assert nice_ticks(0, end)[-1] == pytest.approx(end)
    assert 4 <= len(nice_ticks(0, end)) <= 6


def test_axes_of_shares_end_at_1_where_nothing_is_known():
    assert share_end([np.nan]) == share_end([0.0]) == share_end([]) == 1


def test_areas_are_those_of_scikit_learn(seed):
    generator = np.random.default_rng(seed)
    unlabelled = generator.integers(0, 40, 500).astype(float)  # ties
    labelled = generator.integers(20, 60, 30).astype(float)
    truth = np.repeat([0, 1], [500, 30])
    curves = ranking_curves("a", unlabelled, labelled)
    scores = np.concatenate([unlabelled, labelled])
    roc, precision_recall = curves.roc.area, curves.precision_recall.area
    assert roc.value == pytest.approx(roc_auc_score(truth, scores))
    assert precision_recall.value == pytest.approx(average_precision_score(truth, scores))
    for area in (roc, precision_recall):
        assert area.low < area.value < area.high
    assert (np.diff(curves.roc.y) >= 0).all()
    assert np.trapezoid(curves.roc.y, curves.roc.x) == pytest.approx(roc.value, abs=0.02)


def test_intervals_of_areas_hold_the_truth_mostly():
    generator = np.random.default_rng(0)
    truth = norm.cdf(2 / np.sqrt(2))  # area under the ROC of two normals two apart
    areas = [
        ranking_curves("a", generator.normal(size=400), generator.normal(2, size=40)).roc.area
        for _ in range(25)
    ]
    assert sum(area.low <= truth <= area.high for area in areas) >= 20


def test_bands_hold_their_curves():
    generator = np.random.default_rng(1)
    for curve in ranking_curves("a", generator.normal(size=3000), generator.normal(2, size=50))[:2]:
        inside = (curve.low <= curve.y + 1e-9) & (curve.y <= curve.high + 1e-9)
        assert inside.mean() > 0.95


def test_several_methods_share_one_chart():
    generator = np.random.default_rng(0)
    unlabelled = generator.normal(size=300)
    both = [
        ranking_curves(name, unlabelled, generator.normal(shift, 1, 20))
        for name, shift in (("one", 1), ("other", 3))
    ]
    for draw, kind in ((roc_chart, "roc"), (precision_recall_chart, "precision_recall")):
        svg = ElementTree.fromstring(draw([getattr(curves, kind) for curves in both]))
        assert [p.get("class") for p in svg.findall("polygon")] == ["band c0", "band c1"]
        lines = [p.get("class") for p in svg.findall("polyline")]
        assert lines[-2:] == ["c0", "c1"]


def test_the_calibration_picture_is_of_the_public_curve():
    scores = np.random.default_rng(0).standard_t(2, size=2000)
    curve = curve_to_draw(scores, norm.sf)
    same = calibration_curve(Calibration(scores, np.ones(2000), None, None), norm.sf, LEVELS)
    assert all(np.array_equal(one, other) for one, other in zip(curve, same, strict=True))
    assert isinstance(curve, CalibrationCurve)
    svg = ElementTree.fromstring(calibration_chart(curve))
    places = [[*map(float, p.split(","))] for p in svg.find("polygon").get("points").split()]
    assert len(places) == 2 * (curve.high > 0).sum()
    titles = [circle.find("title").text for circle in svg.findall("circle")]
    assert f"calibrated: {one_in_text(same.calibrated[-1])} where 50% is promised" in titles


def test_a_band_is_drawn_only_where_p_values_are_possible():
    curve = curve_to_draw(np.random.default_rng(0).normal(size=200), None)
    svg = ElementTree.fromstring(calibration_chart(curve))
    across = [float(place.split(",")[0]) for place in svg.find("polygon").get("points").split()]
    diagonal = svg.find("polyline").get("points").split()
    assert min(across) > float(diagonal[0].split(",")[0]) + 50  # below 1 in 101 nothing is
    assert max(across) == float(diagonal[1].split(",")[0])


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 11), (1e6, 1e6 + 3), (-1e-5, 2e-5)])
def test_ticks_are_few_and_inside(low, high):
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert low <= ticks[0] < ticks[-1] <= high * (1 + 1e-9)


def test_numbers_are_written_as_in_sentences_about_tables():
    for value in (0, 12345.6, 3.14159, 0.0123, -2.5, 100, 1e20):
        assert if_known(np.float64(value)) == number_text(value)
    for share in (0, 0.00001, 0.0012, 0.034, 0.5, 0.999, 1):
        assert if_known(np.float64(share), share_text) == share_text(share)
    assert share_text(0.00001) == "under 0.01%"
    assert if_known(np.nan) == if_known(np.nan, share_text) == if_known(np.inf) == "unknown"


def test_numbers_are_written_for_people():
    assert [one_in_text(v) for v in (1 / 20_001, 0.01, 0.3, 1, 0)] == [
        "1 in 20,000", "1 in 100", "30%", "100%", "unknown",
    ]  # fmt: skip
    assert [contribution_text(v) for v in (3.14, -0.052, 0, 1234.5)] == [
        "+3.1", "-0.05", "+0.00", "+1,234.5",
    ]  # fmt: skip
    assert [score_text(v) for v in (10.7, -0.123, 0.00123, 4321.5, 0, np.inf)] == [
        "10.70", "-0.12", "0.00123", "4,322", "0", "unknown",
    ]  # fmt: skip
    assert short("a" * 1000).endswith("a...")


@pytest.mark.parametrize("n_values", [1, 5, 50])
def test_a_small_picture_marks_the_value_however_many_there_are(n_values):
    names = tuple(f"<value {i}>" for i in range(n_values))
    counts = tuple(range(n_values, 0, -1))
    spread = Spread(counts, counts, sum(counts), 2 * sum(counts), names=names)
    for cell in {0, n_values - 1}:
        picture = spread_chart("shop", Place(float(cell), spread))
        drawn = ElementTree.fromstring(picture)
        assert f"shop, <value {cell}>: " in drawn.get("aria-label")
        (mark,) = drawn.iter("line")
        assert 0 <= float(mark.get("x1")) <= 160
        assert len(list(drawn.iter("path"))) == 2
