"""LeSiNN: the mean distance to the nearest row of each of many small subsamples.

G. Pang, K. M. Ting, D. Albrecht. LeSiNN: Detecting Anomalies by Identifying Least Similar Nearest
Neighbours. ICDM Workshops 2015.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.core.arrays import Array, namespace
from devnet.core.rows import Rows, dense_tiles, sparse_tiles

N_SUBSAMPLES = 50
SUBSAMPLE_SIZE = 8
N_POINTS = N_SUBSAMPLES * SUBSAMPLE_SIZE


def draw_subsamples(rows: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Row indices (400,): the first row of each of the 50 subsamples, then the second, and so on.

    If there are very few rows, some occur twice in a subsample.
    """
    repeats = len(rows) < SUBSAMPLE_SIZE
    drawn = [generator.choice(rows, SUBSAMPLE_SIZE, replace=repeats) for _ in range(N_SUBSAMPLES)]
    return np.stack(drawn, axis=1).ravel()


def mean_nearest(squared: Array) -> Array:
    """Squared distances (..., 400) to the subsamples' rows -> scores (...)."""
    xp = namespace(squared)
    return xp.sqrt(xp.clip(xp.amin(_by_subsample(squared), -2), 0, None)).mean(-1)


def _by_subsample(squared: Array) -> Array:
    return squared.reshape(*squared.shape[:-1], SUBSAMPLE_SIZE, N_SUBSAMPLES)


def lesinn_scores(rows: Rows, points: Rows) -> np.ndarray:
    """Score rows (n, d) in input space; `points` (400, d) are the rows of the subsamples."""
    scores = np.empty(rows.shape[0])
    subsample: Any = points.sparse(slice(None)) if rows.is_sparse else points.dense(slice(None))
    subsample = subsample.astype(np.float64)
    squares = (subsample * subsample).sum(1)
    tiles = sparse_tiles if rows.is_sparse else dense_tiles
    for selection, tile in tiles(rows, slice(0, rows.shape[0])):
        product = tile @ subsample.T
        distances = -2 * (product.toarray() if sp.issparse(product) else product)
        distances += squares
        distances += (tile * tile).sum(1)[:, None]
        scores[selection] = mean_nearest(distances)
    return scores
