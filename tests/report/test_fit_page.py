"""The page of a fit tells all its facts, in one well-formed file, whatever they are."""

import re
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm
from support.pages import NASTY, check

from devnet.report.fit_page import Alert, FitFacts, make_fit_page
from devnet.tables.columns.spread import Place, Spread
from devnet.tables.explainer import Reason


class Column(NamedTuple):
    name: str
    kind: str
    detail: str
    missing: float


def make_facts(**changed):
    generator = np.random.default_rng(0)
    reasons = [
        Reason("amount", 3.125, "amount 9,120 is far above typical 74: +3.1"),
        Reason("hour", -1.25, "hour 3: at night: -1.2"),
        Reason("city", 0.0, "no colon"),
    ]
    facts = FitFacts(
        table="payments.parquet",
        method="deviation ensemble",
        summary=[("rows", "2,060"), ("labelled anomalies", "60")],
        n_rows=2060,
        n_labelled=60,
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


def test_all_facts_are_on_the_page():
    page = make_fit_page(make_facts())
    words = check(page)
    for told in (
        "payments.parquet", "method (deviation ensemble) learned from 60 labelled anomalies what",
        "above 2.34 is an alert (at most 1% false alarms)", "a note", "P11", "1 in 2,000", "P77",
        "amount 9,120 is far above typical 74 +3.1 ", "hour 3: at night −1.2 ", "no colon",
        "75%", "typical 74", "8%", "payment_id an identifier", "n_trees 64", "margin 5",
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
            alerts=[Alert(NASTY, 1.0, 0.5, [Reason(NASTY, 1.0, f"{NASTY}: +1")], NASTY)],
            parameters={NASTY: NASTY},
            versions={NASTY: NASTY},
            notes=[NASTY],
        )
    )
    check(page)
    assert page.count("&lt;script&gt;") >= 16


def with_place(at=60.0):
    spread = Spread((2, 18), (900, 100), 20, 1000, points=(36.0, 60.0))
    reason = Reason("term", 2.0, "term 60, as 90% of anomalies: +2.0", Place(at, spread))
    values = {"term": 60, "zip": "00501", "note": NASTY, "paid": None}
    return Alert("000042", 5.0, 0.001, [reason], None, values, [f"{i:06}" for i in range(12)])


def test_a_card_has_the_row_s_own_values_and_those_like_it():
    page = make_fit_page(make_facts(alerts=[with_place()]))
    words = check(page)
    assert "4 values of this row term 60 zip 00501 note &lt;script&gt;" in words
    assert "12 more rows are nearly the same 000000, 000001, 000002, " in words
    assert "000010, 000011" in words  # all of them, so that a search finds them
    assert '<details class="values">' in page


def test_a_card_shows_where_the_value_stands_in_its_column():
    page = make_fit_page(make_facts(alerts=[with_place()]))
    assert page.count("<svg") == 5
    assert 'aria-label="term, 60: 90% of anomalies and 10% of other rows"' in page
    assert "the line marks this row" in check(page)
    missing = make_fit_page(make_facts(alerts=[with_place(None)]))
    assert missing.count("<svg") == 4
    assert "the line marks this row" not in check(missing)


def test_tools_appear_only_where_a_script_can_run():
    page = make_fit_page(make_facts())
    assert '<form class="tools" hidden>' in page
    assert page.count("<script>") == 1
    assert '<form class="tools"' not in make_fit_page(make_facts(alerts=[]))


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
        ({"alerts": []}, "No rows to show"),
        ({"alerts": [Alert("1", 1.0, 1.0, [], None)]}, "as high: 100% no alert"),
        ({"n_labelled": 1}, "learned from 1 labelled anomaly what"),
        (
            {"labelled": np.array([2.0])},
            "fewer than 5 labelled anomalies, the uncertainty of these curves is unknown",
        ),
        ({"labelled": np.array([])}, "No rows to draw curves from"),
        ({"labelled_unseen": False}, "learned from all labelled anomalies"),
        ({"unlabelled": np.arange(20.0)}, "20 unlabelled rows are too few"),
        ({"unlabelled": np.array([]), "labelled": np.array([])}, "No scores to draw"),
        ({"unlabelled": np.ones(500)}, "Too many unlabelled rows share a score"),
        ({"unlabelled": np.ones(500), "labelled": np.ones(7), "threshold": 1.0}, "0.50"),
        ({"unlabelled": np.full(300, -1e12), "labelled": np.full(9, 1e12)}, "1.00 (1.00 to 1.00)"),
        ({"unlabelled": np.append(np.arange(300.0), [np.nan, np.inf])}, "300 unlabelled rows"),
        ({"nominal": None}, "calibrated"),
        ({"threshold": np.inf}, "No row of the table is an alert (at most 1% false alarms)."),
        ({"columns": [], "importance": {}}, "Columns are unknown"),
        ({"importance": {"amount": 0.0}}, "0%"),
        ({"parameters": {}, "versions": {}, "notes": [], "summary": [], "policy": ""}, "Settings"),
        ({"table": "x" * 10_000, "left_out": {"y" * 10_000: "z"}}, "xxx..."),
        ({"alerts": [Alert("1", 1.0, 0.1, [Reason("a", np.inf, "a: +inf")], None)]}, "a unknown"),
        ({"alerts": [Alert("1", 1.0, 0.1, [Reason("a", 1.0, ": +1")], None)]}, ": +1 +1"),
    ],
)
def test_unusual_facts_make_a_whole_page(changed, told):
    assert told in check(make_fit_page(make_facts(**changed)))


@pytest.mark.parametrize("threshold", [np.inf, np.nan])
def test_without_a_threshold_nothing_is_said_of_one(threshold):
    words = check(make_fit_page(make_facts(threshold=threshold)))
    for untold in ("threshold", "unknown", "no alert", "score above", "alerts →"):
        assert untold not in words


def test_bars_and_numbers_are_of_the_contribution_and_not_of_the_words():
    reasons = [Reason("a", 120.0, "a is 3: +120.0"), Reason("b", -30.0, "b at 12:30: 5: -30.0")]
    page = make_fit_page(make_facts(alerts=[Alert("1", 9.0, 0.1, reasons, None)]))
    assert "a is 3 +120.0 b at 12:30: 5 −30.0 " in check(page)
    widths = re.findall(r'class="bar( down)?"><i style="width:(\d+)%"', page)
    assert widths == [("", "100"), (" down", "25")]


def test_all_labelled_anomalies_are_counted_though_some_are_drawn():
    words = check(make_fit_page(make_facts(n_labelled=1234, n_rows=9000)))
    assert "learned from 1,234 labelled anomalies what" in words
    assert "60 of 1,234 labelled anomalies threshold 2.34" in words
    assert "60 of 1,234 labelled anomalies against 2,000 unlabelled rows" in words
    assert re.search(r"are \d+ of 60 labelled anomalies shown here and", words)
    words = check(make_fit_page(make_facts()))
    assert "shown here" not in words
    assert "did not learn from it 60 labelled anomalies threshold" in words


def test_precision_is_said_to_be_that_among_the_rows_drawn():
    lower = "the table of 200,000 rows has more unlabelled rows per labelled anomaly"
    among = "alerts among these 2,060 rows that are labelled"
    words = check(make_fit_page(make_facts(n_rows=200_000)))
    assert lower in words
    assert among in words
    words = check(make_fit_page(make_facts()))
    assert "the table of" not in words
    assert among in words
