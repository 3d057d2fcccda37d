"""The paper's protocol (section 5.5): from a labelled data set to a task with few labels.

No test row, nor a copy of one, ever enters training: the labelled anomalies and the contamination
are both drawn from the training anomalies of this run's own split.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

TEST_SHARE = 0.2
SWAPPED_SHARE = 0.05  # of the columns, where contamination has to be made


class Task(NamedTuple):
    """Few labelled anomalies, many unlabelled rows, and rows to rank."""

    train: Any  # (n, d)
    y: np.ndarray  # (n,) 1 for a labelled anomaly, 0 for an unlabelled row
    test: Any  # (t, d)
    is_anomaly: np.ndarray  # (t,) truth of the test rows


def make_task(
    rows: Any,
    is_anomaly: np.ndarray,
    *,
    seed: int,
    n_labelled: int = 30,
    contamination: float = 0.02,
) -> Task:
    """Draw one run.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    is_anomaly : bool array of shape (n,)
    seed : int
        Of the split and of all draws.
    n_labelled : int, default=30
        Labelled anomalies K.
    contamination : float, default=0.02
        Share of anomalies among the unlabelled rows. Where the training anomalies do not suffice,
        the missing ones are made of pairs of them, by swapping 5% of the columns.
    """
    if not 0 <= contamination < 1:
        raise ValueError(f"contamination={contamination} is not a share from 0 to below 1.")
    generator = np.random.default_rng(seed)
    normal, normal_test = _split(np.flatnonzero(~is_anomaly), generator)
    anomalies, anomalies_test = _split(np.flatnonzero(is_anomaly), generator)
    if len(anomalies) < max(2, n_labelled):
        raise ValueError(
            f"{n_labelled} labelled anomalies are asked for, but only {len(anomalies)} of the "
            f"{int(is_anomaly.sum())} anomalies fall into training; ask for fewer, and for a set "
            "with at least 3 anomalies."
        )
    labelled, spare = anomalies[:n_labelled], anomalies[n_labelled:]
    n_hidden = round(len(normal) * contamination / (1 - contamination))
    hidden = spare[:n_hidden]
    parts = [rows[labelled], rows[normal], rows[hidden]]
    if n_hidden > len(hidden):
        parts.append(_swapped(rows[anomalies], n_hidden - len(hidden), generator))
    train = sp.vstack(parts, format="csr") if sp.issparse(rows) else np.concatenate(parts)
    test = np.concatenate([normal_test, anomalies_test])
    y = (np.arange(train.shape[0]) < n_labelled).astype(int)
    return Task(train, y, rows[test], is_anomaly[test])


def _split(indices: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Training and test indices in random order."""
    shuffled = generator.permutation(indices)
    n_test = round(TEST_SHARE * len(shuffled))
    return shuffled[n_test:], shuffled[:n_test]


def _swapped(anomalies: Any, size: int, generator: np.random.Generator) -> Any:
    """Rows that are one anomaly, but for 5% of the columns, which another one gives."""
    n, d = anomalies.shape
    first = generator.integers(n, size=size)
    second = (first + generator.integers(1, n, size=size)) % n  # another one
    n_swapped = max(1, round(SWAPPED_SHARE * d))
    if not sp.issparse(anomalies):
        made = anomalies[first].copy()
        for row, other in zip(made, second, strict=True):
            columns = generator.choice(d, n_swapped, replace=False)
            row[columns] = anomalies[other, columns]
        return made
    made = []
    for one, other in zip(first, second, strict=True):
        taken = np.zeros(d, dtype=bool)
        taken[generator.choice(d, n_swapped, replace=False)] = True
        pair = sp.vstack([anomalies[[one]], anomalies[[other]]]).tocoo()
        keep = np.where(pair.row == 1, taken[pair.col], ~taken[pair.col])
        place = (np.zeros(keep.sum(), dtype=int), pair.col[keep])
        made.append(sp.csr_matrix((pair.data[keep], place), shape=(1, d), dtype=anomalies.dtype))
    return sp.vstack(made)
