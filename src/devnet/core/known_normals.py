"""How much known normal rows count: one rule for all detectors.

A dismissed alert is one row among many that nobody has looked at. If it counted as one of them, it
would hardly ever be drawn, and teach nothing.
"""

import numpy as np

from devnet.core.labels import Labels

WORTH = 20.0  # unlabelled rows that one known normal row counts as


def worth(normal: float, unlabelled: float) -> float:
    """As how many unlabelled rows each known normal row counts.

    Fewer than WORTH if the known normal rows would outweigh the unlabelled ones together, but
    never less than one. Both arguments are numbers of rows, or sums of their weights.
    """
    return float(np.clip(unlabelled / normal, 1.0, WORTH)) if normal else 1.0


def learning_weight(labels: Labels, sample_weight: np.ndarray | None) -> np.ndarray | None:
    """The weights (n,) to learn with: those of known normal rows are raised to their worth.

    Sample weights compare known normal rows with each other; on average one weighs as much as an
    unlabelled row, times its worth. Without known normal rows, the sample weights as they are.
    """
    if not labels.is_normal.any():
        return sample_weight
    weight = np.ones(len(labels.is_normal)) if sample_weight is None else sample_weight.copy()
    normal = labels.is_normal & (weight > 0)
    unlabelled = ~(labels.is_anomaly | labels.is_normal) & (weight > 0)
    if normal.any() and unlabelled.any():
        level = weight[unlabelled].mean() / weight[normal].mean()
        weight[normal] *= level * worth(normal.sum(), unlabelled.sum())
    return weight
