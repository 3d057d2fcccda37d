"""Screening: how many anomalies hide among the unlabelled rows, and which rows they may be."""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv
from sklearn.isotonic import isotonic_regression

from devnet.core.model_file import field, is_finite_number
from devnet.detectors.ensemble.learners import OutOfBag
from devnet.detectors.ensemble.pool import Pool
from devnet.significance.calibration import MIN_LABELLED

logger = logging.getLogger(__name__)

MIN_TAIL = 0.2  # a usable threshold has more than this share of labelled anomalies above it
MAX_SHARE = 0.2  # larger estimates are treated as this
MAX_POSTERIOR = 0.99  # never certain
MAX_GROUPS = 6
GROUP_LABELLED = 3  # labelled anomalies that a group should have
ERROR = 0.025  # probability that a tail lies beyond either of its bounds
LOOK_BACK = 0.4  # labelled tail over which the fall of the ratio is measured


class HiddenShare(NamedTuple):
    """Share of hidden anomalies among the unlabelled rows, from `low` to `high`."""

    value: float
    low: float
    high: float

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> "HiddenShare":
        """The share of a model file, or a ModelFileError."""
        return cls(*map(float, field(header, "hidden_anomaly_share", _is_share)))


def _is_share(value: Any) -> bool:
    is_numbers = isinstance(value, list) and len(value) == 3 and all(map(is_finite_number, value))
    return is_numbers and 0 <= value[1] <= value[0] <= value[2] <= 1


class Screening(NamedTuple):
    """What scores reveal about the unlabelled rows."""

    share: HiddenShare
    posterior: np.ndarray  # (n,) probability that a row is a hidden anomaly


def screen(pool: Pool, look: Callable[[], OutOfBag]) -> Screening:
    """Judge the unlabelled rows of a pool by quick first scores of all its rows.

    A row that is known to be normal is no hidden anomaly, and tells nothing about how many hide
    among the others.
    """
    posterior = np.zeros(pool.rows.shape[0])
    n_labelled = len(pool.labelled)
    if n_labelled < MIN_LABELLED:
        logger.info(
            "screening for hidden anomalies is off: it needs %d labelled anomalies; there are %d",
            MIN_LABELLED,
            n_labelled,
        )
        return Screening(HiddenShare(0.0, 0.0, 1.0), posterior)
    scores, counts = look(), pool.unlabelled
    if not len(counts):
        return Screening(HiddenShare(0.0, 0.0, 0.0), posterior)
    share = hidden_share(scores.unlabelled[counts], scores.labelled)
    posterior[counts] = _posterior(scores.unlabelled[counts], scores.labelled, share.value)
    return Screening(share, posterior)


def tails(
    unlabelled: np.ndarray, labelled: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of unlabelled rows and of labelled anomalies at or above each labelled anomaly.

    Scores (n,), ascending, with weights if they differ, and (K,) -> (K,) twice, from the lowest
    anomaly to the highest.
    """
    thresholds = np.sort(labelled)
    below = np.arange(len(unlabelled) + 1) if weight is None else np.append(0, np.cumsum(weight))
    above = 1 - below[np.searchsorted(unlabelled, thresholds)] / below[-1]
    return above, 1 - np.searchsorted(thresholds, thresholds) / len(labelled)


def hidden_share(unlabelled: np.ndarray, labelled: np.ndarray) -> HiddenShare:
    """Share of hidden anomalies, from scores of unlabelled rows (n,) and labelled anomalies (K,).

    Hidden anomalies score as labelled ones do, so above any threshold the share of unlabelled rows
    is at least `share` times that of labelled anomalies, with equality beyond the reach of other
    rows. The value is the lowest ratio of both tails; low and high allow for chance in both. If
    other rows look like anomalies, scores do not reveal how low the truth is: the ratio still
    falls towards the highest scores, and the low end is its extrapolation.
    """
    above, tail = tails(np.sort(unlabelled), labelled)
    n, k = len(unlabelled), len(labelled)
    is_long = np.round(tail * k) > MIN_TAIL * k
    above, tail = above[is_long], tail[is_long]
    ratio = above / tail
    best = int(np.argmin(ratio))
    lowest = _least(above, n) / _most(tail, k)
    back = int(np.argmin(np.abs(tail - tail[best] - LOOK_BACK)))
    highest = _most(above, n) / _least(tail, k)
    falls = max(0.0, lowest[back] - highest[best])  # beyond chance
    slope = falls / max(tail[back] - tail[best], 1 / k)
    high = min(1.0, float(highest.min()))
    low = float(lowest[best] - slope * tail[best])
    value = float(min(ratio[best], high))
    return HiddenShare(value, min(max(low, 0.0), value), high)


def _least(share: np.ndarray, n: int) -> np.ndarray:
    """Lower bound of a share observed among n, at the level ERROR (Clopper and Pearson)."""
    seen = np.round(share * n)
    return np.where(seen > 0, betaincinv(np.maximum(seen, 1), n - seen + 1, ERROR), 0.0)


def _most(share: np.ndarray, n: int) -> np.ndarray:
    """Upper bound of a share observed among n."""
    return 1 - _least(1 - share, n)


def _posterior(unlabelled: np.ndarray, labelled: np.ndarray, share: float) -> np.ndarray:
    """Bayes' rule in groups with equally many labelled scores, made monotone: (n,)."""
    n_groups = max(1, min(MAX_GROUPS, len(labelled) // GROUP_LABELLED))
    edges = np.unique(np.quantile(labelled, np.arange(1, n_groups) / n_groups))
    group, labelled_group = (
        np.searchsorted(edges, scores, side="right") for scores in (unlabelled, labelled)
    )
    in_group = np.bincount(group, minlength=len(edges) + 1) / len(unlabelled)
    labelled_in_group = np.bincount(labelled_group, minlength=len(edges) + 1) / len(labelled)
    posterior = np.ones(len(in_group))
    hidden = min(share, MAX_SHARE) * labelled_in_group
    np.divide(hidden, in_group, out=posterior, where=in_group > hidden)
    monotone: np.ndarray = isotonic_regression(posterior, sample_weight=in_group + 1e-9)
    capped: np.ndarray = np.minimum(monotone, MAX_POSTERIOR)
    return capped[group]
