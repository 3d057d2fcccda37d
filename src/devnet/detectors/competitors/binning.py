"""Columns as bin numbers, so that boosting considers at most 254 edges per column.

scikit-learn would set the edges by the weights of the rows. With balanced classes half of them
would lie among a few labelled anomalies, and finding them takes most of the time of a fit.
"""

import numpy as np

from devnet.core.rows import Tileable, dense_tiles

MAX_BINS = 255
SAMPLE_ROWS = 50_000  # rows used to find edges


def find_edges(
    rows: Tileable, chosen: np.ndarray, generator: np.random.Generator
) -> list[np.ndarray]:
    """Ascending edges between the bins of each column, from chosen rows; bin k ends at edge k."""
    if len(chosen) > SAMPLE_ROWS:
        chosen = np.sort(generator.choice(chosen, SAMPLE_ROWS, replace=False))
    sample = rows.dense(chosen)
    return [_edges(column.astype(np.float64)) for column in sample.T]


def to_bins(rows: Tileable, edges: list[np.ndarray]) -> np.ndarray:
    """The bin of each value, (n, d) uint8: how many edges lie below it."""
    bins = np.empty(rows.shape, np.uint8)
    for selection, tile in dense_tiles(rows, slice(0, rows.shape[0])):
        for column, found in enumerate(edges):
            bins[selection, column] = np.searchsorted(found, tile[:, column])
    return bins


def columns_to_cut(bins: np.ndarray, fewest: int) -> np.ndarray:
    """Columns of bins (n, d) with an edge that leaves at least so many rows on either side.

    Trees whose leaves have as many rows never cut another one. If there is none, the first column.
    """
    n = len(bins)
    found = []
    for column in range(bins.shape[1]):
        below = np.cumsum(np.bincount(bins[:, column]))  # rows up to the end of each bin
        if np.minimum(below, n - below).max() >= fewest:
            found.append(column)
    return np.array(found or [0])


def _edges(values: np.ndarray) -> np.ndarray:
    distinct = np.unique(values)
    if len(distinct) <= MAX_BINS:
        middles: np.ndarray = (distinct[:-1] + distinct[1:]) / 2
        return middles
    levels = np.linspace(0, 1, MAX_BINS + 1)[1:-1]
    return np.unique(np.quantile(values, levels))
