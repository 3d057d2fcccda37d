"""Non-Gaussian priors of normal scores, each with mean 0 and standard deviation 1."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from devnet.core.parameters import check_parameters, one_of, whole_number
from devnet.engine.reference_scores import Prior, Reference, UnlabelledScores

DRAWN_SCORES = 1 << 18  # scores held in memory at a time
STUDENT_FREEDOM = 5  # the fewest degrees of freedom for which the drawn standard deviation settles


class _Law(NamedTuple):
    """A distribution before standardisation: its formulas, and how NumPy draws from it."""

    formulas: Any
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


_LAWS = {
    "laplace": _Law(stats.laplace(), lambda g, size: g.laplace(size=size)),
    "logistic": _Law(stats.logistic(), lambda g, size: g.logistic(size=size)),
    "student": _Law(
        stats.t(STUDENT_FREEDOM), lambda g, size: g.standard_t(STUDENT_FREEDOM, size=size)
    ),
    "uniform": _Law(stats.uniform(), lambda g, size: g.random(size)),
    "exponential": _Law(stats.expon(), lambda g, size: g.standard_exponential(size)),
    "gumbel": _Law(stats.gumbel_r(), lambda g, size: g.gumbel(size=size)),
}
_CONSTRAINTS = {"distribution": one_of(*_LAWS), "n_scores": whole_number(2)}


@dataclass(frozen=True)
class StandardPrior(Prior):
    """Assumes that the scores of normal rows are draws from a named distribution.

    The loss only sees the mean and standard deviation of the drawn scores, and for 5000 draws
    these hardly differ between distributions with mean 0 and standard deviation 1. So the choice
    hardly changes what is learned. It changes what `p_value` and `threshold_` mean: with heavy
    tails the same p-value needs a higher score.

    Parameters
    ----------
    distribution : str, default="laplace"
        Symmetric: "uniform" (no tails), "logistic", "laplace", "student" (5 degrees of freedom,
        the heaviest tails). Skewed to high scores: "gumbel", "exponential".
    n_scores : int, default=5000
        How many prior scores each reference summarises. All of them are drawn, which takes about
        as long as fitting a small network.

    Examples
    --------
    >>> from devnet import StandardPrior
    >>> round(StandardPrior("uniform").quantile(0.95), 3)
    1.559
    >>> round(StandardPrior("exponential").quantile(0.95), 3)
    1.996
    """

    distribution: str = "laplace"
    n_scores: int = 5000

    def __post_init__(self) -> None:
        check_parameters(self, _CONSTRAINTS)

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Reference:
        """Draw float32 references of this shape by drawing the scores behind them."""
        n_references = prod(shape)
        mean, std = np.empty((2, n_references), dtype=np.float32)
        block = max(1, DRAWN_SCORES // self.n_scores)
        for start in range(0, n_references, block):
            part = slice(start, min(start + block, n_references))
            size = (part.stop - part.start, int(self.n_scores))
            scores = self._law.draw(generator, size)
            mean[part] = (scores.mean(1) - self._law.formulas.mean()) / self._law.formulas.std()
            std[part] = scores.std(1) / self._law.formulas.std()
        return Reference(mean.reshape(shape), std.reshape(shape))

    def after_training(self, measure: Callable[[], UnlabelledScores]) -> Reference:
        """Mean 0 and standard deviation 1."""
        return Reference(0.0, 1.0)

    def p_value(self, deviation: np.ndarray | float, *, two_sided: bool = False) -> np.ndarray:
        """Probability that a normal row deviates at least this much, if the prior holds."""
        deviation = np.asarray(deviation, dtype=np.float64)
        formulas = self._law.formulas
        if not two_sided:
            return np.asarray(formulas.sf(self._unstandardised(deviation)))
        distance = np.abs(deviation)
        above = formulas.sf(self._unstandardised(distance))
        return np.asarray(above + formulas.cdf(self._unstandardised(-distance)))

    def quantile(self, confidence: float) -> float:
        """Deviation that a normal row stays below with this probability (upper tail)."""
        formulas = self._law.formulas
        return float((formulas.ppf(confidence) - formulas.mean()) / formulas.std())

    @property
    def _law(self) -> _Law:
        return _LAWS[self.distribution]

    def _unstandardised(self, deviation: np.ndarray) -> np.ndarray:
        formulas = self._law.formulas
        value: np.ndarray = formulas.mean() + formulas.std() * deviation
        return value
