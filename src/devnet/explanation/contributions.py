"""Why a row has its score: what each column adds to it, compared with a typical row.

A row's contributions add up to its score minus the score of the baseline, to within a thousandth.
A detector with a structure that can be read explains itself: path contributions of trees,
integrated gradients of networks. Any other is explained by random walks.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from devnet.core.rows import WIDE
from devnet.core.sparse_matrix import refuse_malformed, without_duplicates
from devnet.explanation.random_walks import dense_walks, sparse_walks

TYPICAL_ROWS = 20_000  # unlabelled rows that medians are taken over
BLOCK_VALUES = 1 << 24  # similarities, or values of profiles, computed together

Matrix = Any  # NumPy array or CSR array


def typical_row(detector: Any, rows_unlabelled: Matrix) -> np.ndarray:
    """The baseline (d,) that contributions are measured from.

    The detector's own, if it has one. Otherwise the median of the unlabelled rows, or of an evenly
    spaced selection if there are very many; if rows are wide and sparse, the empty row.
    """
    own: np.ndarray | None = detector.baseline
    if own is not None:
        return own
    if _is_wide(rows_unlabelled):
        return np.zeros(rows_unlabelled.shape[1], np.float32)
    if sp.issparse(rows_unlabelled):
        refuse_malformed(rows_unlabelled)
    chosen = rows_unlabelled[:: -(-rows_unlabelled.shape[0] // TYPICAL_ROWS)]
    median: np.ndarray = np.median(_dense(chosen), axis=0)
    return median


def baseline_score(detector: Any, baseline: np.ndarray) -> float:
    """Score of the baseline, to which contributions are added."""
    return float(detector.anomaly_score(baseline[None])[0])


def contributions(
    detector: Any,
    rows: Matrix,
    baseline: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    *,
    random_state: Any = 0,
) -> Matrix:
    """What each column, or group of columns, adds to the scores of rows.

    Parameters
    ----------
    detector : fitted detector, or OwnEstimator
    rows : array or CSR matrix of shape (n, d)
    baseline : array of shape (d,), optional
        Usually `typical_row(detector, unlabelled_rows)`. Required unless the detector has its own,
        as the deviation ensemble does, or rows are wide and sparse: their baseline is the empty
        row.
    groups : array of int of shape (d,), optional
        Group of each column, from 0 on. Columns that belong together, such as the values of a
        category, share a group and get one contribution.
    random_state : int, numpy RandomState or Generator, default=0
        Seed of random walks, for detectors that need them.

    Returns
    -------
    contributions : array of shape (n, d) or (n, n_groups)
        CSR if rows are wide and sparse.
    """
    if sp.issparse(rows):
        refuse_malformed(rows)
        rows = without_duplicates(sp.csr_array(rows))
    baseline = _check_baseline(detector, rows, baseline)
    groups = None if groups is None else _check_groups(groups, rows.shape[1])
    found = detector.own_contributions(rows, baseline)
    if found is not None:
        return found if groups is None else sum_groups(found, groups)
    walked = np.arange(rows.shape[1]) if groups is None else groups
    n_groups = int(walked.max()) + 1
    score = detector.anomaly_score
    if _is_wide(rows):
        refuse_other_than_empty(baseline)
        return sparse_walks(score, rows, walked, n_groups, random_state=random_state)
    dense = _dense(rows)
    return dense_walks(score, dense, baseline, walked, n_groups, random_state=random_state)


def sum_groups(by_column: Matrix, groups: np.ndarray) -> Matrix:
    """Contributions of columns (n, d), added up by the group of each column (d,): (n, n_groups)."""
    n_groups = int(groups.max()) + 1
    if sp.issparse(by_column):
        parts = (by_column.data, groups[by_column.indices], by_column.indptr)
        summed = sp.csr_array(parts, shape=(by_column.shape[0], n_groups), copy=True)
        summed.sum_duplicates()
        return summed
    size = (len(groups), n_groups)
    members = sp.csr_array((np.ones(len(groups)), (np.arange(len(groups)), groups)), shape=size)
    return by_column @ members


class Nearest(NamedTuple):
    """For each row, the labelled anomaly with the most similar contributions."""

    position: np.ndarray  # (n,) among the labelled anomalies
    similarity: np.ndarray  # (n,) cosine of both, from -1 to 1; 0 if either has no contributions


def nearest(profile: Matrix, profiles_of_labelled: Matrix) -> Nearest:
    """Find the labelled anomaly with the most similar contributions, for each row.

    Parameters
    ----------
    profile : array or CSR matrix of shape (n, c)
        Contributions of rows.
    profiles_of_labelled : array or CSR matrix of shape (k, c)
        Contributions of labelled anomalies.
    """
    n, k = profile.shape[0], profiles_of_labelled.shape[0]
    if k == 0:
        raise ValueError("there is no labelled anomaly to compare with; label at least one.")
    labelled = _unit(profiles_of_labelled)
    index, similarity = np.empty(n, dtype=np.int64), np.empty(n)
    step = max(1, BLOCK_VALUES // max(k, profile.shape[1]))
    for start in range(0, n, step):
        block = slice(start, start + step)
        cosine = _dense(_unit(profile[block]) @ labelled.T)
        index[block] = cosine.argmax(axis=1)
        similarity[block] = cosine.max(axis=1).clip(-1, 1)
    return Nearest(index, similarity)


def _check_baseline(detector: Any, rows: Matrix, baseline: np.ndarray | None) -> np.ndarray:
    if baseline is None:
        baseline = detector.baseline
    if baseline is None and _is_wide(rows):
        return np.zeros(rows.shape[1], np.float32)
    if baseline is None:
        raise ValueError(
            f"{type(detector).__name__} has no baseline of its own to measure contributions from; "
            "pass one, for example typical_row(detector, unlabelled_rows)."
        )
    baseline = np.asarray(baseline)
    if baseline.shape != (rows.shape[1],):
        raise ValueError(
            f"the baseline has shape {baseline.shape}, but rows have {rows.shape[1]} columns; give "
            "one value per column."
        )
    return baseline


def refuse_other_than_empty(baseline: np.ndarray) -> None:
    """Refuse a baseline other than the empty row, for wide and sparse rows."""
    if baseline.any():
        raise ValueError(
            "the baseline of wide and sparse rows is the empty row, but the given one has values "
            "other than 0; leave it out."
        )


def _check_groups(groups: np.ndarray, n_columns: int) -> np.ndarray:
    groups = np.asarray(groups)
    if groups.shape != (n_columns,) or groups.dtype.kind not in "iu" or groups.min() < 0:
        raise ValueError(
            f"groups are {groups.dtype.name} of shape {groups.shape}, but must be a whole number "
            f"from 0 on for each of the {n_columns} columns."
        )
    return groups


def _unit(rows: Matrix) -> Matrix:
    """Rows scaled to length one; empty rows stay empty."""
    length = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    factor = np.divide(1, length, out=np.zeros(len(length)), where=length > 0)
    return sp.diags_array(factor) @ rows if sp.issparse(rows) else rows * factor[:, None]


def _is_wide(rows: Matrix) -> bool:
    return bool(sp.issparse(rows) and rows.shape[1] >= WIDE)


def _dense(rows: Matrix) -> np.ndarray:
    dense: np.ndarray = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    return dense
