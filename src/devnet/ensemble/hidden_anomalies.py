"""Screening: how many anomalies hide among the unlabelled rows, and which rows they may be."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from devnet.ensemble.learners import OutOfBag, Pool

logger = logging.getLogger(__name__)

MIN_LABELLED = 5  # fewer say nothing about a share
MIN_TAIL = 0.2  # share of the labelled anomalies that must lie above a threshold
MAX_SHARE = 0.2
MAX_POSTERIOR = 0.99  # nobody is sure
MAX_GROUPS = 6
GROUP_LABELLED = 3  # labelled anomalies that a group should have
N_RESAMPLES = 200
INTERVAL = (0.05, 0.95)


class HiddenShare(NamedTuple):
    """Share of hidden anomalies among the unlabelled rows, with a 90% interval."""

    value: float
    low: float
    high: float


class Screening(NamedTuple):
    """What scores tell about the unlabelled rows."""

    share: HiddenShare
    posterior: np.ndarray  # (n,) probability that a row is a hidden anomaly


def screen(pool: Pool, look: Callable[[], OutOfBag], generator: np.random.Generator) -> Screening:
    """Judge the unlabelled rows of a pool by a first look at them beside the labelled anomalies."""
    posterior = np.zeros(pool.rows.shape[0])
    n_labelled = len(pool.labelled)
    if n_labelled < MIN_LABELLED:
        logger.info(
            "screening of hidden anomalies is off: it takes %d labelled anomalies, here are %d",
            MIN_LABELLED,
            n_labelled,
        )
        return Screening(HiddenShare(0.0, 0.0, 1.0), posterior)
    scores, counts = look(), pool.weight > 0
    unlabelled, labelled = scores.unlabelled[counts], scores.labelled
    ordered = np.sort(unlabelled)
    value = _share(ordered, labelled)
    resampled = [
        _share(ordered, generator.choice(labelled, n_labelled)) for _ in range(N_RESAMPLES)
    ]
    low, high = np.quantile(resampled, INTERVAL)
    share = HiddenShare(value, min(value, float(low)), max(value, float(high)))
    posterior[counts] = _posterior(unlabelled, labelled, value)
    return Screening(share, posterior)


def _share(unlabelled: np.ndarray, labelled: np.ndarray) -> float:
    """Largest share that leaves no threshold with fewer unlabelled rows above than hidden ones.

    Hidden anomalies score as labelled ones do, so the unlabelled tail above any threshold is at
    least `share` times the labelled tail. `unlabelled` is sorted.
    """
    thresholds = np.sort(labelled)
    tail = 1 - np.searchsorted(thresholds, thresholds) / len(labelled)  # as high or higher
    is_long = tail >= MIN_TAIL
    unlabelled_tail = 1 - np.searchsorted(unlabelled, thresholds[is_long]) / len(unlabelled)
    return float(min(MAX_SHARE, (unlabelled_tail / tail[is_long]).min()))


def _posterior(unlabelled: np.ndarray, labelled: np.ndarray, share: float) -> np.ndarray:
    """Bayes' rule in groups of equally many labelled scores, made monotone, (n,)."""
    n_groups = max(1, min(MAX_GROUPS, len(labelled) // GROUP_LABELLED))
    edges = np.unique(np.quantile(labelled, np.arange(1, n_groups) / n_groups))
    group, labelled_group = (
        np.searchsorted(edges, scores, side="right") for scores in (unlabelled, labelled)
    )
    in_group = np.bincount(group, minlength=len(edges) + 1) / len(unlabelled)
    labelled_in_group = np.bincount(labelled_group, minlength=len(edges) + 1) / len(labelled)
    posterior = np.ones(len(in_group))
    hidden = share * labelled_in_group
    np.divide(hidden, in_group, out=posterior, where=in_group > hidden)
    monotone: np.ndarray = isotonic_regression(posterior, sample_weight=in_group + 1e-9)
    capped: np.ndarray = np.minimum(monotone, MAX_POSTERIOR)
    return capped[group]
