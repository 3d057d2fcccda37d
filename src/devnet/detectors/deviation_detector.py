"""DeviationDetector: what all networks share whose scores are deviations from a reference."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from devnet.core.arrays import Array, convert_like, mean_over, to_numpy
from devnet.core.model_file import ModelFileError, field
from devnet.core.parameters import Constraint, number
from devnet.core.rows import Rows
from devnet.detectors.network_detector import NetworkDetector
from devnet.engine.deviation_loss import deviation_objective
from devnet.engine.reference_scores import (
    GaussianPrior,
    Reference,
    ReferenceScores,
    UnlabelledScores,
)
from devnet.engine.sampler import Halves
from devnet.engine.trainer import Objective
from devnet.significance.calibration import Quantile

REFERENCE_ROWS = 10_000  # unlabelled rows scored to measure the trained networks
LARGEST_REFERENCE = 1e100  # mean or spread in a model file, and inverse of the smallest spread


class DeviationDetector(NetworkDetector):
    """Learns scores by the deviation loss; scores are deviations from a reference.

    Abstract. A detector defines its network, and whether it ends in a linear unit
    (`_has_output_unit`).
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **NetworkDetector._constraints,
        "margin": number(0),
        "reference": Constraint(
            lambda value: value is None or isinstance(value, ReferenceScores),
            "a GaussianPrior, StandardPrior, DataReference, HybridReference or None",
        ),
        "confidence": number(0, below=1),
    }

    margin: float
    reference: ReferenceScores | None
    confidence: float
    reference_: Reference

    def p_value(self, X: Any, *, two_sided: bool = False) -> np.ndarray:
        """Probability that a normal row deviates at least as much as each row of X.

        It is nominal: it holds as far as the scores of normal rows follow the prior, or a normal
        distribution if there is no prior.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_rows, n_columns)
        two_sided : bool, default=False
            Count deviations below the mean too, as the paper's proposition does: the probability
            of lying outside mean +- z standard deviations.

        Returns
        -------
        p_values : array of shape (n_rows,)
        """
        return self._reference_scores().p_value(self.anomaly_score(X), two_sided=two_sided)

    def nominal_p_value(self, scores: np.ndarray) -> np.ndarray:
        """Tail of the prior beyond scores, or the normal tail if there is no prior."""
        return self._reference_scores().p_value(scores)

    @property
    def prior_quantile(self) -> Quantile:
        """Quantile function of the prior."""
        return self._reference_scores().quantile

    def _reference_scores(self) -> ReferenceScores:
        return self.reference or GaussianPrior()

    def _objective(
        self, network: Any, n_steps: int, generators: list[np.random.Generator]
    ) -> Objective:
        reference_of = self._reference_scores().for_training(
            network.n_outputs, n_steps, generators, network.to_device
        )
        return deviation_objective(reference_of, self.margin)

    def _after_training(
        self, rows: Rows, halves: Halves, generators: list[np.random.Generator]
    ) -> None:
        self._settle(lambda: self._unlabelled_scores(rows, halves))

    def _settle(self, measure: Callable[[], UnlabelledScores]) -> None:
        reference = self._reference_scores().after_training(measure)
        parts = (reference.mean, reference.std)
        self.reference_ = Reference(*(np.full((self.n_members, 1), p, float) for p in parts))

    def _unlabelled_scores(self, rows: Rows, halves: Halves) -> UnlabelledScores:
        """Scores of an even selection of the unlabelled rows by the trained networks."""
        step = -(-len(halves.unlabelled) // REFERENCE_ROWS)
        chosen = rows.select(halves.unlabelled[::step])
        n = chosen.shape[0]
        weight = np.ones(n)
        if halves.unlabelled_weight is not None:
            weight = halves.unlabelled_weight[::step]
        scores = np.empty((self.n_members, n))
        for selection, outputs in self.network_.outputs(chosen, slice(0, n)):
            scores[:, selection] = to_numpy(mean_over(2, outputs))
        return UnlabelledScores(scores, weight)

    def _member_scores(self, outputs: Array) -> Array:
        reference = (self.reference_.mean, self.reference_.std)
        mean, std = (convert_like(outputs, part) for part in reference)
        return (mean_over(2, outputs) - mean) / std

    def _facts(self) -> dict[str, Any]:
        mean, std = (part[:, 0].tolist() for part in (self.reference_.mean, self.reference_.std))
        return {**super()._facts(), "reference": {"mean": mean, "std": std}}

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        super()._restore(header, tensors)
        if "reference" in header:
            self.reference_ = _read_reference(header, self.n_members)
        else:  # a file from before references could be learned
            self._settle(_refuse_missing_reference)

    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        return self._reference_scores().quantile(self.confidence)


def _read_reference(header: dict[str, Any], n_members: int) -> Reference:
    """What the scores of each member are measured against, (m, 1)."""
    constraints = {
        "mean": number(-LARGEST_REFERENCE, below=LARGEST_REFERENCE),
        "std": number(1 / LARGEST_REFERENCE, below=LARGEST_REFERENCE),
    }

    def is_valid(value: Any) -> bool:
        return isinstance(value, dict) and all(
            isinstance(value.get(part), list)
            and len(value[part]) == n_members
            and all(constraint.accepts(found) for found in value[part])
            for part, constraint in constraints.items()
        )

    found = field(header, "reference", is_valid)
    return Reference(*(np.array(found[part], dtype=np.float64)[:, None] for part in constraints))


def _refuse_missing_reference() -> UnlabelledScores:
    raise ModelFileError(
        "the model file's header has no 'reference', which this model has learned. The file was "
        "edited or damaged; save the model again."
    )
