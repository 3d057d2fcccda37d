"""The page of a fit tells all its facts, in one well-formed file, whatever they are."""

import re
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import average_precision_score, roc_auc_score
from test_report import Tags

from devnet.report.calibration_chart import LEVELS, calibrate
from devnet.report.distribution_chart import nice_ticks
from devnet.report.fit_page import Alert, FitFacts, make_fit_page
from devnet.report.number_text import in_digits, in_percent, one_in, short
from devnet.report.ranking_chart import precision_recall_chart, roc_chart
from devnet.report.ranking_curves import ranking_curves

NASTY = "<script>alert('x')</script> & \"more\""


class Column(NamedTuple):
    name: str
    kind: str
    detail: str
    missing: float


def make_facts(**changed):
    generator = np.random.default_rng(0)
    reasons = ["amount 9,120 is far above typical 74: +3.1", "hour 3: at night: -1.25", "no colon"]
    facts = FitFacts(
        table="payments.parquet",
        method="deviation ensemble",
        summary=[("rows", "2,060"), ("labelled anomalies", "60")],
        unlabelled=generator.normal(size=2000),
        labelled=generator.normal(3, 1, size=60),
        labelled_unseen=True,
        nominal=norm.sf,
        threshold=2.34,
        policy="at most 1% false alarms",
        columns=[Column("amount", "number", "typical 74", 0.08), Column("city", "text", "", 0)],
        importance={"city": 0.25, "amount": 0.75},
        left_out={"payment_id": "an identifier"},
        alerts=[Alert(f"P{i}", 9.5 - i, 0.0005, reasons, "P77") for i in range(12)],
        parameters={"n_trees": 64, "margin": 5.0, "random_state": None, "is_quick": True},
        versions={"devnet": "1.0"},
        notes=["a note"],
    )
    return facts._replace(**changed)


def check(page):
    """Well-formed, whole without any other file, small."""
    tags = Tags(page.replace("<rect", "<svg").replace("</rect", "</svg"))
    assert all(address.startswith("#") for address in tags.addresses)
    for foreign in ("<script", "http", "url(", "@import"):
        assert foreign not in page
    words = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.S)
    assert not re.search(r"\b(nan|inf|None|undefined)\b", words)
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        assert "nan" not in svg
        ElementTree.fromstring(svg)
    assert len(page.encode()) < 400_000
    return " ".join(words.split())


def test_all_facts_are_on_the_page():
    page = make_fit_page(make_facts())
    words = check(page)
    for told in (
        "payments.parquet", "From 60 labelled anomalies the method (deviation ensemble) learned",
        "above 2.34 is an alert (at most 1% false alarms)", "a note", "P11", "1 in 2,000", "P77",
        "amount 9,120 is far above typical 74 +3.1", "hour 3: at night −1.25", "no colon",
        "75%", "typical 74", "8.0%", "payment_id an identifier", "n_trees 64", "margin 5",
        "random_state not set", "is_quick yes", "devnet 1.0", "true precision is higher", "2 more",
    ):  # fmt: skip
        assert told in words, told
    assert page.count("<svg") == 4
    assert words.index("amount 75%") < words.index("city 25%")
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_a_page_is_the_same_each_time():
    assert make_fit_page(make_facts()) == make_fit_page(make_facts())


def test_bars_are_as_long_as_contributions():
    widths = re.findall(r'class="bar( down)?"><i style="width:(\d+)%"', make_fit_page(make_facts()))
    assert widths[:2] == [("", "100"), (" down", "40")]


def test_foreign_text_is_escaped_everywhere():
    page = make_fit_page(
        make_facts(
            table=NASTY,
            method=NASTY,
            summary=[(NASTY, NASTY)],
            policy=NASTY,
            columns=[Column(NASTY, NASTY, NASTY, 0.5)],
            importance={NASTY: 1.0},
            left_out={NASTY: NASTY},
            alerts=[Alert(NASTY, 1.0, 0.5, [NASTY, f"{NASTY}: +1"], NASTY)],
            parameters={NASTY: NASTY},
            versions={NASTY: NASTY},
            notes=[NASTY],
        )
    )
    check(page)
    assert page.count("&lt;script&gt;") >= 17


