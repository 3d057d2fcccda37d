"""The page of a comparison tells all its facts, in one well-formed file, whatever they are."""

import re

import numpy as np
from support.pages import NASTY, check

from devnet.experiments.advice import SplitResult, advise, choose_method, evaluate
from devnet.experiments.comparison import Comparison
from devnet.experiments.contest import RECALLS
from devnet.report.comparison_page import make_comparison_page

QUALITIES = {
    "PU trees": 0.62,
    "gradient boosting": 0.55,
    "logistic regression": 0.5,
    "REPEN": 0.45,
    "iForest": 0.4,
    "FSNet": 0.3,
    "deviation ensemble": 0.2,
    "DevNet": 0.1,
}


def make_found(qualities=QUALITIES, n_splits=9, **changed):
    generator = np.random.default_rng(0)
    runs = {}
    for method, quality in qualities.items():
        values = quality + 0.02 * generator.normal(size=n_splits)
        curves = [value * (1.2 - RECALLS) for value in values]
        runs[method] = [
            SplitResult(value, 0.9, curve, 0.01 if method == "iForest" else 1.5)
            for value, curve in zip(values.tolist(), curves, strict=True)
        ]
    to_beat = choose_method(runs, 0.6, 1 / 3)
    evaluated = evaluate(runs, to_beat, 1 / 3)
    verdict = advise(evaluated, to_beat, by_chance=0.6)
    found = Comparison(
        "payments.parquet", "fraud", "1", 200_000, 60, 100_000, n_splits, 0.0003, to_beat,
        evaluated, {"mine:Own": "it wants more memory"}, *verdict,
    )  # fmt: skip
    return found._replace(**changed)


def test_all_facts_are_on_the_page():
    found = make_found()
    page = make_comparison_page(found)
    words = check(page)
    ours, best = (next(o for o in found.methods if o.method == m) for m in ("DevNet", "PU trees"))
    for told in (
        "Which method suits payments.parquet?", found.advice, "rows 200,000",
        "labelled, fraud = 1 60", "unlabelled rows compared 100,000", "splits 9",
        "AUC-PR by chance 0.0003",
        f"PU trees {best.auc_pr.mean:.3f}", f"{best.auc_pr.low:.3f} to {best.auc_pr.high:.3f}",
        f"{best.auc_pr.low:.3f} to {best.auc_pr.high:.3f} 0.900 – 1.5",
        f"{ours.lead.mean:.3f} {ours.lead.low:.3f} to {ours.lead.high:.3f}".replace("-", "−"),
        "Lead over PU trees", "under 0.1", "mine:Own it wants more memory",
        "3 parts at random, 3 times.", "count as normal for all methods",
        "a random sample of the table's", "folds 3", "repeats 3", "numpy",
    ):  # fmt: skip
        assert told in words, told
    assert words.index("Take PU trees") < words.index("200,000")
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_methods_stand_in_the_order_of_their_quality_and_one_is_taken():
    page = make_comparison_page(make_found())
    names = re.findall(r'<tr( class="taken")?><td><span class="name">(.*?)</span>', page)
    assert [name for _, name in names] == list(QUALITIES)
    assert [name for taken, name in names if taken] == ["PU trees"]


def test_five_curves_are_drawn_always_those_of_devnet_and_the_recommended_method():
    page = make_comparison_page(make_found())
    legend = re.findall(r'<span class="line c(\d)"></span>(.*?)</li>', page)
    assert [name for _, name in legend] == [
        "PU trees", "gradient boosting", "logistic regression", "deviation ensemble", "DevNet",
    ]  # fmt: skip
    assert [int(colour) for colour, _ in legend] == [0, 1, 2, 3, 4]
    assert page.count("<polyline") == page.count("<polygon") == 5
    assert "The chart shows 5 of 8 methods" in page


