"""TaughtHalf: what is unusual and what verdicts taught, mixed with the scores of an ensemble."""

from typing import Self

import numpy as np

from devnet.core.model_file import edited, tensor
from devnet.detectors.ensemble.learners import OutOfBag
from devnet.detectors.taught_columns import TaughtColumns
from devnet.detectors.usual_columns import LARGEST

PREFIX = "order_"  # of the arrays of its columns in a model file


class TaughtHalf:
    """The half of a score that verdicts teach directly.

    Parameters
    ----------
    columns : TaughtColumns
    mix : array of shape (3,)
        Factors of the ensemble and of the columns, and a summand.
    """

    def __init__(self, columns: TaughtColumns, mix: np.ndarray) -> None:
        self.columns = columns
        self.mix = mix

    @classmethod
    def of(
        cls, columns: TaughtColumns, ensemble: OutOfBag, taught: OutOfBag, weight: np.ndarray
    ) -> Self:
        """Mix both so that they have the same spread over the unlabelled rows, weighted (n,)."""
        halves = ensemble.unlabelled, taught.unlabelled
        factor = np.array([1 / _spread(half, weight) for half in halves])
        total = factor[0] * halves[0] + factor[1] * halves[1]
        factor /= (spread := _spread(total, weight))
        return cls(columns, np.array([*factor, -np.average(total, weights=weight) / spread]))

    def mixed(self, ensemble: np.ndarray, taught: np.ndarray) -> np.ndarray:
        """Scores (n,) of both halves as one."""
        scores: np.ndarray = self.mix[0] * ensemble + self.mix[1] * taught + self.mix[2]
        return scores

    def with_contributions(
        self, ensemble: np.ndarray, rows: np.ndarray, baseline: np.ndarray
    ) -> np.ndarray:
        """What each column adds to the scores of rows, given what it adds to the ensemble's."""
        start = self.columns.summands(baseline.astype(np.float32)[None])
        moved = self.columns.summands(np.asarray(rows, dtype=np.float32)) - start
        both: np.ndarray = self.mix[0] * ensemble + self.mix[1] * moved
        return both

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        columns = {PREFIX + name: part for name, part in self.columns.to_tensors().items()}
        return {**columns, "mix": self.mix}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self | None:
        """Restore from the arrays of a model file, after checking them; None if it has none."""
        if "mix" not in tensors:
            return None
        mix = tensor(tensors, "mix", (3,), "float64", LARGEST)
        if not (mix[:2] > 0).all():
            raise edited("the ensemble", "both halves must count")
        names = [name for name in tensors if name.startswith(PREFIX)]
        columns = {name.removeprefix(PREFIX): tensors[name] for name in names}
        return cls(TaughtColumns.from_tensors(columns, n_columns), mix)


def _spread(scores: np.ndarray, weight: np.ndarray) -> float:
    mean = np.average(scores, weights=weight)
    return float(np.sqrt(np.average((scores - mean) ** 2, weights=weight))) or 1.0
