"""What ranking quality to expect of new rows, from the training rows alone."""

from typing import NamedTuple

import numpy as np

from devnet.ensemble.learners import OutOfBag

N_RESAMPLES = 200
INTERVAL = (0.05, 0.95)


class ExpectedQuality(NamedTuple):
    """Area under the precision-recall curve to expect, with a 90% interval."""

    auc_pr: float
    low: float
    high: float
    anomaly_share: float  # of the rows to rank, which the precision depends on


def expect_quality(
    scores: OutOfBag,
    weight: np.ndarray,
    anomaly_share: float,
    generator: np.random.Generator,
) -> ExpectedQuality:
    """Judge by out-of-bag scores how well rows will be ranked of which a share are anomalies.

    The labelled anomalies stand for the anomalies among them, the unlabelled rows, weighted (n,)
    by their probability of being no hidden anomaly, for all others. The interval comes from
    drawing the labelled anomalies anew; there are so few that nothing else matters beside it.
    """
    order = np.argsort(scores.unlabelled)
    ordered = scores.unlabelled[order]
    above = np.append(np.cumsum(weight[order][::-1])[::-1], 0) / weight.sum()

    def auc_pr(labelled: np.ndarray) -> float:
        thresholds = np.sort(labelled)
        recall = 1 - np.searchsorted(thresholds, thresholds) / len(labelled)
        false_alarms = above[np.searchsorted(ordered, thresholds)]
        found = anomaly_share * recall
        return float(np.mean(found / (found + (1 - anomaly_share) * false_alarms)))

    labelled = scores.labelled
    resampled = [auc_pr(generator.choice(labelled, len(labelled))) for _ in range(N_RESAMPLES)]
    low, high = np.quantile(resampled, INTERVAL)
    return ExpectedQuality(auc_pr(labelled), float(low), float(high), anomaly_share)