def test_of_many_columns_the_most_important_are_open():
    columns = [Column(f"column {i}", "number", "typical 1", 0.1) for i in range(400)]
    importance = {f"column {i}": i / 79800 for i in range(400)}
    page = make_fit_page(make_facts(columns=columns, importance=importance))
    words = check(page)
    shown, folded = words.split("370 more columns")
    assert "column 399 " in shown
    assert "column 370 " in shown
    assert "column 369 " in folded
    assert "column 0 " in folded


def test_more_columns_than_anybody_reads_are_counted():
    columns = [Column(f"column {i}", "number", "typical 1", 0.1) for i in range(5000)]
    words = check(make_fit_page(make_facts(columns=columns, importance={})))
    assert "4,000 further columns are not shown" in words
    assert "Importance" not in words


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"alerts": []}, "no rows to show"),
        ({"alerts": [Alert("1", 1.0, 1.0, [], None)]}, "below the threshold"),
        ({"labelled": np.array([2.0])}, "From 1 labelled anomaly the method"),
        ({"labelled": np.array([2.0])}, "fewer than 5 labelled anomalies nothing"),
        ({"labelled": np.array([])}, "no rows to draw curves of"),
        ({"labelled_unseen": False}, "learned from all labelled anomalies"),
        ({"unlabelled": np.arange(20.0)}, "20 unlabelled rows are too few"),
        ({"unlabelled": np.array([]), "labelled": np.array([])}, "no scores to draw"),
        ({"unlabelled": np.ones(500)}, "have the same score"),
        ({"unlabelled": np.ones(500), "labelled": np.ones(7), "threshold": 1.0}, "0.50"),
        ({"unlabelled": np.full(300, -1e12), "labelled": np.full(9, 1e12)}, "1.00 (1.00 to 1.00)"),
        ({"unlabelled": np.append(np.arange(300.0), [np.nan, np.inf])}, "300 unlabelled rows"),
        ({"nominal": None}, "calibrated"),
        ({"threshold": np.inf}, "score above unknown"),
        ({"columns": [], "importance": {}}, "Nothing is known about the columns"),
        ({"importance": {"amount": 0.0}}, "0%"),
        ({"parameters": {}, "versions": {}, "notes": [], "summary": [], "policy": ""}, "Settings"),
        ({"table": "x" * 10_000, "left_out": {"y" * 10_000: "z"}}, "xxx…"),
        ({"alerts": [Alert("1", 1.0, 0.1, ["a: +1e999", "b: +-3", ": +1"], None)]}, "b: +-3"),
    ],
)
def test_unusual_facts_make_a_whole_page(changed, told):
    assert told in check(make_fit_page(make_facts(**changed)))


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


def test_calibrated_shares_lie_in_the_band_and_a_wrong_prior_does_not():
    every = [
        calibrate(np.random.default_rng(seed).standard_t(2, size=2000), norm.sf)
        for seed in range(40)
    ]
    inside = [(one.low <= one.calibrated) & (one.calibrated <= one.high) for one in every]
    assert 0.9 < np.mean(inside) < 0.995
    found = every[0]
    at_one_percent = np.argmin(abs(LEVELS - 0.01))
    assert found.nominal[at_one_percent] > 2 * found.high[at_one_percent]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.2, 11), (1e6, 1e6 + 3), (-1e-5, 2e-5)])
def test_ticks_are_few_and_inside(low, high):
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert low <= ticks[0] < ticks[-1] <= high * (1 + 1e-9)


def test_numbers_are_written_for_people():
    assert [in_digits(v) for v in (0, 12345.6, 3.14159, 0.0123, -2.5, 100, np.nan)] == [
        "0", "12,346", "3.14", "0.012", "-2.50", "100", "unknown",
    ]  # fmt: skip
    assert [in_percent(v) for v in (0, 0.00001, 0.0012, 0.034, 0.5, 1)] == [
        "0%", "< 0.01%", "0.12%", "3.4%", "50%", "100%",
    ]  # fmt: skip
    assert [one_in(v) for v in (1 / 20_001, 0.01, 0.3, 1, 0)] == [
        "1 in 20,000", "1 in 100", "30%", "100%", "unknown",
    ]  # fmt: skip
    assert short("a" * 1000).endswith("a…")
