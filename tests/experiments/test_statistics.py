"""Statistics against the paper's own: from its figures its p-values must follow."""

import numpy as np
import pytest
from scipy import stats

from devnet.experiments.published import TABLE_1, TABLE_2
from devnet.experiments.statistics import (
    average_interval,
    growth,
    log_slope,
    summarise,
    wilcoxon,
)

P_VALUES = [  # as published: table, first method, place of the figure, method, p-value
    *((TABLE_1, "DevNet", 0, m, p) for m, p in [("REPEN", 0.004), ("DSVDD", 0.023)]),
    *((TABLE_1, "DevNet", 0, m, 0.004) for m in ("FSNet", "iForest")),
    *((TABLE_1, "DevNet", 2, m, 0.004) for m in ("REPEN", "DSVDD", "FSNet", "iForest")),
    *((TABLE_2, "Def", 0, m, p) for m, p in [("Rep", 0.129), ("Linear", 0.012), ("3HL", 0.023)]),
    *((TABLE_2, "Def", 1, m, p) for m, p in [("Rep", 0.106), ("Linear", 0.008), ("3HL", 0.133)]),
]


@pytest.mark.parametrize(("table", "ours", "place", "theirs", "published"), P_VALUES)
def test_the_paper_s_figures_give_the_paper_s_p_values(table, ours, place, theirs, published):
    columns = ([row[method][place] for row in table.values()] for method in (ours, theirs))
    assert abs(wilcoxon(*columns) - published) < 0.001


def test_too_few_differing_sets_have_no_p_value():
    assert wilcoxon([1, 2, 3], [1, 2, 3]) is None
    assert wilcoxon([1, 2, 3], [1, 1, 2]) is None


def test_the_interval_is_student_s():
    values = [0.1, 0.4, 0.3, 0.2]
    test = stats.ttest_1samp(values, 0).confidence_interval()
    assert summarise(values).interval == pytest.approx((test.low, test.high))
    assert np.isnan(summarise([0.5]).interval).all()


def test_an_average_has_the_interval_of_all_its_runs():
    # Variances of the means: 0.02 / 2 = 0.01 and 0.04 / 4 = 0.01, so that of the average is 0.005.
    # Degrees of freedom: 0.02**2 / (0.01**2 / 1 + 0.01**2 / 3) = 3, where t is 3.1824.
    cells = [summarise([0.2, 0.4]), summarise(0.5 + np.sqrt(0.03) * np.array([-1, 1, -1, 1]))]
    low, high = average_interval(cells)
    assert low == pytest.approx(0.4 - 3.18245 * np.sqrt(0.005), abs=1e-5)
    assert high == pytest.approx(0.4 + 3.18245 * np.sqrt(0.005), abs=1e-5)


def test_the_interval_of_an_average_of_two_is_welch_s():
    generator = np.random.default_rng(0)
    one, other = generator.normal(0.3, 0.1, 10), generator.normal(0.7, 0.02, 3)
    # The average of two means is half of their difference, if one of them has its sign turned.
    welch = stats.ttest_ind(one, -other, equal_var=False).confidence_interval()
    interval = average_interval([summarise(one), summarise(other)])
    assert interval == pytest.approx((welch.low / 2, welch.high / 2))


def test_the_interval_of_an_average_of_one_is_its_own():
    values = [0.1, 0.4, 0.3, 0.2]
    assert average_interval([summarise(values)]) == pytest.approx(summarise(values).interval)
    assert average_interval([summarise([0.3, 0.3]), summarise([0.5, 0.5])]) == (0.4, 0.4)
    assert np.isnan(average_interval([summarise(values), summarise([0.5])])).all()


def test_the_slope_on_log_axes_is_the_exponent():
    x = np.array([10.0, 100, 1000])
    assert log_slope(x, 7 * x**1.5) == pytest.approx(1.5)


def test_the_interval_of_the_slope_is_that_of_least_squares():
    x, y = [1.0, 10, 100, 1000], [1.0, 12, 90, 1100]
    fitted = stats.linregress(np.log(x), np.log(y))
    half = stats.t.ppf(0.975, 2) * fitted.stderr
    expected = (fitted.slope, fitted.slope - half, fitted.slope + half)
    assert growth(x, y) == pytest.approx(expected)
    assert np.isnan(growth([1.0, 10], [1.0, 10])[1:]).all()
    assert np.isnan(growth([1.0], [1.0])).all()
    assert np.isnan(growth([10.0] * 3, [1.0, 2, 3])).all()  # runs of a single size


def test_joint_intervals_are_wider_the_more_cells_they_hold_for():
    cell = summarise([0.1, 0.4, 0.3, 0.2])
    widths = [np.ptp(cell.joint_interval(n)) for n in (1, 2, 10)]
    assert widths == sorted(widths)
    assert cell.joint_interval(1) == cell.interval
    assert cell.joint_interval(5)[1] - cell.mean == pytest.approx(
        stats.t.ppf(0.995, 3) * cell.std / 2
    )
