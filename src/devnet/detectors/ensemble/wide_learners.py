"""The learner of wide sparse rows: one weighted sum of columns, learned in closed form."""

from typing import Self

import numpy as np
import scipy.sparse as sp

from devnet.detectors.ensemble.csr_learners import CsrLearners
from devnet.detectors.ensemble.learners import OutOfBag, Settings
from devnet.detectors.ensemble.pool import Pool
from devnet.detectors.ensemble.sparse_learner import SparseLearner, learn_sparse


class WideLearners(CsrLearners):
    """Column tests on CSR rows; final class.

    A few dozen anomalies teach networks and trees too little about a million columns.
    """

    def __init__(self, learner: SparseLearner) -> None:
        self._learner = learner

    @property
    def n_scorers(self) -> int:
        """The column tests are one."""
        return 1

    @staticmethod
    def look(pool: Pool, settings: Settings, generator: np.random.Generator) -> OutOfBag:
        """Leave-one-out scores by the learner itself."""
        return learn_sparse(pool)[1]

    @classmethod
    def learn(
        cls,
        pool: Pool,
        settings: Settings,
        generator: np.random.Generator,
        earlier: Self | None,
    ) -> tuple[Self, list[OutOfBag]]:
        """Learn from scratch, which takes a second; nothing is drawn at random."""
        learner, scores = learn_sparse(pool)
        return cls(learner), [scores]

    def scores(self, rows: sp.csr_array) -> list[np.ndarray]:
        """Scores of rows (b, d), (b,)."""
        return [self._learner.scores(rows)]

    def contributions(self, rows: sp.csr_array, scale: np.ndarray) -> sp.csr_array:
        """What each value adds to the scaled score, (b, d) CSR."""
        return self._learner.contributions(rows) * scale[0]

    @property
    def _n_made(self) -> int:
        return 1

    @property
    def n_networks(self) -> None:
        """None: these learners have no networks."""
        return None

    @property
    def baseline(self) -> np.ndarray:
        """The empty row."""
        return np.zeros(self._learner.n_columns, np.float32)

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return self._learner.to_tensors()

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int, n_pool: int) -> Self:
        """Restore the learner from the arrays of a model file, after checking them."""
        return cls(SparseLearner.from_tensors(tensors, n_columns))
