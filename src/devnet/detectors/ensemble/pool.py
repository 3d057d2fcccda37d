"""The pool: the rows that an ensemble learns from."""

from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from devnet.core.layout import Layout
from devnet.core.model_file import ascends, edited, tensor

Matrix = Any
"""Rows as learners take them: a float32 array (b, d), or float32 CSR if d is very large."""


class Pool(NamedTuple):
    """Unlabelled rows and labelled anomalies, with the weights they are drawn with."""

    rows: Matrix  # (n, d)
    weight: np.ndarray  # (n,) at least one above 0
    anomalies: Matrix  # (K, d)
    anomaly_weight: np.ndarray  # (K,)
    labelled: np.ndarray  # (K,) which training rows the anomalies are
    positions: np.ndarray  # (K,) of the anomalies among the unlabelled rows, or -1
    layout: Layout | None = None  # of the d columns


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
