"""What an ensemble expects of its learners."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple, Self

import numpy as np

from devnet.core.rows import Rows
from devnet.detectors.ensemble.pool import Matrix, Pool


class OutOfBag(NamedTuple):
    """Scores of training rows by members that did not see them, comparable to those of new rows.

    A row that all members saw, such as the only labelled anomaly, is scored by all of them.
    """

    unlabelled: np.ndarray  # (n,)
    labelled: np.ndarray  # (K,)


class Settings(NamedTuple):
    """Parameters of the learners that a caller can set."""

    n_networks: int
    n_trees: int
    margin: float


class Learners(ABC):
    """One or more scorers of the same rows, each on its own scale. Abstract."""

    takes_csr: ClassVar[bool] = False  # wide rows, of which no dense matrix should be made
    makes_dense: ClassVar[bool] = False  # whatever comes: its tiles are dense

    @property
    @abstractmethod
    def n_scorers(self) -> int:
        """Number of scorers."""

    def trust(self, n_labelled: int) -> np.ndarray:
        """How much each scorer's vote counts before any evidence, (n_scorers,)."""
        return np.ones(self.n_scorers)

    @staticmethod
    @abstractmethod
    def n_pool_rows(n_columns: int) -> int:
        """How many unlabelled rows are enough to learn from."""

    @staticmethod
    @abstractmethod
    def gather(rows: Rows, indices: np.ndarray) -> Matrix:
        """Training rows in the layout these learners take."""

    @abstractmethod
    def tiles(self, rows: Rows, span: slice) -> Iterator[tuple[slice, Matrix]]:
        """Yield the rows of a span, tile by tile."""

    @staticmethod
    @abstractmethod
    def look(pool: Pool, settings: Settings, generator: np.random.Generator) -> OutOfBag:
        """Score the rows quickly, to screen them for hidden anomalies."""

    @classmethod
    @abstractmethod
    def learn(
        cls,
        pool: Pool,
        settings: Settings,
        generator: np.random.Generator,
        earlier: Self | None,
    ) -> tuple[Self, list[OutOfBag]]:
        """Learn from a pool, or resume from earlier learners; one vote per scorer."""

    @abstractmethod
    def scores(self, rows: Matrix) -> list[np.ndarray]:
        """Scores of rows by each scorer, (b,); a row's scores depend on that row alone."""

    @abstractmethod
    def contributions(self, rows: Matrix, scale: np.ndarray) -> Matrix:
        """What each column adds to the scaled sum of scores, compared with the baseline, (b, d)."""

    @property
    @abstractmethod
    def n_networks(self) -> int | None:
        """Number of networks, None for learners without networks."""

    @property
    @abstractmethod
    def baseline(self) -> np.ndarray:
        """The row (d,) that contributions are measured from: a typical unlabelled row."""

    @abstractmethod
    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""

    @classmethod
    @abstractmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int, n_pool: int) -> Self:
        """Restore the learners from the arrays of a model file, after checking them."""
