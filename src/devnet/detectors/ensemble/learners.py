"""What an ensemble asks of its learners."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple, Self

import numpy as np

from devnet.core.rows import Rows
from devnet.detectors.ensemble.pool import Matrix, Pool


class OutOfBag(NamedTuple):
    """Scores by those who did not learn from the row, as for new rows.

    Where all learned from it, as from the only labelled anomaly there is, it has the scores of all.
    """

    unlabelled: np.ndarray  # (n,)
    labelled: np.ndarray  # (K,)


class Settings(NamedTuple):
    """What a caller can set about learners."""

    n_networks: int
    n_trees: int
    margin: float


class Learners(ABC):
    """One or more scorers of the same rows, each on a scale of its own. Abstract."""

    n_scorers: ClassVar[int]

    @staticmethod
    @abstractmethod
    def n_pool_rows(n_columns: int) -> int:
        """Unlabelled rows of a table that are enough to learn from."""

    @staticmethod
    @abstractmethod
    def gather(rows: Rows, numbers: np.ndarray) -> Matrix:
        """Training rows as these learners take them."""

    @staticmethod
    @abstractmethod
    def tiles(rows: Rows, span: slice) -> Iterator[tuple[slice, Matrix]]:
        """Rows of a span, part by part."""

    @staticmethod
    @abstractmethod
    def look(pool: Pool, settings: Settings, generator: np.random.Generator) -> OutOfBag:
        """A first, quick judgement of the rows, by which hidden anomalies are screened."""

    @classmethod
    @abstractmethod
    def learn(
        cls,
        pool: Pool,
        settings: Settings,
        generator: np.random.Generator,
        earlier: Self | None,
    ) -> tuple[Self, list[OutOfBag]]:
        """Learn from a pool, or go on from what was learned earlier; one vote a scorer."""

    @abstractmethod
    def scores(self, rows: Matrix) -> list[np.ndarray]:
        """Scores of rows by each scorer, (b,); a row's depend on it alone."""

    @abstractmethod
    def contributions(self, rows: Matrix, scale: np.ndarray) -> Matrix:
        """What each column adds to the scaled sum of scores over that of a baseline row, (b, d)."""

    @property
    @abstractmethod
    def n_networks(self) -> int | None:
        """Networks among the scorers, None where they are of no such kind."""

    @property
    @abstractmethod
    def baseline(self) -> np.ndarray:
        """The row (d,) that contributions are measured from: a typical unlabelled one."""

    @abstractmethod
    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""

    @classmethod
    @abstractmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int, n_pool: int) -> Self:
        """Take over the arrays of a model file, all of them checked."""
