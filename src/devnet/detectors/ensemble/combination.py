"""The data-driven reference that turns the learners' scores into one deviation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from devnet.detectors.ensemble.learners import OutOfBag
from devnet.engine.data_reference import DataReference
from devnet.engine.reference_scores import UnlabelledScores

ERROR_FLOOR = 0.001  # a rank error that few labels cannot distinguish from zero
PRIOR_LABELLED = 5  # weight, in labelled anomalies, of the belief that all learners are equal


class Combination(NamedTuple):
    """A deviation is the sum of scale * score over the learners, minus the shift."""

    scale: np.ndarray  # (n_learners,)
    shift: float

    def __call__(self, scores: Sequence[np.ndarray]) -> np.ndarray:
        """Scores of each learner, (b,) -> deviations (b,)."""
        total = -self.shift
        for scale, score in zip(self.scale, scores, strict=True):
            total = total + scale * score
        return np.asarray(total)


def combine(votes: Sequence[OutOfBag], weight: np.ndarray) -> Combination:
    """Find the combination with mean 0 and spread 1 over the unlabelled rows, weighted (n,).

    The paper names two kinds of reference: a prior, or scores of the data. Each learner is trained
    against the prior. Their out-of-bag scores then serve as the data-driven reference, on whose
    scale the scores of different learners can be added. A learner is weighted by the inverse of
    its out-of-bag rank error.
    """
    mean_and_std = DataReference().after_training
    scores = np.stack([vote.unlabelled for vote in votes])  # (n_learners, n)
    spread = mean_and_std(lambda: UnlabelledScores(scores, weight)).std[:, 0]
    error = np.array([rank_error(vote, weight) for vote in votes])
    n_labelled = len(votes[0].labelled)
    error = (n_labelled * error + PRIOR_LABELLED * error.mean()) / (n_labelled + PRIOR_LABELLED)
    scale = 1 / ((error + ERROR_FLOOR) * spread)
    total = mean_and_std(lambda: UnlabelledScores((scale @ scores)[None], weight))
    return Combination(scale / total.std[0], float((total.mean / total.std)[0, 0]))


def rank_error(vote: OutOfBag, weight: np.ndarray) -> float:
    """Mean share of the unlabelled rows, weighted (n,), that score above a labelled anomaly.

    It is 1 minus the area under the ROC curve; a tie counts half.
    """
    order = np.argsort(vote.unlabelled)
    ordered = vote.unlabelled[order]
    below = np.append(0, np.cumsum(weight[order]))
    below /= below[-1]
    sides = [below[np.searchsorted(ordered, vote.labelled, side)] for side in ("left", "right")]
    return float(1 - np.mean(sides))
