"""Ranking quality on real tables: the raw table for our model, a cleaned one for its rivals.

60% of the rows of either kind are for training. A few of their anomalies are labelled; of the
others, as many stay hidden as the contamination allows, and the rest are left out. All other rows
are for testing.
"""

from typing import Any

import numpy as np

from devnet.datasets.raw_loading import LoadedTable, clean_matrix
from devnet.experiments.outcome import Outcome, auc, fit_and_score
from devnet.experiments.protocol import Task

TRAINING_SHARE = 0.6


def raw_tables(
    detector: Any,
    dataset: LoadedTable,
    seed: int,
    *,
    n_labelled: int = 20,
    contamination: float = 0.02,
) -> Outcome:
    """Ranking quality on the test rows of a raw table."""
    train, y, test = draw_rows(dataset.is_anomaly, n_labelled, contamination, seed)
    rows = _as_read_by(detector, dataset)
    is_anomaly = dataset.is_anomaly[test]
    truth = dataset.is_anomaly[train]
    task = Task(_take(rows, train), y, _take(rows, test), is_anomaly, test, truth)
    scores, seconds = fit_and_score(detector, task)
    return Outcome(auc(is_anomaly, scores), seconds)


def draw_rows(
    is_anomaly: np.ndarray, n_labelled: int, contamination: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, 1 for those labelled and 0 for others, and test rows."""
    generator = np.random.default_rng(seed)
    others, anomalies = (
        generator.permutation(np.flatnonzero(is_anomaly == kind)) for kind in (False, True)
    )
    n_others, n_anomalies = (round(TRAINING_SHARE * len(rows)) for rows in (others, anomalies))
    if n_anomalies < n_labelled:
        raise ValueError(
            f"cannot label {n_labelled} anomalies: only {n_anomalies} fall into training; ask for "
            "fewer."
        )
    n_hidden = int(contamination / (1 - contamination) * n_others)
    learned = anomalies[: min(n_anomalies, n_labelled + n_hidden)]
    train = np.concatenate([learned, others[:n_others]])
    y = (np.arange(len(train)) < n_labelled).astype(int)
    test = np.concatenate([anomalies[n_anomalies:], others[n_others:]])
    order = generator.permutation(len(train))
    return train[order], y[order], test


def _as_read_by(detector: Any, dataset: LoadedTable) -> Any:
    frame = getattr(getattr(detector, "estimator", None), "frame", None)
    return clean_matrix(dataset.clean)[0] if frame is None else getattr(dataset, frame)


def _take(rows: Any, chosen: np.ndarray) -> Any:
    if isinstance(rows, np.ndarray):
        return rows[chosen]
    return rows.iloc[chosen].reset_index(drop=True)
