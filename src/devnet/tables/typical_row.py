"""The typical row that reasons start from: every table column has a value that occurs."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from devnet.core.rows import WIDE
from devnet.explanation import baseline_score
from devnet.tables.encoder import TableEncoder

MOST_ROWS = 20_000  # unlabelled rows that it is chosen from
N_SCORED = 1_000  # rows that its score is compared with
MIDDLE = (0.25, 0.75)  # quantiles of their scores between which a row is typical


def typical_row(encoder: TableEncoder, detector: Any, unlabelled: Any) -> np.ndarray:
    """The encoded row (d,) with the most typical value of each table column.

    Medians of single matrix columns can be a value that no row has: where no category has a
    majority, the median of all its columns is 0. So of the values that occur in a table column,
    the one nearest to its medians is taken; of equally near ones, the most common. Texts and
    wide vectors are empty. Values that rarely occur together can score high: if most rows score
    less, the row nearest to it is taken whose score is in the middle.
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
    return _in_the_middle(baseline, chosen, detector, layout)


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


def _in_the_middle(baseline: np.ndarray, rows: Any, detector: Any, layout: Any) -> np.ndarray:
    """The row itself; if it scores high, one of `rows` that differs from it in few columns."""
    rows = rows[:: max(1, -(-rows.shape[0] // N_SCORED))]
    is_kept = np.zeros(len(baseline), dtype=bool)
    distance = np.zeros(rows.shape[0])
    for block, is_wide in zip(layout.spans(), layout.is_wide, strict=True):
        if not is_wide:
            is_kept[block] = True
            apart = np.abs(dense_block(rows, block) - baseline[block]).sum(axis=1)
            distance += np.minimum(apart, 1)
    rows = sp.csr_array(rows * is_kept) if sp.issparse(rows) else rows * is_kept
    scores = detector.anomaly_score(rows)
    low, high = np.quantile(scores, MIDDLE)
    if baseline_score(detector, baseline) <= high:
        return baseline
    is_middle = (scores >= low) & (scores <= high)
    nearest = int(np.where(is_middle, distance, np.inf).argmin())
    found: np.ndarray = dense_block(rows[[nearest]], slice(None))[0].astype(np.float32)
    return found


def _middle(values: np.ndarray) -> np.ndarray:
    """Of the rows of (n, w), the one nearest to the medians, (w,)."""
    distance = np.abs(values - np.median(values, axis=0)).sum(axis=1)
    near = values[distance <= distance.min() + 1e-6]
    near = near[np.lexsort(near.T[::-1])]  # equal rows follow each other
    is_first = np.r_[True, (near[1:] != near[:-1]).any(axis=1)]
    starts = np.flatnonzero(is_first)
    counts = np.diff(starts, append=len(near))
    middle: np.ndarray = near[starts[counts.argmax()]]
    return middle
