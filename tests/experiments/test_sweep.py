"""Figures 3 and 4: eight methods over the values of a setting, with averages and ranks."""

import json
import re

import pytest
from support.experiments import experiment, runs

from devnet.cli.table_text import json as table_json
from devnet.experiments.cells import Cells
from devnet.experiments.figures import figures
from devnet.experiments.sweep import standing
from devnet.experiments.tables import tables
from devnet.report.charts import chart, legend
from devnet.report.experiments_page import make_page

METHODS = [f"method {letter}" for letter in "ABCDEFGH"]
VALUES = [5, 15, 30]
SETS = ["donors", "thyroid", "fraud"]
FEWER = [{"datasets": ["fraud"], "methods": METHODS[-1:], "runs": 0, "reason": "an hour per run"}]


def eight(skip=()):
    """Method A is the best everywhere but on thyroid with 5 labels, where B is."""
    made = experiment(
        paper="Figure 3",
        runs=3,
        grid=[{"n_labelled": VALUES}],
        datasets=SETS,
        methods={name: {"method": "DevNet"} for name in METHODS},
        fewer=FEWER,
    )
    records = []
    for dataset in SETS:
        for n in VALUES:
            for i, method in enumerate(METHODS):
                mean = 0.9 - 0.1 * i
                if (dataset, n) == ("thyroid", 5):
                    mean = {0: 0.65, 1: 0.95}.get(i, mean)
                settings = {"n_labelled": n}
                spread = [mean - 0.01, mean, mean + 0.01]
                records += runs(dataset, method, spread, settings=settings)
    if skip:
        records = [r for r in records if (r.dataset, r.method) not in skip]
    return made, records


def texts(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_methods_are_averaged_and_ranked_over_the_sets_that_all_have():
    made, records = eight(skip=[("fraud", METHODS[-1])])
    found = standing(Cells(made, records), "AUC-PR")
    assert found.datasets == ["donors", "thyroid"]
    assert found.averages[0] == pytest.approx([0.775, 0.9, 0.9])
    assert found.ranks[0] == pytest.approx((5 * 1 + 3) / 6)  # third on thyroid with 5 labels
    assert found.ranks[1] == pytest.approx((5 * 2 + 1) / 6)
    assert found.ranks[7] == 8


def test_a_method_without_runs_on_most_sets_is_not_compared():
    made, records = eight(skip=[("fraud", METHODS[-1]), ("donors", METHODS[-1])])
    found = standing(Cells(made, records), "AUC-PR")
    assert (found.methods, found.datasets) == (METHODS[:-1], SETS)
    table, of_sets = tables(made, records)[:2]
    assert [row[0].text for row in table.rows] == METHODS[:-1]
    assert "Averages and ranks leave out method H: no runs on most sets." in table.notes
    assert "thyroid, method H" in [row[0].text for row in of_sets.rows]


def test_equal_means_share_a_rank():
    made, records = eight()
    found = standing(Cells(made, records), "AUC-ROC")  # all are 0.5
    assert set(found.ranks) == {4.5}


def test_the_first_table_shows_one_line_for_each_method_with_its_average_rank():
    made, records = eight(skip=[("fraud", METHODS[-1])])
    table = tables(made, records)[0]
    assert table.title == "AUC-PR by labelled anomalies, average of 2 sets"
    assert table.header == ["Method", "5", "15", "30", "all", "average rank"]
    assert texts(table)["method A"] == ["0.775", "0.900", "0.900", "0.858", "1.33"]
    best = {row[0].text: [cell.is_best for cell in row[1:]] for row in table.rows}
    assert best["method A"] == [False, True, True, True, True]
    assert best["method B"] == [True, False, False, False, False]
    assert any("leave out fraud: not every method has runs there" in n for n in table.notes)


def test_both_metrics_and_every_set_have_a_table():
    made, records = eight()
    shown = tables(made, records)
    assert [table.title for table in shown] == [
        "AUC-PR by labelled anomalies, average of 2 sets",
        "AUC-PR by labelled anomalies",
        "AUC-ROC by labelled anomalies, average of 2 sets",
        "AUC-ROC by labelled anomalies",
    ]
    assert len(shown[1].rows) == 3 * 8
    assert [row[0].text for row in shown[1].rows][:2] == ["donors, method A", "donors, method B"]
    assert json.loads(table_json(shown))


def test_a_cell_of_fewer_runs_says_how_many_and_the_reason_is_a_note():
    made, records = eight(skip=[("fraud", METHODS[-1])])
    records = [r for r in records if (r.dataset, r.method, r.seed) != ("donors", "method C", 2)]
    shown = tables(made, records)
    assert texts(shown[1])["donors, method C"][0] == "0.695 ± 0.007 (2 runs)"
    assert texts(shown[1])["donors, method A"][0] == "0.900 ± 0.010"
    assert texts(shown[1])["fraud, method H"] == ["-", "-", "-"]
    assert "No runs for method H, fraud: an hour per run." in shown[-1].notes


def test_the_figures_show_both_metrics_the_average_and_every_set():
    made, records = eight(skip=[("fraud", METHODS[-1])])
    precision, roc = figures(made, records)
    assert precision.title == "AUC-PR by labelled anomalies"
    assert roc.title == "AUC-ROC by labelled anomalies"
    assert [panel.title for panel in precision.panels] == ["average of 2 sets", *SETS]
    assert "Average rank over sets and values: method A 1.3, method B 1.8" in precision.caption
    assert "Fewer runs: no runs for method H, fraud: an hour per run." in precision.caption
    assert [series.name for _, series in legend(precision.panels)] == METHODS
    assert len({colour for colour, _ in legend(precision.panels)}) == 8


def test_eight_bands_are_not_drawn_over_each_other_but_told():
    made, records = eight()
    panel = figures(made, records)[0].panels[1]
    drawn = chart(panel)
    assert "polygon" not in drawn
    assert drawn.count("<circle") == 8 * 3
    assert re.search(r"method A, 5: 0\.900 \(0\.875 to 0\.925\)", drawn)


def test_two_methods_keep_their_bands():
    made, records = eight()
    few = [record for record in records if record.method in METHODS[:2]]
    figure = figures(made, few)[0]
    assert chart(figure.panels[1]).count("polygon") == 2
    assert "Bands are 95% intervals" in figure.caption


def test_the_page_shows_eight_methods():
    page = make_page([eight()])
    assert all(name in page for name in METHODS)
    assert page.count("<svg") == 2 * 4
