"""What is usual in rows: how the values of each column spread, or how rare each column is."""

from typing import Self

import numpy as np
import scipy.sparse as sp

from devnet.core.model_file import edited, tensor
from devnet.core.rows import WIDE, Rows, dense_tiles, sparse_tiles
from devnet.detectors.ensemble.pool import choose_rows
from devnet.detectors.ensemble.rank_normal import EXTREME, RankNormal

LEARNED_ROWS = 20_000  # more do not help
LARGEST = 1e12  # centre, weight or rarity in a model file


def learned_rows(
    rows: Rows, sample_weight: np.ndarray | None, generator: np.random.Generator
) -> np.ndarray:
    """The rows that tell what is usual, by number, ascending."""
    chosen = np.arange(rows.shape[0])
    if sample_weight is not None:  # the first exponential clocks to ring are a weighted draw
        chosen = np.flatnonzero(sample_weight)
        clocks = generator.standard_exponential(len(chosen)) / sample_weight[chosen]
        chosen = np.sort(chosen[np.argsort(clocks)[:LEARNED_ROWS]])
    return choose_rows(chosen, LEARNED_ROWS, generator)


def is_wide(rows: Rows) -> bool:
    """Whether rows are known by which columns they have."""
    return bool(rows.is_sparse and rows.shape[1] >= WIDE)


class UsualColumns:
    """How the values of each column spread: mean and weight of its rank-normal values."""

    tiles = staticmethod(lambda rows, span: dense_tiles(rows, span, np.float32))

    def __init__(self, encoding: RankNormal, centre: np.ndarray, weight: np.ndarray) -> None:
        self.encoding = encoding
        self.centre = centre  # (d,)
        self.weight = weight  # (d,)

    @classmethod
    def of(cls, rows: np.ndarray) -> Self:
        """Learn from rows (n, d)."""
        encoding = RankNormal.learn(rows)
        encoded = encoding.encode(rows).astype(np.float64)
        least = EXTREME / np.sqrt(len(rows))  # the spread of a column in which one row differs
        spread = np.maximum(encoded.std(axis=0), least)
        total = (encoded.var(axis=0) / np.sqrt(spread)).sum()
        weight = 1 / np.sqrt(spread) / (total or 1.0)
        return cls(encoding, encoded.mean(axis=0), weight)

    def summands(self, rows: np.ndarray) -> np.ndarray:
        """Weighted squared deviations, (b, d) float32 -> (b, d) float64."""
        deviation: np.ndarray = self.encoding.encode(rows) - self.centre
        weighted: np.ndarray = self.weight * deviation**2
        return weighted

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Sums over the columns, (b,); a row's summands are added in the same order anywhere."""
        total: np.ndarray = self.summands(rows).sum(axis=1)
        return total

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {**self.encoding.to_tensors(), "centre": self.centre, "weight": self.weight}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore from the arrays of a model file, after checking them."""
        encoding = RankNormal.from_tensors(tensors, n_columns)
        centre, weight = (
            tensor(tensors, name, (n_columns,), "float64", LARGEST) for name in ("centre", "weight")
        )
        if not (weight > 0).all():
            raise edited("the columns", "their weights must be positive")
        return cls(encoding, centre, weight)


class UsualSets:
    """How rare each column is, in rows that have few of very many columns."""

    tiles = staticmethod(sparse_tiles)

    def __init__(self, rarity: np.ndarray) -> None:
        self._rarity = rarity  # (d,)

    @classmethod
    def of(cls, rows: sp.csr_array) -> Self:
        """Learn from CSR rows (n, d); a column that none of them has is as rare as half a row."""
        n_having = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1])
        rarity = -np.log(np.maximum(n_having, 0.5) / rows.shape[0])
        mean = _mean_over(rows, rarity).mean()
        return cls(rarity / (mean or 1.0))

    def scores(self, rows: sp.csr_array) -> np.ndarray:
        """Mean rarity of the columns that each row has, (b,); 0 for an empty row."""
        return _mean_over(rows, self._rarity)

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {"rarity": self._rarity}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore from the arrays of a model file, after checking them."""
        rarity = tensor(tensors, "rarity", (n_columns,), "float64", LARGEST)
        if not (rarity >= 0).all():
            raise edited("the columns", "their rarity must not be negative")
        return cls(rarity)


def _mean_over(rows: sp.csr_array, value: np.ndarray) -> np.ndarray:
    """Mean value (d,) of the columns in which each row is not zero, (b,)."""
    has = sp.csr_array(((rows.data != 0).astype(np.float64), rows.indices, rows.indptr), rows.shape)
    mean: np.ndarray = (has @ value) / np.maximum(has.sum(axis=1), 1)
    return mean
