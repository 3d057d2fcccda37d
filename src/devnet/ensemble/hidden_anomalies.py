"""Screening: how many anomalies hide among the unlabelled rows, and which rows they may be."""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv
from sklearn.isotonic import isotonic_regression

from devnet.ensemble.learners import OutOfBag, Pool

logger = logging.getLogger(__name__)

MIN_LABELLED = 5  # fewer say nothing about a share
MIN_TAIL = 0.2  # share of the labelled anomalies that must lie above a threshold
MAX_SHARE = 0.2  # that is acted upon
MAX_POSTERIOR = 0.99  # nobody is sure
MAX_GROUPS = 6
GROUP_LABELLED = 3  # labelled anomalies that a group should have
ERROR = 0.01  # probability that a tail is smaller than thought, at each threshold
STANDARD_ERRORS = 1.645
LOOK_BACK = 0.4  # labelled tail over which it is seen how the ratio of tails falls


class HiddenShare(NamedTuple):
    """Share of hidden anomalies among the unlabelled rows, from `low` to `high`."""

    value: float
    low: float
    high: float


class Screening(NamedTuple):
    """What scores tell about the unlabelled rows."""

    share: HiddenShare
    posterior: np.ndarray  # (n,) probability that a row is a hidden anomaly


def screen(pool: Pool, look: Callable[[], OutOfBag]) -> Screening:
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
    share = hidden_share(scores.unlabelled[counts], scores.labelled)
    posterior[counts] = _posterior(scores.unlabelled[counts], scores.labelled, share.value)
    return Screening(share, posterior)


def tails(unlabelled: np.ndarray, labelled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of unlabelled rows and of labelled anomalies as high as each of the latter.

    Scores (n,) and (K,) -> (K,) twice, from the lowest anomaly to the highest.
    """
    thresholds = np.sort(labelled)
    above = 1 - np.searchsorted(np.sort(unlabelled), thresholds) / len(unlabelled)
    return above, 1 - np.searchsorted(thresholds, thresholds) / len(labelled)


def hidden_share(unlabelled: np.ndarray, labelled: np.ndarray) -> HiddenShare:
    """Share of hidden anomalies by scores of unlabelled rows (n,) and labelled anomalies (K,).

    Hidden anomalies score as labelled ones do, so above any threshold lie at least `share` times
    as many unlabelled rows as labelled anomalies, and just as many where other rows do not reach.
    The lowest ratio of both tails is the value. Its high end is safe: the lowest ratio of tails
    as large and as small as they may be by chance. How low the truth can be, the scores do
    not say where other rows look like anomalies: the ratio then still falls towards the highest
    scores, and the low end is where it is heading for.
    """
    above, tail = tails(unlabelled, labelled)
    above, tail = above[tail >= MIN_TAIL], tail[tail >= MIN_TAIL]
    n_above = np.round(tail * len(labelled))
    least_tail = betaincinv(n_above, len(labelled) - n_above + 1, ERROR)  # Clopper and Pearson
    ratio = above / tail
    error = STANDARD_ERRORS * np.sqrt((1 - tail) / (tail * len(labelled)))  # of the ratio, relative
    best = int(np.argmin(ratio))
    back = int(np.argmin(np.abs(tail - tail[best] - LOOK_BACK)))
    falls = ratio[back] * (1 - error[back]) - ratio[best] * (1 + error[best])  # for sure
    slope = max(0.0, falls) / max(tail[back] - tail[best], 1 / len(labelled))
    low = ratio[best] * (1 - error[best]) - slope * tail[best]
    most_above = above + STANDARD_ERRORS * np.sqrt(above * (1 - above) / len(unlabelled))
    high = min(1.0, (most_above / least_tail).min())
    value = min(MAX_SHARE, ratio[best], high)
    return HiddenShare(float(value), float(np.clip(low, 0, value)), float(high))


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
