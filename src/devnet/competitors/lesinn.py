"""LeSiNN: the mean distance to the nearest row of each of many small subsamples.

G. Pang, K. M. Ting, D. Albrecht. LeSiNN: Detecting Anomalies by Identifying Least Similar Nearest
Neighbours. ICDM Workshops 2015.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.arrays import Array, namespace
from devnet.rows import Rows, dense_tiles, sparse_tiles

N_SUBSAMPLES = 50
SUBSAMPLE_SIZE = 8
N_POINTS = N_SUBSAMPLES * SUBSAMPLE_SIZE


def draw_subsamples(rows: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Row numbers of all subsamples, one after the other; of very few rows some repeat."""
    repeats = len(rows) < SUBSAMPLE_SIZE
    return np.concatenate(
        [generator.choice(rows, SUBSAMPLE_SIZE, replace=repeats) for _ in range(N_SUBSAMPLES)]
    )


def mean_nearest(squared: Array) -> Array:
    """Squared distances (..., 400) to the subsamples' rows -> scores (...)."""
    xp = namespace(squared)
    nearest = xp.amin(squared.reshape(*squared.shape[:-1], N_SUBSAMPLES, SUBSAMPLE_SIZE), -1)
    return xp.sqrt(nearest).mean(-1)


def lesinn_scores(rows: Rows, points: Rows) -> np.ndarray:
    """Score rows (n, d) by subsamples whose rows are `points` (400, d), in input space."""
    whole = slice(0, rows.shape[0])
    scores = np.empty(rows.shape[0])
    if rows.is_sparse:
        subsample: Any = points.sparse(slice(None)).astype(np.float64)
        squares = np.asarray(subsample.multiply(subsample).sum(1)).ravel()
        for place, part in sparse_tiles(rows, whole):
            scores[place] = mean_nearest(_sparse_distances(part, subsample.T.tocsc(), squares))
        return scores
    subsample = points.dense(slice(None)).astype(np.float64)
    squares = (subsample * subsample).sum(1)
    for place, tile in dense_tiles(rows, whole):
        own = (tile * tile).sum(1)
        distances = np.maximum(own[:, None] + squares - 2 * (tile @ subsample.T), 0)
        scores[place] = mean_nearest(distances)
    return scores


def _sparse_distances(part: Any, subsample: Any, squares: np.ndarray) -> np.ndarray:
    cross = sp.csr_array(part @ subsample).toarray()
    own = np.asarray(part.multiply(part).sum(1)).ravel()
    distances: np.ndarray = np.maximum(own[:, None] + squares - 2 * cross, 0)
    return distances
