"""Parameters varied one at a time: the plan, the curves and the largest loss."""

import pytest
from support.experiments import runs

from devnet import GaussianPrior
from devnet.experiments.figures import figures
from devnet.experiments.plan import read_experiment
from devnet.experiments.tables import tables
from devnet.experiments.variations import decoded
from devnet.report.experiments_page import make_page

FILE = """
title = "Varied"
question = "Does it depend on its parameters?"
measure = "ranking"
runs = 2
datasets = ["thyroid"]
methods = ["DevNet"]

[[grid]]
n_labelled = [30]

[[vary]]
name = "margin"
parameter = "margin"
values = [1, 5, 20]

[[vary]]
name = "prior mean"
parameter = "reference.GaussianPrior.mean"
values = [-2, 0]

[[vary]]
name = "hidden units"
parameter = "hidden"
values = [[10], [20]]
"""


@pytest.fixture
def varied(tmp_path):
    (tmp_path / "varied.toml").write_text(FILE)
    return read_experiment("varied", tmp_path)


@pytest.fixture
def records(varied):
    values = {
        "DevNet": [0.5, 0.7],
        "margin 1": [0.3, 0.4],
        "margin 20": [0.6, 0.8],
        "prior mean -2": [0.5, 0.7],
        "hidden units 10": [0.6, 0.8],
    }
    return [
        one
        for method, found in values.items()
        for one in runs("thyroid", method, found, parameters=varied.methods[method])
    ]


def test_each_value_but_the_default_is_a_method_of_its_own(varied):
    assert varied.methods == {
        "DevNet": {"method": "DevNet"},
        "margin 1": {"method": "DevNet", "margin": 1},
        "margin 20": {"method": "DevNet", "margin": 20},
        "prior mean -2": {"method": "DevNet", "reference": {"GaussianPrior": [-2, 1.0, 5000]}},
        "hidden units 10": {"method": "DevNet", "hidden": [10]},
    }
    margin, mean, hidden = varied.vary
    assert margin.methods == ["margin 1", "DevNet", "margin 20"]
    assert (mean.values, mean.default) == ([-2, 0], 0)
    assert hidden.values == [10, 20]
    assert len(varied.plan()) == 5 * 2
    prior = decoded(varied.methods["prior mean -2"])["reference"]
    assert prior == GaussianPrior(mean=-2)


def test_none_is_a_word():
    assert decoded({"method": "DSVDD", "margin": "none"}) == {"method": "DSVDD", "margin": None}


def test_the_table_names_the_lowest_the_highest_and_the_largest_loss(varied, records):
    ranges, by_margin, *_ = tables(varied, records)
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in ranges.rows}
    values, default, lowest, highest, loss, at = rows["margin, thyroid"]
    assert (values, default, at) == ("1 to 20", "0.600", "1")
    assert lowest.startswith("0.350")
    assert lowest.endswith("at 1")
    assert highest.endswith("at 20")
    assert loss.startswith("0.250 (")
    assert rows["hidden units, thyroid"][4].startswith("-0.100")  # the default is the worst
    assert by_margin.header == ["Data", "1", "5", "20"]


def test_the_page_draws_a_curve_for_each_parameter(varied, records):
    (figure,) = figures(varied, records)
    assert [panel.x_label for panel in figure.panels] == ["margin", "prior mean", "hidden units"]
    assert [panel.is_log_x for panel in figure.panels] == [True, False, False]
    page = make_page([(varied, records)])
    assert page.count("<svg") == 3
    assert "nan" not in page.split("</style>")[1].replace("finance", "")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[1, 5, 20]", "[1, 20]", "lacks the default, 5.0"),
        ('"margin"\nvalues', '"margins"\nvalues', "margins"),
        ("GaussianPrior.mean", "GaussianPrior.median", "median"),
        ("values = [[10], [20]]", "values = [[10, 5], [20]]", "width of one layer"),
        ('methods = ["DevNet"]', 'methods = ["nobody"]', "nobody"),
        ("[1, 5, 20]", "[-1, 5]", "margin"),
    ],
)
def test_a_wrong_variation_gets_a_sentence(tmp_path, old, new, sentence):
    (tmp_path / "varied.toml").write_text(FILE.replace(old, new))
    with pytest.raises(ValueError, match=sentence):
        read_experiment("varied", tmp_path)
