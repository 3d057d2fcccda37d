"""The pool: the rows that an ensemble learns from."""

from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import scipy.sparse as sp

Matrix = Any
"""Rows as learners take them: a float32 array (b, d), or float32 CSR where d is very large."""


class Pool(NamedTuple):
    """Unlabelled rows and labelled anomalies, with the weights that they are drawn by."""

    rows: Matrix  # (n, d)
    weight: np.ndarray  # (n,) at least one above 0
    anomalies: Matrix  # (K, d)
    anomaly_weight: np.ndarray  # (K,)
    labelled: np.ndarray  # (K,) which training rows the anomalies are
    places: np.ndarray  # (K,) where these stand among the unlabelled rows too, else -1


def choose_rows(numbers: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    """A random selection of row numbers, ascending, that bounds the cost of a fit."""
    if len(numbers) <= size:
        return numbers
    return np.sort(generator.choice(numbers, size, replace=False))


def find_places(labelled: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Where labelled rows stand in a pool, -1 for those that do not; both are ascending."""
    places = np.searchsorted(pool, labelled)
    is_there = pool[np.minimum(places, len(pool) - 1)] == labelled
    return np.where(is_there, places, -1)


def checksum(rows: Matrix) -> int:
    """A number that other rows would hardly have."""
    parts = (rows.data, rows.indices, rows.indptr) if sp.issparse(rows) else (rows,)
    found = 0
    for part in parts:
        found = crc32(np.ascontiguousarray(part).data, found)
    return found
