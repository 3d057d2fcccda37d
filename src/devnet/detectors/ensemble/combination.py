"""The data-driven reference that turns the learners' scores into one deviation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from devnet.detectors.ensemble.learners import OutOfBag
from devnet.engine.data_reference import DataReference
from devnet.engine.reference_scores import UnlabelledScores

PRIOR_LABELLED = 15  # weight, in labelled anomalies, of the belief that all learners are equal


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


def combine(
    votes: Sequence[OutOfBag], weight: np.ndarray, trust: np.ndarray | None = None
) -> Combination:
    """Find the combination with mean 0 and spread 1 over the unlabelled rows, weighted (n,).

    The paper names two kinds of reference: a prior, or scores of the data. Each learner is trained
    against the prior. Their out-of-bag scores then serve as the data-driven reference, on whose
    scale the scores of different learners can be added. A learner weighs by the inverse square of
    its top rank, out of bag and shrunk to the mean of all, times the trust in it (n_learners,).
    """
    mean_and_std = DataReference().after_training
    scores = np.stack([vote.unlabelled for vote in votes])  # (n_learners, n)
    spread = mean_and_std(lambda: UnlabelledScores(scores, weight)).std[:, 0]
    rank = np.array([top_rank(vote, weight) for vote in votes])
    n_labelled = len(votes[0].labelled)
    rank = (n_labelled * rank + PRIOR_LABELLED * rank.mean()) / (n_labelled + PRIOR_LABELLED)
    scale = (1.0 if trust is None else trust) / (rank**2 * spread)
    total = mean_and_std(lambda: UnlabelledScores((scale @ scores)[None], weight))
    return Combination(scale / total.std[0], float((total.mean / total.std)[0, 0]))


def top_rank(vote: OutOfBag, weight: np.ndarray) -> float:
    """Geometric mean of the shares of unlabelled rows, weighted (n,), above labelled anomalies.

    A tie counts half, and one row is added to those above. The geometric mean looks at the top of
    the ranking: an anomaly that rises from the top 1% of the rows to the top 0.1% counts as much as
    one that rises from the very last row to the top 10%.
    """
    one_row = 1 / np.count_nonzero(weight)
    return float(np.exp(np.log(_shares_above(vote, weight) + one_row).mean()))


def rank_error(vote: OutOfBag, weight: np.ndarray) -> float:
    """Mean share of the unlabelled rows, weighted (n,), that score above a labelled anomaly.

    It is 1 minus the area under the ROC curve; a tie counts half.
    """
    return float(_shares_above(vote, weight).mean())


def _shares_above(vote: OutOfBag, weight: np.ndarray) -> np.ndarray:
    """Share of the unlabelled rows that score above each labelled anomaly, (K,)."""
    order = np.argsort(vote.unlabelled)
    ordered = vote.unlabelled[order]
    below = np.append(0, np.cumsum(weight[order]))
    below /= below[-1]
    sides = [below[np.searchsorted(ordered, vote.labelled, side)] for side in ("left", "right")]
    shares: np.ndarray = 1 - np.mean(sides, axis=0)
    return shares