def test_a_method_that_is_taken_is_drawn_however_it_is_placed():
    page = make_comparison_page(make_found(recommended="FSNet"))
    assert len(re.findall(r'<span class="line c\d"></span>', page)) == 5
    assert re.search(r'<span class="line c\d"></span>FSNet', page)


def test_pictures_are_on_one_scale():
    found = make_found()
    page = make_comparison_page(found)
    pictures = re.findall(r'<svg[^>]*aria-label="AUC-PR.*?</svg>', page, re.S)
    places = [float(re.search(r'cx="([\d.]+)"', picture)[1]) for picture in pictures]
    means = [one.auc_pr.mean for one in found.methods]
    slopes = np.diff(places) / np.diff(means)
    assert np.allclose(slopes, slopes[0], rtol=0.05)
    assert "<span>0</span><span>0.8</span>" in page
    for picture, one in zip(pictures, found.methods, strict=True):
        low, high = re.search(r'class="c0" x1="([\d.]+)" x2="([\d.]+)"', picture).groups()
        assert float(low) < places[found.methods.index(one)] < float(high)


def test_a_single_method_has_no_leads():
    found = make_found({"PU trees": 0.5}, failed={}, n_unlabelled=199_940)
    words = check(make_comparison_page(found))
    for untold in ("Lead over", "Left out", "a random sample", "The chart shows"):
        assert untold not in words
    assert "compared with no other method" in words


def test_a_single_repeat_is_told():
    words = check(make_comparison_page(make_found(n_splits=3)))
    assert "at random, once." in words
    assert "After a single repeat they are wide" in words


def test_quality_near_chance_and_perfect_quality_are_drawn():
    for quality in (0.0, 1.0):
        qualities = {"PU trees": quality, "deviation ensemble": quality}
        check(make_comparison_page(make_found(qualities)))


def test_low_precision_does_not_lie_flat():
    page = make_comparison_page(make_found({"PU trees": 0.08, "deviation ensemble": 0.07}))
    svg = next(s for s in re.findall(r"<svg.*?</svg>", page, re.S) if "Precision and recall" in s)
    highest = [
        min(float(point.split(",")[1]) for point in points.split())
        for points in re.findall(r'<polyline class="c\d" points="(.*?)"', svg)
    ]
    assert len(highest) == 2
    assert min(highest) < 220 / 2  # the better one is in the upper half of the picture


def test_foreign_text_is_escaped_everywhere():
    found = make_found({NASTY: 0.5, f"{NASTY}2": 0.4}, table=NASTY, label=NASTY, anomaly=NASTY)
    page = make_comparison_page(found._replace(failed={NASTY: NASTY}, advice=NASTY))
    check(page)
    assert page.count("&lt;script&gt;") >= 14


def test_a_page_is_the_same_each_time():
    assert make_comparison_page(make_found()) == make_comparison_page(make_found())


def test_the_page_tells_that_the_past_ranked_the_future_and_what_was_kept_together():
    found = make_found(
        n_splits=6, time="booked", group="customer", notes=["7 rows equal another one."]
    )
    words = check(make_comparison_page(found))
    for told in (
        "Rows were ordered by booked. In each of 6 windows",
        "Rows with the same customer were never on both sides: those of a window were not learned",
        "7 rows equal another one.", "time booked", "windows 6", "group customer",
    ):  # fmt: skip
        assert told in words, told
    for untold in ("parts at random", "folds 3", "repeats"):
        assert untold not in words


def test_methods_that_cannot_be_told_from_the_one_taken_are_marked():
    found = make_found({"PU trees": 0.5, "DevNet": 0.499, "deviation ensemble": 0.2})
    assert found.undecided == ["DevNet"]
    words = check(make_comparison_page(found))
    assert words.count("may be as good") == 2
    assert "DevNet may be as good" in words
    assert "Cannot tell PU trees and DevNet apart" in words
    assert "may be as good" not in check(make_comparison_page(make_found()))
