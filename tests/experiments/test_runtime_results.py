"""Seconds and memory of methods by size, how they grow, and how they compare."""

from dataclasses import replace

import pytest
from support.experiments import experiment, runs

from devnet.experiments.cells import Cells
from devnet.experiments.figures import figures
from devnet.experiments.runtime_results import growth_of, larger_half
from devnet.experiments.tables import tables

GRID = [
    {"n_rows": [100, 1_000, 10_000, 100_000], "n_columns": [10]},
    {"n_rows": [100], "n_columns": [10, 100]},
]
METHODS = {name: {"method": "DevNet"} for name in ("Def", "Rep")}
TIMED = experiment(
    measure="runtime", paper="", grid=GRID, datasets=["synthetic"], methods=METHODS, runs=3
)


@pytest.fixture
def records():
    """Def fits in constant time and scores linearly; Rep takes ten times as long for both."""
    return [
        replace(
            one,
            dataset="synthetic",
            peak_memory_mb=200 + s["n_rows"] / 1000,
            seconds={
                "fit": factor * (1 + seed / 10),
                "score": factor * s["n_rows"] * s["n_columns"] ** 2 / 1e6,
            },
        )
        for s in TIMED.settings
        for method, factor in (("Def", 1), ("Rep", 10))
        for seed, one in enumerate(
            runs("synthetic", method, [0, 0, 0], settings=s, measure="runtime")
        )
    ]


def texts(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def test_tables_show_medians_slopes_ratios_and_memory(records):
    made = {table.title: table for table in tables(TIMED, records)}
    assert len(made) == 10
    fit = made["Median seconds to fit, by rows"]
    assert fit.header == ["Method", "100", "1,000", "10,000", "100,000", "slope"]
    assert texts(fit)["Def"][:2] == ["1.100", "1.100"]
    score = texts(made["Median seconds to score, by rows"])
    assert score["Rep"][-1] == "1.00 (1.00 to 1.00)"
    assert texts(made["Median seconds to score, by columns"])["Def"][-1].startswith("2.00")
    ratio = texts(made["Seconds to fit and score as a multiple of Def's, by rows"])
    assert ratio == {"Rep": ["10.0"] * 4}
    memory = texts(made["Median peak memory in MB, by rows"])
    assert memory["Def"] == ["200", "201", "210", "300"]


def test_one_method_alone_is_not_compared(records):
    made = tables(TIMED, [one for one in records if one.method == "Def"])
    assert all(table.rows for table in made)
    assert not [table for table in made if "multiple" in table.title]


def test_slopes_are_of_the_larger_half_where_fixed_costs_do_not_hide_growth(records):
    assert [s["n_rows"] for s in larger_half(TIMED.growths()[0][1])] == [10_000, 100_000]
    cells = Cells(TIMED, records)
    assert growth_of(cells, "Def", "score", "n_rows").slope == pytest.approx(1)
    low, high = growth_of(cells, "Def", "fit", "n_rows")[1:]
    assert low < 0 < high


def test_figures_have_fitting_and_scoring_apart_by_rows_and_columns(records):
    (figure,) = figures(TIMED, records)
    titles = ["fit, by rows", "score, by rows", "fit, by columns", "score, by columns"]
    assert [panel.title for panel in figure.panels] == titles
    assert all([s.name for s in panel.series] == ["Def", "Rep"] for panel in figure.panels)


def test_a_method_without_runs_yet_leaves_the_others_their_figures(records):
    some = [one for one in records if one.method == "Def" or one.settings["n_rows"] < 1_000]
    made = {table.title: texts(table) for table in tables(TIMED, some)}
    assert made["Median seconds to fit, by rows"]["Rep"] == ["11.000", "-", "-", "-", "-"]
    assert len(figures(TIMED, some)[0].panels) == 4
