"""Tables show the runs' means, the paper's figures, the best and the tests."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.experiments import experiment, runs

from devnet.datasets.catalogue import DATASETS
from devnet.detectors.methods import RECOMMENDED
from devnet.experiments.cells import Cells, differing_cells, differing_data
from devnet.experiments.measures import LEVELS
from devnet.experiments.published import TABLE_1, TABLE_2
from devnet.experiments.results import read_results
from devnet.experiments.statistics import summarise
from devnet.experiments.tables import tables


def as_published(table=TABLE_2, places=(0, 1)):
    """Two runs of each cell, both exactly the paper's figures."""
    return [
        replace(one, metrics={"AUC-ROC": figures[places[0]], "AUC-PR": figures[places[1]]})
        for dataset, row in table.items()
        for method, figures in row.items()
        for one in runs(dataset, method, [0, 0])
    ]


def texts(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_the_paper_s_figures_give_the_paper_s_table():
    auc_roc, auc_pr = tables(experiment(), as_published())
    assert auc_pr.header == [
        "Data",
        *(n for m in ("Def", "Rep", "Linear", "3HL") for n in (m, "paper")),
    ]
    shown = texts(auc_pr)
    assert shown["thyroid"][:2] == ["0.274 ± 0.000", "0.274"]
    assert (
        shown["Average"] == ["0.574", "0.574", "0.550", "0.550", "0.442", "0.442"] + ["0.520"] * 2
    )
    assert shown["P-value"] == ["-", "-", "0.105", "0.106", "0.008", "0.008", "0.133", "0.133"]
    assert texts(auc_roc)["P-value"][2::2] == ["0.129", "0.012", "0.023"]
    assert texts(auc_roc)["P-value"][3::2] == ["0.129", "0.012", "0.023"]
    best = {row[0].text: [cell.is_best for cell in row[1::2]] for row in auc_pr.rows}
    assert best["donors"] == [True, False, False, True]  # as in bold type in the paper
    assert best["census"] == [False, True, False, False]
    assert best["Average"] == [True, False, False, False]


def test_methods_that_the_paper_lacks_stand_without_a_published_column():
    methods = {name: {"method": "DevNet"} for name in ("DevNet", "Ours")}
    made = tables(
        experiment(paper="Table 1", methods=methods),
        [*runs("thyroid", "DevNet", [0.2, 0.4]), *runs("thyroid", "Ours", [0.5])],
    )
    assert made[1].header == ["Data", "DevNet", "paper", "Ours"]
    assert texts(made[1])["thyroid"] == ["0.300 ± 0.141", "0.274", "0.500 (1 run)"]


def test_averages_have_an_interval_over_runs():
    records = [*runs("thyroid", "Def", [0.2, 0.4]), *runs("fraud", "Def", [0.4, 0.4])]
    methods = {"Def": {"method": "DevNet"}}
    shown = texts(tables(experiment(methods=methods), records)[1])
    low, high = summarise([0.3, 0.4]).interval
    assert shown["95% interval"][0] == f"{low:.3f} to {high:.3f}"


def test_averages_lie_in_their_intervals_whatever_runs_are_missing():
    records = [*runs("thyroid", "Def", [0.2, 0.4]), *runs("fraud", "Def", np.linspace(0, 1, 10))]
    methods = {"Def": {"method": "DevNet"}}
    shown = texts(tables(experiment(methods=methods, runs=10), records)[1])
    low, high = map(float, shown["95% interval"][0].split(" to "))
    assert shown["Average"][0] == "0.400"
    assert (low + high) / 2 == pytest.approx(0.4, abs=0.001)


def test_the_recommended_method_is_tested_over_sets_and_runs():
    methods = {name: {"method": "DevNet"} for name in ("DevNet", RECOMMENDED)}
    values = np.linspace(0.2, 0.4, 10)
    records = [
        *runs("thyroid", "DevNet", values),
        *runs("thyroid", RECOMMENDED, values + 0.01),
        *runs("fraud", "DevNet", values[:2]),
        *runs("fraud", RECOMMENDED, values + 0.02),  # as many as the other has are paired
    ]
    table = tables(experiment(methods=methods, paper="", runs=10), records)[1]
    assert texts(table)["the same, sets and runs"] == ["<0.001", "-"]
    assert any("over all sets and runs, paired" in note for note in table.notes)


def test_the_recommended_method_is_tested_over_sets():
    methods = {name: {"method": "DevNet"} for name in ("DevNet", RECOMMENDED)}
    records = []
    for place, dataset in enumerate(TABLE_2):
        records += runs(dataset, "DevNet", [0.2, 0.4])
        records += runs(dataset, RECOMMENDED, [0.3 + place / 100, 0.5])
    table = tables(experiment(methods=methods, paper=""), records)[1]
    assert texts(table)[f"P-value, {RECOMMENDED}"] == ["0.004", "-"]


def test_missing_cells_are_dashes_and_missing_runs_are_told():
    records = [*runs("thyroid", "Def", [0.2, 0.4]), *runs("fraud", "Rep", [0.5, 0.5])]
    table = tables(experiment(), records)[1]
    assert texts(table)["thyroid"][2] == "-"
    assert any("runs are missing" in note for note in table.notes)


def test_failures_are_told():
    bad = runs("thyroid", "Rep", [0.1], error="ValueError: no")
    table = tables(experiment(), [*runs("thyroid", "Def", [0.2, 0.4]), *bad])[-1]
    assert "Failed: Rep on thyroid, seed 0: ValueError: no" in table.notes


def test_without_finished_runs_there_is_no_table():
    assert tables(experiment(), []) == []


def test_a_substitute_s_published_figure_is_in_brackets_and_not_averaged():
    substitute = {"description": "other URLs", "data": {"likeness": "substitute"}}
    records = [
        *runs("thyroid", "Def", [0.2, 0.4]),
        *runs("URL", "Def", [0.9, 0.9], **substitute),
    ]
    table = tables(experiment(), records)[1]
    assert texts(table)["URL"] == ["0.900 ± 0.000", "(0.681)"]
    assert texts(table)["Average"] == ["0.300", "0.274"]
    assert "other URLs" in table.notes


def test_only_data_that_are_exactly_the_paper_s_need_no_note():
    records = [
        *runs("thyroid", "Def", [0.1], description="as it is", data={"likeness": "exact"}),
        *runs("thyroid", "Def", [0.1], description="smaller", data={"likeness": "differs"}),
        *runs("census", "Def", [0.1], description="not known"),
        *runs("synthetic", "Def", [0.1], description="synthetic: made for each run."),
    ]
    assert differing_data(records) == ["smaller", "not known"]


def test_every_committed_run_was_on_a_known_copy():
    sizes = {}
    for path in (Path(__file__).parents[2] / "experiments" / "results").glob("*.jsonl"):
        for one in read_results(path):
            if one.dataset in DATASETS:
                sizes.setdefault(one.dataset, set()).add(json.dumps(one.data))
    assert sizes.keys() == DATASETS.keys()
    likeness = {name: json.loads(*found)["likeness"] for name, found in sizes.items()}
    assert {name for name, found in likeness.items() if found == "substitute"} == {"URL", "news20"}
    assert {name for name, found in likeness.items() if found == "differs"} == {"census"}


@pytest.mark.parametrize(("shift", "differs"), [(0.039, False), (0.041, True)])
def test_a_cell_differs_beyond_two_standard_deviations(shift, differs):
    paper = TABLE_1["thyroid"]["DevNet"][2]
    spread = 0.02 / np.sqrt(2)  # two runs at mean +- this have a standard deviation of .02
    records = runs("thyroid", "DevNet", [paper + shift - spread, paper + shift + spread])
    methods = {"DevNet": {"method": "DevNet"}}
    cells = Cells(experiment(paper="Table 1", methods=methods), records)
    assert bool(differing_cells(cells, "AUC-PR")) == differs


def test_a_sweep_has_a_column_for_each_value():
    records = [
        one
        for n, value in [(5, 0.1), (15, 0.3)]
        for dataset in ("thyroid", "fraud")
        for one in runs(dataset, "Def", [value, value + 0.1], settings={"n_labelled": n})
    ]
    table = tables(experiment(paper="", grid=[{"n_labelled": [5, 15]}]), records)[0]
    assert table.title == "AUC-PR by labelled anomalies"
    assert table.header == ["Data", "5", "15"]
    assert texts(table)["Average"] == ["0.150", "0.350"]


def test_significance_shows_a_share_for_each_level():
    metrics = {
        f"{who} beyond {level}": 1 - level for level in LEVELS for who in ("normal", "anomalies")
    }
    records = [
        replace(one, metrics=metrics)
        for one in runs("thyroid", "Def", [0, 0], measure="significance")
    ]
    table = tables(experiment(measure="significance", paper=""), records)[0]
    assert table.header[1:] == texts(table)["thyroid"]


def test_calibration_shows_shares_bands_and_runs_within():
    records = [
        replace(
            one,
            metrics={**dict.fromkeys(("low", "calibrated", "high", "nominal"), 0.01)}
            | {"within": float(one.seed == 0), "within the binomial band": 1.0},
        )
        for share in (0.0, 0.02)
        for one in runs(
            "thyroid", "Def", [0, 0], settings={"contamination": share}, measure="calibration"
        )
    ]
    grid = [{"contamination": [0.0, 0.02]}]
    clean, hidden = tables(experiment(measure="calibration", paper="", grid=grid), records)
    assert clean.title.endswith("0% hidden anomalies")
    assert hidden.title.endswith("2% hidden anomalies")
    expected = ["1.00%", "1.00% to 1.00%", "1 of 2", "2 of 2", "1.00%"]
    assert texts(clean)["thyroid"] == expected
