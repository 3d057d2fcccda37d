"""The typical row that reasons start from: every table column has a value that occurs."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.core.rows import WIDE
from devnet.tables.encoder import TableEncoder

MOST_ROWS = 20_000  # unlabelled rows that it is chosen from


def typical_row(encoder: TableEncoder, detector: Any, unlabelled: Any) -> np.ndarray:
    """The encoded row (d,) with the most typical value of each table column.

    Medians of single matrix columns can be a value that no row has: where no category has a
    majority, the median of all its columns is 0. So of the values that occur in a table column,
    the one nearest to its medians is taken; of equally near ones, the most common. Texts and
    wide vectors are empty.
    """
    baseline = np.zeros(encoder.n_columns, np.float32)
    is_wide = sp.issparse(unlabelled) and unlabelled.shape[1] >= WIDE
    if is_wide and (detector.baseline is None or not detector.baseline.any()):
        return baseline  # the only one that such a detector can start from
    chosen = some_rows(unlabelled)
    layout = encoder.layout
    for block, is_block_wide in zip(layout.spans(), layout.is_wide, strict=True):
        if not is_block_wide:
            baseline[block] = _middle(dense_block(chosen, block))
    return baseline


def typical_text(encoder: TableEncoder) -> str:
    """What the typical row is, at the beginning of a sentence or by itself."""
    return "a typical row, without text" if encoder.has_text else "a typical row"


def some_rows(matrix: Any) -> Any:
    """At most MOST_ROWS rows, evenly spaced; CSC if sparse, as columns are taken from them."""
    chosen = matrix[:: max(1, -(-matrix.shape[0] // MOST_ROWS))]
    return sp.csc_array(chosen) if sp.issparse(chosen) else chosen


def dense_block(matrix: Any, block: slice) -> np.ndarray:
    """The matrix columns of one table column, (n, w)."""
    part = matrix[:, block]
    dense: np.ndarray = part.toarray() if sp.issparse(part) else part
    return dense


def _middle(values: np.ndarray) -> np.ndarray:
    """Of the rows of (n, w), the one nearest to the medians, (w,)."""
    distance = np.abs(values - np.median(values, axis=0)).sum(axis=1)
    near = values[distance <= distance.min() + 1e-6]
    found, counts = np.unique(near, axis=0, return_counts=True)
    middle: np.ndarray = found[counts.argmax()]
    return middle
