"""The reference: mean and standard deviation of the scores of normal rows, and their source.

The paper uses a Gaussian prior. Other priors are in `standard_prior.py`, references made of the
data's own scores in `data_reference.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from devnet.core.arrays import Array, ToDevice
from devnet.core.parameters import number, whole_number
from devnet.engine.sampler import Batch

_CONSTRAINTS = {"mean": number(), "std": number(0), "n_scores": whole_number(2)}


class Reference(NamedTuple):
    """What a score is measured against; both broadcast against the scores.

    The paper's mu_R and sigma_R (section 3.2).
    """

    mean: Array
    std: Array
    made_of: Array | None = None  # (m, b, 1): weight of each score in the mean; None for a prior


StepReference = Callable[[Array, Batch], Reference]
"""Outputs (m, b, k) of a step and their batch -> the reference they are measured against."""


class UnlabelledScores(NamedTuple):
    """Scores of unlabelled training rows by the trained network."""

    scores: np.ndarray  # (m, n)
    weight: np.ndarray  # (n,)


class ReferenceScores(ABC):
    """What scores are measured against, in training and afterwards. Abstract."""

    @abstractmethod
    def for_training(
        self,
        n_outputs: int,
        n_steps: int,
        generators: list[np.random.Generator],
        to_device: ToDevice,
    ) -> StepReference:
        """The reference of each of `n_steps` steps; draws from the members' generators."""

    @abstractmethod
    def after_training(self, measure: Callable[[], UnlabelledScores]) -> Reference:
        """What the trained network's scores are measured against.

        Calls `measure` only if it needs scores. Mean and std broadcast to (m, 1).
        """

    @abstractmethod
    def p_value(self, deviation: np.ndarray | float, *, two_sided: bool = False) -> np.ndarray:
        """Nominal probability that a normal row deviates at least this much."""

    @abstractmethod
    def quantile(self, confidence: float) -> float:
        """Deviation that a normal row nominally stays below with this probability (upper tail)."""


class Prior(ReferenceScores):
    """Assumes that the scores of normal rows are draws from a distribution. Abstract."""

    @abstractmethod
    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Reference:
        """Draw float32 references of this shape."""

    def for_training(
        self,
        n_outputs: int,
        n_steps: int,
        generators: list[np.random.Generator],
        to_device: ToDevice,
    ) -> StepReference:
        """One drawn reference for each step, member and output: (n_steps, m, 1, k)."""
        draws = [self.draw((n_steps, 1, n_outputs), generator) for generator in generators]
        means = to_device(np.stack([reference.mean for reference in draws], axis=1))
        stds = to_device(np.stack([reference.std for reference in draws], axis=1))
        return lambda outputs, batch: Reference(means[batch.step], stds[batch.step])


@dataclass(frozen=True)
class GaussianPrior(Prior):
    """Assumes that the scores of normal rows are draws from N(mean, std^2), as the paper does.

    Equations 4 and 5: r_1, ..., r_l ~ N(mu, sigma^2) and mu_R is their mean; sigma_R is their
    standard deviation with divisor l. Here l is `n_scores`.

    Parameters
    ----------
    mean, std : float, default=0.0 and 1.0
        The prior's mu and sigma.
    n_scores : int, default=5000
        How many prior scores each reference summarises.

    Examples
    --------
    >>> from devnet import GaussianPrior
    >>> prior = GaussianPrior()
    >>> round(prior.quantile(0.95), 3)
    1.645
    >>> round(float(prior.p_value(1.96, two_sided=True)), 3)
    0.05
    """

    mean: float = 0.0
    std: float = 1.0
    n_scores: int = 5000

    def __post_init__(self) -> None:
        for name, constraint in _CONSTRAINTS.items():
            if not constraint.accepts(getattr(self, name)):
                raise ValueError(
                    f"GaussianPrior({name}={getattr(self, name)!r}) is not possible: {name} must "
                    f"be {constraint.says}; the paper uses mean 0, std 1 and 5000 scores."
                )

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> Reference:
        """Draw float32 references of this shape without drawing the scores behind them.

        The mean and standard deviation of l Gaussian scores are independent; the mean is Gaussian
        with variance sigma^2 / l, and l sigma_R^2 / sigma^2 is chi-squared with l - 1 degrees of
        freedom. Two draws follow the same law as l.
        """
        size = self.n_scores
        mean = generator.normal(self.mean, self.std / sqrt(size), shape)
        std = self.std * np.sqrt(generator.chisquare(size - 1, shape) / size)
        return Reference(mean.astype(np.float32), std.astype(np.float32))

    def after_training(self, measure: Callable[[], UnlabelledScores]) -> Reference:
        """The prior's own mean and standard deviation."""
        return Reference(self.mean, self.std)

    def p_value(self, deviation: np.ndarray | float, *, two_sided: bool = False) -> np.ndarray:
        """Probability that a normal row deviates at least this much, if the prior holds."""
        deviation = np.asarray(deviation, dtype=np.float64)
        p_value: np.ndarray = 2 * ndtr(-np.abs(deviation)) if two_sided else ndtr(-deviation)
        return p_value

    def quantile(self, confidence: float) -> float:
        """Deviation that a normal row stays below with this probability (upper tail)."""
        return float(ndtri(confidence))
