"""The ranking quality to expect on new rows, estimated from the training rows alone."""

from typing import NamedTuple

import numpy as np

from devnet.detectors.ensemble.hidden_anomalies import HiddenShare, tails
from devnet.detectors.ensemble.learners import OutOfBag

N_RESAMPLES = 200
INTERVAL = (0.05, 0.95)


class ExpectedQuality(NamedTuple):
    """Expected area under the precision-recall curve, with an interval."""

    auc_pr: float
    low: float
    high: float


def expect_quality(
    scores: OutOfBag,
    share: HiddenShare,
    generator: np.random.Generator,
    weight: np.ndarray | None = None,
) -> ExpectedQuality:
    """Estimate from out-of-bag scores how well rows like the unlabelled ones will be ranked.

    Above a threshold, the anomalies among the unlabelled rows are `share` times the tail of the
    labelled anomalies; this gives the precision, and its mean over the labelled anomalies gives
    the area. The interval combines that of the share with the middle 90% of bootstrap resamples
    of the labelled anomalies. A single labelled anomaly says nothing. The weights are those of the
    unlabelled rows, if they differ.
    """
    order = np.argsort(scores.unlabelled)
    unlabelled = scores.unlabelled[order]
    weight = None if weight is None else weight[order]

    def auc_pr(labelled: np.ndarray, share: float) -> float:
        above, tail = tails(unlabelled, labelled, weight)
        found = share * tail
        precision = (found > 0).astype(float)  # stays where no more rows are above than `found`
        np.divide(found, above, out=precision, where=above > found)
        return float(precision.mean())

    labelled = scores.labelled
    if len(labelled) == 1:  # all members saw it
        return ExpectedQuality(float("nan"), 0.0, 1.0)
    resamples = [generator.choice(labelled, len(labelled)) for _ in range(N_RESAMPLES)]
    ends = [
        float(np.quantile([auc_pr(resample, end) for resample in resamples], quantile))
        for end, quantile in zip((share.low, share.high), INTERVAL, strict=True)
    ]
    value = auc_pr(labelled, share.value)
    return ExpectedQuality(value, min(ends[0], value), max(ends[1], value))
