"""Each word of the vocabulary of claims against numbers worked out by hand."""

import numpy as np
import pytest
from scipy import stats

from devnet.experiments import claim_statistics as statistics
from devnet.experiments.claim_statistics import Scope

LABELS = [{"n_labelled": n} for n in (5, 10, 20, 40)]


def at(figures):
    """Cells from {method: {set: one value per setting}}; every cell has its mean and one draw."""

    def find(dataset, settings, method):
        value = figures[method][dataset][LABELS.index(settings)]
        return np.array([value, value], dtype=float)

    return find


def scope(*datasets, n=1):
    return Scope(list(datasets), LABELS[:n])


TWO = {
    "A": {"p": [0.6], "q": [0.3]},
    "B": {"p": [0.4], "q": [0.1]},
    "C": {"p": [0.3], "q": [0.3]},
}


@pytest.mark.parametrize(
    ("of", "percent"),
    [("averages", 100 * (0.9 / 0.5 - 1)), ("sets", 100 * ((1.5 + 3) / 2 - 1))],
)
def test_an_improvement_is_of_averages_or_of_sets(of, percent):
    found = statistics.improvement(at(TWO), scope("p", "q"), method="A", over=["B"], of=of)
    assert found == pytest.approx([percent] * 2)


def test_over_several_methods_the_least_or_largest_improvement_counts():
    least, largest = (
        statistics.improvement(at(TWO), scope("p", "q"), method="A", over=["B", "C"], which=which)[
            0
        ]
        for which in ("least", "largest")
    )
    assert (least, largest) == pytest.approx((50, 80))


def test_a_lead_is_over_the_best_of_the_others_in_each_cell():
    found = statistics.lead(at(TWO), scope("p", "q"), method="A", over=["B", "C"])
    assert found[0] == pytest.approx((0.2 + 0.0) / 2)


def test_a_tie_as_tables_write_it_is_a_win():
    figures = {"A": {"p": [0.5], "q": [0.2]}, "B": {"p": [0.5004], "q": [0.201]}}
    assert statistics.wins(at(figures), scope("p", "q"), method="A", over=["B"])[0] == 0.5


def test_wins_by_setting_are_of_averages_over_sets():
    figures = {"A": {"p": [0.9, 0.1], "q": [0.1, 0.1]}, "B": {"p": [0.4, 0.2], "q": [0.4, 0.2]}}
    words = {"method": "A", "over": ["B"]}
    by_setting = statistics.wins(at(figures), scope("p", "q", n=2), **words, by="setting")
    assert by_setting[0] == 0.5
    assert statistics.wins(at(figures), scope("p", "q", n=2), **words)[0] == 0.25


def test_methods_ahead_are_counted():
    found = statistics.ahead(at(TWO), scope("p", "q"), methods=["A", "B"], over="C")
    assert found[0] == 0.5  # averages: A .45, B .25, C .3


def nine(differences):
    names = [f"set {i}" for i in range(len(differences))]
    figures = {
        "A": {name: [0.5 + d] for name, d in zip(names, differences, strict=True)},
        "B": {name: [0.5] for name in names},
    }
    return at(figures), scope(*names)


def test_the_p_value_is_that_of_the_signed_rank_test():
    differences = [0.01, 0.02, 0.03, -0.005, 0.04, 0.05, 0.06, 0.07, 0.08]
    found = statistics.p_value(*nine(differences), method="A", over=["B"])
    assert found == pytest.approx([stats.wilcoxon(differences).pvalue])


def test_of_the_p_values_of_several_methods_the_largest_counts():
    cells, sets = nine([0.01, 0.02, 0.03, -0.005, 0.04, 0.05, 0.06, 0.07, 0.08])
    alone = statistics.p_value(cells, sets, method="A", over=["B"])
    assert statistics.p_values(cells, sets, methods=["A"], over=["B"]) == alone
    assert statistics.p_values(cells, sets, methods=["A", "B"], over=["B"]) == [1]


def test_a_method_that_is_worse_is_not_significantly_better():
    differences = [-0.01, -0.02, -0.03, -0.04, -0.05, -0.06]
    assert statistics.p_value(*nine(differences), method="A", over=["B"])[0] == 1


SWEEP = {
    "A": {"p": [0.5, 0.7, 0.72, 0.8]},
    "B": {"p": [0.2, 0.5, 0.6, 0.7]},
    "C": {"p": [0.6, 0.4, 0.5, 0.45]},
}


def test_a_change_is_from_the_first_to_the_last_setting():
    everything = at(SWEEP), scope("p", n=4)
    assert statistics.change(*everything, method="A")[0] == pytest.approx(0.3)
    assert statistics.change(*everything, method="A", over=["B", "C"])[0] == pytest.approx(-0.2)
    assert statistics.moving(*everything, methods=["A", "B", "C"], up=False)[0] == pytest.approx(
        1 / 3
    )
    assert statistics.kept(*everything, method="C")[0] == pytest.approx(75)
    # A keeps 160%, B 350%
    assert statistics.kept(*everything, method="A", over=["B", "C"])[0] == pytest.approx(-190)


def test_falls_are_from_a_higher_mean_to_a_later_one():
    everything = at(SWEEP), scope("p", n=4)
    assert statistics.falls(*everything, cases=[["A", "p"], ["C", "p"]])[0] == 0.5
    late = {"D": {"p": [0.3, 0.6, 0.4, 0.5]}}  # ends higher than it began, but fell from .6 to .4
    assert statistics.falls(at(late), scope("p", n=4), cases=[["D", "p"]])[0] == 1
    # A never falls; the largest fall of C is from .6 to .4
    assert statistics.steadier(*everything, method="A", over=["C"])[0] == pytest.approx(0.2)


def test_labels_saved_are_those_that_the_contender_needs_to_be_as_good():
    # B needs 40 labels for .7, which A reaches with 10
    found = statistics.labels_saved(at(SWEEP), scope("p", n=4), method="A", over=["B", "C"])
    assert found[0] == pytest.approx(75)


def test_two_equal_methods_save_no_labels_even_where_more_labels_do_not_help():
    flat = {"A": {"p": [0.9] * 4}, "B": {"p": [0.9, 0.9, 0.901, 0.9]}}
    assert statistics.labels_saved(at(flat), scope("p", n=4), method="A", over=["B"])[0] == 0


def test_a_worse_method_saves_no_labels():
    found = statistics.labels_saved(at(SWEEP), scope("p", n=4), method="C", over=["A"])
    assert found[0] == 0  # what A has with 5 labels C has with 5, and .7 is never reached


def test_times_are_compared_in_the_largest_setting():
    figures = {"A": {"p": [1, 2]}, "B": {"p": [9, 20]}, "C": {"p": [9, 4]}}
    everything = at(figures), scope("p", n=2)
    assert statistics.ratio(*everything, method="A", over=["B", "C"])[0] == 2
    assert statistics.slowest(*everything, method="B", over=["A", "C"])[0] == 5


def test_the_highest_value_is_in_percent():
    assert statistics.highest(at(TWO), scope("p", "q"), method="A")[0] == pytest.approx(60)
