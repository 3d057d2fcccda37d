"""The paper's protocol (section 5.5): from a labelled data set to a task with few labels.

No test row, nor anything derived from one, ever enters training: labelled anomalies and
contamination are both drawn from the training anomalies of the run's own split. The authors'
published script differs, see `make_task`. Duplicate rows of a data set, as in donors and celeba,
can fall on both sides of a split.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

TEST_SHARE = 0.2
SWAPPED_SHARE = 0.05  # of the columns, if contamination must be made
SCRIPT_SPLIT = 42  # seed of the only split in the authors' script
PROTOCOLS = ("paper", "script")


class Task(NamedTuple):
    """Few labelled anomalies, many unlabelled rows, and rows to rank."""

    train: Any  # (n, d)
    y: np.ndarray  # (n,) 1 for a labelled anomaly, 0 for an unlabelled row
    test: Any  # (t, d)
    is_anomaly: np.ndarray  # (t,) truth about the test rows
    origin: np.ndarray  # (t,) which rows of the data set the test rows are
    train_is_anomaly: np.ndarray  # (n,) truth about the training rows


def make_task(
    rows: Any,
    is_anomaly: np.ndarray,
    *,
    seed: int,
    n_labelled: int = 30,
    contamination: float = 0.02,
    protocol: str = "paper",
    wrong_labels: float = 0.0,
    may_be_labelled: np.ndarray | None = None,
) -> Task:
    """Draw one run.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    is_anomaly : bool array of shape (n,)
    seed : int
        Seed of the split and all draws.
    n_labelled : int, default=30
        Labelled anomalies K.
    contamination : float, default=0.02
        Share of anomalies among the unlabelled rows. If there are too few training anomalies,
        more are made from pairs of them by swapping 5% of the columns.
    protocol : "paper" or "script", default="paper"
        "script" does what the authors' published script does, for comparison only: every run has
        the same split, and all contamination is made by swapping from *all* anomalies, so test
        anomalies leak into training, all but 5% of their columns.
    wrong_labels : float, default=0.0
        Share of the labels that are mistakes: normal training rows labelled as anomalies.
    may_be_labelled : bool array of shape (n,), optional
        Anomalies that may be labelled; by default all.

    Returns
    -------
    task : Task
        Its training and test rows together take the memory of one copy of the data set.
    """
    _check(is_anomaly, n_labelled, contamination, wrong_labels, protocol)
    n_wrong = round(wrong_labels * n_labelled)
    generator = np.random.default_rng(seed)
    splitter = generator if protocol == "paper" else np.random.default_rng(SCRIPT_SPLIT)
    normal, normal_test = _split(np.flatnonzero(~is_anomaly), splitter)
    anomalies, anomalies_test = _split(np.flatnonzero(is_anomaly), splitter)
    if protocol == "script":
        anomalies = generator.permutation(anomalies)
    labelled, spare = _choose(anomalies, n_labelled - n_wrong, may_be_labelled)
    if may_be_labelled is not None:  # or those that may not be labelled would all be hidden first
        spare = generator.permutation(spare)
    n_hidden = round(len(normal) * contamination / (1 - contamination))
    if protocol == "paper":
        hidden, parents = spare[:n_hidden], anomalies
    else:
        hidden, parents = spare[:0], np.flatnonzero(is_anomaly)
    made = _swapped(rows[parents], n_hidden - len(hidden), generator)
    # The first normal rows are labelled by mistake; they are in random order.
    train = _gather(rows, np.concatenate([labelled, normal, hidden]), made)
    number = np.arange(train.shape[0])
    y = (number < n_labelled).astype(int)
    is_normal = (number >= len(labelled)) & (number < len(labelled) + len(normal))
    origin = np.concatenate([normal_test, anomalies_test])
    return Task(train, y, rows[origin], is_anomaly[origin], origin, ~is_normal)


def _check(
    is_anomaly: np.ndarray,
    n_labelled: int,
    contamination: float,
    wrong_labels: float,
    protocol: str,
) -> None:
    if not 0 <= contamination < 1:
        raise ValueError(f"contamination={contamination} is not a share from 0 to below 1.")
    if not 0 <= wrong_labels < 1:
        raise ValueError(f"wrong_labels={wrong_labels} is not a share from 0 to below 1.")
    if n_labelled < 1:
        raise ValueError(f"n_labelled={n_labelled}: at least one anomaly must be labelled.")
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol={protocol!r} is neither 'paper' nor 'script'.")
    n_anomalies = int(is_anomaly.sum())
    if n_anomalies < 3:
        raise ValueError(
            f"the set has {n_anomalies} anomalies among {len(is_anomaly)} rows; at least 3 are "
            "needed: 2 to train with and 1 to test."
        )


def _choose(
    anomalies: np.ndarray, n_labelled: int, may_be_labelled: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Split the training anomalies into labelled ones and others."""
    is_candidate = np.full(len(anomalies), True)
    if may_be_labelled is not None:
        is_candidate = may_be_labelled[anomalies]
    if is_candidate.sum() < n_labelled:
        raise ValueError(
            f"cannot label {n_labelled} anomalies: only {int(is_candidate.sum())} that may be "
            "labelled fall into training; ask for fewer."
        )
    is_labelled = is_candidate & (np.cumsum(is_candidate) <= n_labelled)
    return anomalies[is_labelled], anomalies[~is_labelled]


