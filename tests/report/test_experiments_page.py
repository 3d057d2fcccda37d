"""The page is one whole, well-formed file, whatever the results are."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from support.experiments import experiment, runs
from support.pages import Tags

from devnet.experiments.claims import Claim
from devnet.experiments.figures import Panel, Point, Series, figures
from devnet.experiments.measures import LEVELS
from devnet.report.axes import BOTTOM, HEIGHT, TOP
from devnet.report.charts import chart, legend
from devnet.report.experiments_page import make_page

ONE = {"Def": {"method": "DevNet"}}


def sweep(measure="ranking"):
    made = experiment(paper="", measure=measure, grid=[{"n_labelled": [5, 15]}], methods=ONE)
    records = [
        one
        for n in (5, 15)
        for one in runs("thyroid", "Def", [0.1, 0.2], settings={"n_labelled": n})
    ]
    return made, records


def significance():
    metrics = {f"{who} beyond {x}": 0.1 for x in LEVELS for who in ("normal", "anomalies")}
    records = [
        replace(one, metrics=metrics)
        for one in runs("thyroid", "Def", [0, 0], measure="significance")
    ]
    return experiment(measure="significance", paper="", methods=ONE), records


def unknown():
    grid = [{"labelled_kinds": ["all", "all but one"]}]
    metrics = {
        f"{metric}, {kind}": 0.4
        for metric in ("AUC-ROC", "AUC-PR")
        for kind in ("this kind", "other kinds")
    }
    records = [
        replace(one, metrics=metrics)
        for kinds in grid[0]["labelled_kinds"]
        for one in runs(
            "thyroid",
            "Def",
            [0, 0],
            settings={"labelled_kinds": kinds},
            measure="unknown anomalies",
        )
    ]
    return experiment(measure="unknown anomalies", paper="", grid=grid, methods=ONE), records


def runtime():
    grid = [{"n_rows": [100, 1000], "n_columns": [7]}]
    made = experiment(measure="runtime", paper="", grid=grid, datasets=["synthetic"], methods=ONE)
    records = [
        replace(one, seconds={"fit": 0.1, "score": s["n_rows"] / 1e4, "total": 1.0})
        for s in made.settings
        for one in runs("synthetic", "Def", [0, 0], settings=s, measure="runtime")
    ]
    return made, records


def comparison():
    return experiment(), runs("thyroid", "Def", [0.2, 0.4])


def calibration():
    names = ("calibrated", "low", "high", "within", "within the binomial band", "nominal")
    records = [
        replace(one, metrics=dict.fromkeys(names, 0.01))
        for share in (0.0, 0.02)
        for one in runs(
            "thyroid", "Def", [0, 0], settings={"contamination": share}, measure="calibration"
        )
    ]
    grid = [{"contamination": [0.0, 0.02]}]
    return experiment(measure="calibration", paper="", grid=grid, methods=ONE), records


EVERY = [comparison, sweep, significance, calibration, unknown, runtime]


@pytest.mark.parametrize("make", EVERY)
def test_a_page_is_well_formed_and_needs_nothing_else(make):
    page = make_page([make()])
    tags = Tags(page)
    assert all(address.startswith("#") for address in tags.addresses)
    assert "<script" not in page
    assert "url(" not in page
    assert page.count("<svg") >= 1
    assert page.count("<table") >= 1
    assert "nan" not in re.sub(r"<[^>]*>", "", page).lower()
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        ElementTree.fromstring(svg)


CLAIM = Claim(
    id="<one>",
    section="5.8 <Ablation>",
    claim="Def & Rep <differ>",
    published="3%",
    refuted_by='"0%"',
    experiment="made",
    query="improvement",
    ask={"method": "Def", "over": ["Rep"], "datasets": ["thyroid"]},
    follows="<b>Nothing</b> follows",
)


def test_claims_come_first_with_a_colour_and_a_word_for_each_verdict():
    made, records = comparison()
    untestable = replace(CLAIM, query="none", reason="no <machine>")
    missing = replace(CLAIM, experiment="other")
    page = make_page(
        [(made, [*records, *runs("thyroid", "Rep", [0.4, 0.6])])], [CLAIM, untestable, missing]
    )
    assert '<a href="#claims">' in page
    assert page.index('<section id="claims">') < page.index('<section id="made">')
    assert "Of 3 claims, 1 does not hold, 1 cannot be tested here and 1 is not measured" in page
    verdicts = re.findall(r'<td class="verdict"><span class="(\w+)"></span>(.+?)</td>', page)
    assert verdicts == [
        ("fails", "does not hold"),
        ("untestable", "cannot be tested here"),
        ("not_measured", "not measured yet"),
    ]
    for name, _ in verdicts:
        assert f".{name} {{ --verdict:" in page
    assert "<small>Run <code>devnet experiment run other</code>.</small>" in page
    assert "<small>No &lt;machine&gt;.</small>" in page
    assert "<b>Nothing" not in page
    assert "&lt;differ&gt;" in page
    Tags(page)


def test_all_experiments_are_on_one_page():
    page = make_page([make() for make in EVERY])
    assert len(re.findall('<section id="made">', page)) == len(EVERY)
    assert "What differs from the paper" in page
    assert "<dt>devnet</dt>" in page


def test_a_remark_stands_above_all_if_it_is_of_all():
    (first, records), other = sweep(), comparison()
    first = replace(first, remark="One run only.")
    assert "<strong>One run only.</strong>" in make_page([(first, records)])
    both = make_page([(first, records), other])
    assert "<strong>One run only.</strong>" not in both
    assert "One run only. " in both[both.index("<figcaption>") :]


def test_experiments_without_finished_runs_are_left_out():
    failed = [replace(one, error="no") for one in runs("thyroid", "Def", [0.1])]
    assert '<section id="made">' not in make_page([(experiment(), failed)])


def test_foreign_text_is_escaped():
    made, records = comparison()
    failed = runs("thyroid", "Rep", [0.1], error="<script>alert(1)</script> & more")
    page = make_page([(replace(made, title="<b>"), [*records, *failed])])
    Tags(page)
    assert "<script" not in page
    assert "&lt;b&gt;" in page


def test_values_stand_at_their_places():
    series = Series("a & b", [Point(0, 0.0, np.nan, np.nan), Point(1, 1.0, 0.8, 1.2)])
    svg = ElementTree.fromstring(chart(Panel("t", [series], "x", categories=("p", "q"))))
    circles = svg.findall("circle")
    grid = [float(line.get("x1")) for line in svg.findall("line") if line.get("class") == "grid"]
    assert [float(circle.get("cx")) for circle in circles] == [min(grid), max(grid)]
    interval = next(line for line in svg.findall("line") if line.get("class") == "c0")
    assert float(interval.get("x2")) == max(grid)  # cut off at 1
    assert circles[1].find("title").text == "q, a & b: 1.000 (0.800 to 1.200)"


def test_a_method_has_one_colour_in_all_panels_and_the_legend():
    def panel(*names):
        series = [
            Series(name, [Point(0, 0.5, 0.4, 0.6), Point(1, 0.5, 0.4, 0.6)]) for name in names
        ]
        return Panel(names[0], series, "x", "y")

    panels = [panel("a", "c"), panel("a", "b", "c"), panel("c")]
    meant = {series.name: colour for colour, series in legend(panels)}
    assert list(meant) == ["a", "b", "c"]
    assert len(set(meant.values())) == 3
    for one in panels:
        svg = ElementTree.fromstring(chart(one, panels))
        for circle in svg.findall("circle"):
            name = circle.find("title").text.partition(",")[0]
            assert circle.get("class") == f"c{meant[name]}"


@pytest.mark.parametrize("most", [0, 7, 40, 200])
def test_counts_stand_at_their_places_from_zero_on(most):
    counts = [most / 4, most / 2, most]
    points = [Point(20 * i, count, np.nan, np.nan) for i, count in enumerate(counts)]
    panel = Panel("t", [Series("found", points)], "reviews", "found", is_count=True)
    heights = [float(c.get("cy")) for c in ElementTree.fromstring(chart(panel)).findall("circle")]
    bottom, top = HEIGHT - BOTTOM, TOP
    expected = [bottom - count / max(most, 1) * (bottom - top) for count in counts]
    np.testing.assert_allclose(heights, expected, atol=0.1)


def test_a_single_run_has_no_interval():
    made, records = sweep()
    figure, _ = figures(made, [one for one in records if one.seed == 0])
    assert all(np.isnan(point.low) for point in figure.panels[0].series[0].points)
    assert "polygon" not in chart(figure.panels[0])
