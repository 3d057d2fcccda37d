"""Statistics of runs for tables and figures: means, intervals, tests, slopes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


class Summary(NamedTuple):
    """Several runs of one cell."""

    mean: float
    std: float  # of single runs, with divisor n - 1; nan for a single run
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """95% confidence interval of the mean (Student's t); nan for a single run."""
        return self.joint_interval(1)

    def joint_interval(self, n_cells: int) -> tuple[float, float]:
        """Interval such that those of `n_cells` cells all hold with 95% (Bonferroni).

        It holds for the worst of the cells too, whichever that is.
        """
        if self.n < 2:
            return float("nan"), float("nan")
        half = float(stats.t.ppf(1 - 0.025 / n_cells, self.n - 1)) * self.std / np.sqrt(self.n)
        return self.mean - half, self.mean + half


def summarise(values: Sequence[float]) -> Summary:
    """Mean and standard deviation of single runs."""
    std = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return Summary(float(np.mean(values)), std, len(values))


def average_interval(cells: Sequence[Summary]) -> tuple[float, float]:
    """95% confidence interval of the average of the cells' means; nan if a cell has a single run.

    Cells may have different numbers of runs, and all runs count. With the variance `std**2 / n` of
    a cell's mean, the average of k cells has the variance `sum(std**2 / n) / k**2`. Student's t has
    the degrees of freedom of Welch and Satterthwaite,
    `sum(std**2 / n)**2 / sum((std**2 / n)**2 / (n - 1))`.
    """
    average = float(np.mean([cell.mean for cell in cells]))
    n = np.array([cell.n for cell in cells])
    if n.min() < 2:
        return float("nan"), float("nan")
    variance = np.array([cell.std for cell in cells]) ** 2 / n
    if not variance.any():  # all runs of a cell are equal
        return average, average
    freedom = variance.sum() ** 2 / (variance**2 / (n - 1)).sum()
    half = float(stats.t.ppf(0.975, freedom) * np.sqrt(variance.sum()) / len(cells))
    return average - half, average + half


def wilcoxon(ours: ArrayLike, theirs: ArrayLike) -> float | None:
    """Two-sided p-value of the signed-rank test of pairs; None if too few differ."""
    differences = np.round(np.subtract(ours, theirs), 9)  # so that ties count as ties
    if np.count_nonzero(differences) < 3:
        return None
    return float(stats.wilcoxon(differences).pvalue)


def log_slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Exponent of growth: the slope of a straight line on log axes; nan below two sizes."""
    points = np.log([pair for pair in zip(x, y, strict=True) if np.isfinite(pair[1])])
    if len({size for size, _ in points}) < 2:
        return float("nan")
    return float(np.polyfit(points[:, 0], points[:, 1], 1)[0])


class Growth(NamedTuple):
    """An exponent of growth with its 95% interval; nan where the points do not say."""

    slope: float
    low: float
    high: float


def growth(x: Sequence[float], y: Sequence[float]) -> Growth:
    """Exponent of growth of single runs, with the 95% interval of least squares on log axes."""
    slope = log_slope(x, y)
    points = np.log([pair for pair in zip(x, y, strict=True) if np.isfinite(pair[1])])
    if np.isnan(slope) or len(points) < 3:
        return Growth(slope, float("nan"), float("nan"))
    fitted = stats.linregress(points[:, 0], points[:, 1])
    half = float(stats.t.ppf(0.975, len(points) - 2) * fitted.stderr)
    return Growth(slope, slope - half, slope + half)
