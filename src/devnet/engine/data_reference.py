"""References built from the data's own scores, alone or mixed with a prior.

The gradient flows through these references (`deviation_loss.slope_through_reference`). Held
constant instead, they run away: a step that lifts anomalies lifts other rows too, and nothing
pulls their mean back, because the rows are drawn to it wherever it is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from devnet.core.arrays import Array, ToDevice, namespace
from devnet.core.parameters import Constraint, check_parameters, number
from devnet.engine.reference_scores import (
    GaussianPrior,
    Prior,
    Reference,
    ReferenceScores,
    StepReference,
    UnlabelledScores,
)
from devnet.engine.sampler import Batch
from devnet.engine.standard_prior import StandardPrior

LEAST_SPREAD = 0.01  # times `min_std`: the spread assumed for rows that all score alike


@dataclass(frozen=True)
class DataReference(ReferenceScores):
    """Scores are measured against those of the unlabelled rows: the data-driven reference.

    In training mu_R is the mean score of the batch's unlabelled rows, and sigma_R^2 is their
    variance + `min_std`^2. Without `min_std` the loss would be the same at any scale of the
    scores; it fixes the scale and keeps sigma_R from vanishing.

    After training each network is measured against the mean and standard deviation of its own
    scores on the unlabelled training rows (an even selection of at most 10,000): 0 is typical of
    them, 1 is their spread. With `end_to_end=False` that score is the mean over the units, each of
    which had its own reference in training. `partial_fit` measures again on the rows it gets.
    Anomalies are pushed to `margin` times sigma_R, which is larger than that spread, so
    those that get there score above `margin`.

    `p_value` and `threshold_` use the normal tail and are nominal. The share of training rows
    that score as high would look exact but would not be: the network was trained on these rows,
    some of them are anomalies, and no share says anything beyond the highest score.

    Parameters
    ----------
    min_std : float, default=1.0
        Lower bound of the standard deviation of a reference in training.

    Examples
    --------
    >>> from devnet import DataReference, DevNet
    >>> DevNet(reference=DataReference())
    DevNet(reference=DataReference(min_std=1.0))
    """

    min_std: float = 1.0

    def __post_init__(self) -> None:
        check_parameters(self, {"min_std": number(0)})

    def for_training(
        self,
        n_outputs: int,
        n_steps: int,
        generators: list[np.random.Generator],
        to_device: ToDevice,
    ) -> StepReference:
        """Mean and standard deviation of the batch's unlabelled scores; draws nothing."""
        least = float(self.min_std) ** 2  # a NumPy scalar would turn arrays into double precision

        def reference(outputs: Array, batch: Batch) -> Reference:
            weight = _unlabelled_weight(batch)
            mean, variance = _moments(outputs, weight)
            return Reference(mean, namespace(outputs).sqrt(variance + least), weight)

        return reference

    def after_training(self, measure: Callable[[], UnlabelledScores]) -> Reference:
        """Mean and standard deviation of each member's scores on unlabelled rows, (m, 1)."""
        scores, weight = measure()
        mean, variance = _moments(scores, weight / weight.sum())
        return Reference(mean, np.maximum(np.sqrt(variance), LEAST_SPREAD * self.min_std))

    def p_value(self, deviation: np.ndarray | float, *, two_sided: bool = False) -> np.ndarray:
        """Normal tail beyond a deviation; nominal."""
        return GaussianPrior().p_value(deviation, two_sided=two_sided)

    def quantile(self, confidence: float) -> float:
        """Normal quantile; nominal."""
        return GaussianPrior().quantile(confidence)


_HYBRID_CONSTRAINTS = {
    "prior": Constraint(
        lambda value: isinstance(value, Prior), "a GaussianPrior or a StandardPrior"
    ),
    "share": number(0, below=1),
}


@dataclass(frozen=True)
class HybridReference(ReferenceScores):
    """Scores are measured against a mixture of prior scores and those of the unlabelled rows.

    mu_R and sigma_R are the mean and standard deviation of a mixed sample: one share comes from
    the batch's unlabelled rows, the rest from the prior, in training as well as afterwards. The
    prior gives the scores their unit; the rows show where most scores lie and how far they spread.
    `p_value` and `threshold_` are those of the prior, and nominal.

    Parameters
    ----------
    prior : GaussianPrior or StandardPrior, default=GaussianPrior()
    share : float, default=0.5
        Share of the unlabelled rows, above 0 and below 1. Pooling a batch's 256 unlabelled scores
        with 5000 prior scores is share=256/5256, hardly different from the prior alone.

    Examples
    --------
    >>> from devnet import DevNet, HybridReference, StandardPrior
    >>> model = DevNet(reference=HybridReference(StandardPrior("laplace"), share=0.3))
    """

    prior: Prior = GaussianPrior()
    share: float = 0.5

    def __post_init__(self) -> None:
        check_parameters(self, _HYBRID_CONSTRAINTS)

    def for_training(
        self,
        n_outputs: int,
        n_steps: int,
        generators: list[np.random.Generator],
        to_device: ToDevice,
    ) -> StepReference:
        """The prior's drawn references, mixed with the batch's unlabelled scores."""
        prior_reference = self.prior.for_training(n_outputs, n_steps, generators, to_device)

        def reference(outputs: Array, batch: Batch) -> Reference:
            weight = _unlabelled_weight(batch)
            drawn = prior_reference(outputs, batch)
            mean, variance = self._mixed(drawn, *_moments(outputs, weight))
            return Reference(mean, namespace(outputs).sqrt(variance), float(self.share) * weight)

        return reference

    def after_training(self, measure: Callable[[], UnlabelledScores]) -> Reference:
        """The prior mixed with each member's scores on unlabelled rows, (m, 1)."""
        scores, weight = measure()
        known = self.prior.after_training(measure)
        mean, variance = self._mixed(known, *_moments(scores, weight / weight.sum()))
        return Reference(mean, np.sqrt(variance))

    def p_value(self, deviation: np.ndarray | float, *, two_sided: bool = False) -> np.ndarray:
        """Tail of the prior beyond a deviation; nominal."""
        return self.prior.p_value(deviation, two_sided=two_sided)

    def quantile(self, confidence: float) -> float:
        """Quantile of the prior; nominal."""
        return self.prior.quantile(confidence)

    def _mixed(self, prior: Reference, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Mean and variance of the mixture; both the parts and their distance add variance."""
        share = float(self.share)
        rest = 1 - share
        apart = prior.mean - mean
        within = rest * prior.std**2 + share * variance
        return rest * prior.mean + share * mean, within + share * rest * apart**2


REFERENCES: dict[str, type[ReferenceScores]] = {  # as model files name them
    kind.__name__: kind for kind in (GaussianPrior, StandardPrior, DataReference, HybridReference)
}


def _unlabelled_weight(batch: Batch) -> Array:
    """Weights of a batch's unlabelled rows, 0 for anomalies; (m, b, 1), sums to 1 over b."""
    weight = batch.weight * ~batch.is_anomaly
    return weight / weight.sum(1)[:, None]


def _moments(scores: Array, weight: Array) -> tuple[Array, Array]:
    """Weighted mean and variance over the rows; axis 1 is kept."""
    mean = (weight * scores).sum(1)[:, None]
    offset = scores - mean
    return mean, (weight * offset * offset).sum(1)[:, None]
