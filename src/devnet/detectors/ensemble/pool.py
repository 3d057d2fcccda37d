"""The pool: the rows that an ensemble learns from."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from devnet.core.known_normals import worth
from devnet.core.labels import Labels
from devnet.core.layout import Layout
from devnet.core.model_file import ascends, edited, tensor

Matrix = Any
"""Rows as learners take them: a float32 array (b, d), or float32 CSR if d is very large."""


NONE = np.empty(0, dtype=np.int64)


class Chosen(NamedTuple):
    """Which training rows a pool consists of."""

    labelled: np.ndarray  # (K,) indices of labelled anomalies
    others: np.ndarray  # (n,) indices of unlabelled and known normal rows, ascending
    normals: np.ndarray  # (N,) positions of the known normal ones among the others
    stands_for: np.ndarray  # (n,) how many rows of the table each stands for, 1 at most
    earlier: np.ndarray | None  # (n',) positions of the rows of an earlier pool among the others


class Pool(NamedTuple):
    """Labelled anomalies and other rows, with the weights they are drawn with."""

    rows: Matrix  # (n, d) unlabelled, or known to be normal
    weight: np.ndarray  # (n,) at least one above 0; a known normal row weighs as one row here
    anomalies: Matrix  # (K, d)
    anomaly_weight: np.ndarray  # (K,)
    labelled: np.ndarray  # (K,) which training rows the anomalies are
    positions: np.ndarray  # (K,) of the anomalies among the other rows, or -1
    layout: Layout | None = None  # of the d columns
    normals: np.ndarray = NONE  # (N,) positions of the known normal rows
    earlier: np.ndarray | None = None  # (n',) positions of the rows of an earlier pool

    @classmethod
    def gather(
        cls,
        take: Callable[[np.ndarray], Matrix],
        chosen: Chosen,
        weight: np.ndarray,
        layout: Layout | None,
    ) -> Self:
        """Take the chosen rows; known normal ones weigh as much as unlabelled ones on average."""
        pool = cls(
            take(chosen.others),
            chosen.stands_for.copy(),
            take(chosen.labelled),
            weight[chosen.labelled],
            chosen.labelled,
            find_positions(chosen.labelled, chosen.others),
            layout,
            chosen.normals,
            chosen.earlier,
        )
        if len(pool.normals) and len(pool.unlabelled):
            unlabelled, normal = (
                pool.weight[part].mean() for part in (pool.unlabelled, pool.normals)
            )
            pool.weight[pool.normals] *= unlabelled / normal
        return pool

    @property
    def unlabelled(self) -> np.ndarray:
        """Positions of the unlabelled rows that can be drawn."""
        return np.setdiff1d(np.flatnonzero(self.weight), self.normals, assume_unique=True)

    @property
    def worth(self) -> float:
        """As how many unlabelled rows each known normal row counts."""
        return worth(self.weight[self.normals].sum(), self.weight[self.unlabelled].sum())

    def learning_weight(self) -> np.ndarray:
        """How much each row counts when it is not drawn, but weighed, (n,)."""
        weight = self.weight.copy()
        weight[self.normals] *= self.worth
        return weight


def choose(
    labels: Labels,
    weight: np.ndarray,
    size: int,
    generator: np.random.Generator,
    earlier: np.ndarray | None = None,
) -> Chosen:
    """Choose at most `size` rows of each kind, or add what is known now to an earlier pool.

    Known normal rows are all in a pool if they leave half of it to unlabelled ones.
    """
    is_other = ~(labels.is_anomaly | labels.is_normal)
    labelled, normal, unlabelled = (
        np.flatnonzero(which & (weight > 0))
        for which in (labels.is_anomaly, labels.is_normal, is_other)
    )
    labelled = choose_rows(labelled, size, generator)
    normal = choose_rows(normal, max(size // 2, size - len(unlabelled)), generator)
    before = choose_rows(unlabelled, size - len(normal), generator) if earlier is None else earlier
    others = np.union1d(before, normal)
    stands_for = _stands_for(others, labels, weight)
    normals = np.flatnonzero(labels.is_normal[others] & (stands_for > 0))
    positions = None if earlier is None else np.searchsorted(others, earlier)
    return Chosen(labelled, others, normals, stands_for, positions)


def _stands_for(pool: np.ndarray, labels: Labels, weight: np.ndarray) -> np.ndarray:
    """How many rows of the table each row of a pool stands for, relative to the most, (n,).

    Few of a large table's unlabelled rows are in the pool, but all known normal ones are, and these
    stand for nobody but themselves. Rows that are labelled anomalies now stand for none.
    """
    counts = weight > 0
    is_other = ~(labels.is_anomaly | labels.is_normal) & counts
    is_normal = labels.is_normal & counts
    stands_for: np.ndarray = weight[pool] * ~labels.is_anomaly[pool]
    factor = 1.0
    if is_normal.any() and is_other[pool].any():
        share = [kind[pool].sum() / kind.sum() for kind in (is_other, is_normal)]
        factor = share[0] / share[1]
    stands_for[is_normal[pool]] *= factor
    most = max(weight[is_other].max(initial=0), factor * weight[is_normal].max(initial=0))
    stands_for /= most
    return stands_for


def choose_rows(numbers: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    """Select row indices at random, ascending, which bounds the cost of a fit."""
    if len(numbers) <= size:
        return numbers
    return np.sort(generator.choice(numbers, size, replace=False))


def find_positions(labelled: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Positions of labelled rows in a pool, -1 for those outside it; both are ascending."""
    positions = np.searchsorted(pool, labelled)
    is_in_pool = pool[np.minimum(positions, len(pool) - 1)] == labelled
    return np.where(is_in_pool, positions, -1)


def checksum(rows: Matrix) -> int:
    """A number that other rows are very unlikely to share."""
    parts = (rows.data, rows.indices, rows.indptr) if sp.issparse(rows) else (rows,)
    found = 0
    for part in parts:
        found = crc32(np.ascontiguousarray(part).data, found)
    return found


def read_ascending(tensors: dict[str, np.ndarray], name: str, size: int, end: int) -> np.ndarray:
    """Ascending numbers from 0 to below `end`, out of a model file."""
    numbers = tensor(tensors, name, (size,), "int64")
    if size and not (numbers[0] >= 0 and ascends(numbers) and numbers[-1] < end):
        raise edited("the ensemble", f"{name!r} must be ascending numbers below {end}")
    return numbers


def read_shares(tensors: dict[str, np.ndarray], name: str, size: int) -> np.ndarray:
    """Numbers from 0 to 1, out of a model file."""
    shares = tensor(tensors, name, (size,), "float64")
    if size and not (shares.min() >= 0 and shares.max() <= 1):
        raise edited("the ensemble", f"{name!r} must be numbers from 0 to 1")
    return shares