def _gather(rows: Any, indices: np.ndarray, made: Any) -> Any:
    """The rows at the indices, then the made ones, with a single copy."""
    if sp.issparse(rows):
        return sp.vstack([rows[indices], made], format="csr") if made.shape[0] else rows[indices]
    gathered = np.empty((len(indices) + len(made), rows.shape[1]), rows.dtype)
    np.take(rows, indices, axis=0, out=gathered[: len(indices)], mode="clip")
    gathered[len(indices) :] = made
    return gathered


def _split(indices: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Training and test indices in random order."""
    shuffled = generator.permutation(indices)
    n_test = round(TEST_SHARE * len(shuffled))
    return shuffled[n_test:], shuffled[:n_test]


def _swapped(anomalies: Any, size: int, generator: np.random.Generator) -> Any:
    """Anomalies with 5% of their columns taken from another anomaly."""
    n, d = anomalies.shape
    if not size:
        return anomalies[:0]
    first = generator.integers(n, size=size)
    second = (first + generator.integers(1, n, size=size)) % n  # another one
    n_swapped = max(1, round(SWAPPED_SHARE * d))
    pairs = zip(first, second, strict=True)
    if sp.issparse(anomalies):
        return _joined([_swap_sparse(anomalies, *pair, n_swapped, generator) for pair in pairs], d)
    made = anomalies[first]
    for row, other in zip(made, second, strict=True):
        columns = generator.choice(d, n_swapped, replace=False)
        row[columns] = anomalies[other, columns]
    return made


def _swap_sparse(
    anomalies: Any, one: int, other: int, n_swapped: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Columns, ascending, and values of one made row.

    Only columns in which either parent has a value are drawn. Their number among the `n_swapped`
    of all d columns is hypergeometric, so the distribution is the same as if all d columns were
    drawn from.
    """
    starts = anomalies.indptr
    parents = [slice(starts[parent], starts[parent + 1]) for parent in (one, other)]
    filled = np.union1d(*(anomalies.indices[parent] for parent in parents))
    size = generator.hypergeometric(len(filled), anomalies.shape[1] - len(filled), n_swapped)
    taken = generator.choice(filled, size, replace=False)
    columns, values = [], []
    for parent, is_giver in zip(parents, (False, True), strict=True):
        keep = np.isin(anomalies.indices[parent], taken) == is_giver
        columns.append(anomalies.indices[parent][keep])
        values.append(anomalies.data[parent][keep])
    columns_of_row = np.concatenate(columns)
    order = np.argsort(columns_of_row, kind="stable")
    return columns_of_row[order], np.concatenate(values)[order]


def _joined(made: list[tuple[np.ndarray, np.ndarray]], d: int) -> Any:
    """Columns and values of rows -> one CSR matrix (rows, d), built at once."""
    columns, values = (np.concatenate(part) for part in zip(*made, strict=True))
    starts = np.cumsum([0, *(len(row) for row, _ in made)])
    return sp.csr_matrix((values, columns, starts), shape=(len(made), d))
