"""Calibrated p-values: the rank of a score among those of unlabelled rows."""

import numpy as np


class ConformalRanks:
    """Ranks new scores among those of unlabelled rows that the scorer did not train on.

    A new unlabelled row is equally likely to take any rank among them, so a p-value of `a` or less
    has probability `a` at most, whatever the distribution of the scores. That is exact for a
    scorer that saw none of these rows, and nearly so for members that each saw some. Hidden
    anomalies among them make p-values larger, never smaller. Nothing is extrapolated: with total
    weight n no p-value is below 1 / (n + 1).

    Rows that are known to be normal, because somebody looked at the highest ones, belong to them:
    a new normal row is exchangeable with all normal rows, not with those that were left. Their
    scores, too, must be by scorers that did not learn that these very rows are normal.

    Parameters
    ----------
    scores : array of shape (n,)
    weight : array of shape (n,)
        How much each counts.

    Examples
    --------
    >>> from devnet.significance.ranks import ConformalRanks
    >>> ranks = ConformalRanks([0.1, 0.2, 0.3], [1, 1, 1])
    >>> ranks.p_value([0.0, 0.2, 9.0]).tolist()
    [1.0, 0.75, 0.25]
    """

    def __init__(self, scores: np.ndarray, weight: np.ndarray) -> None:
        refuse_nan(scores)
        order = np.argsort(scores)
        self.scores = np.asarray(scores)[order]
        self.weight = np.asarray(weight)[order]
        above = np.append(
            np.cumsum(self.weight[::-1])[::-1], 0
        )  # weight of scores as high or higher
        self.p_value_of_rank: np.ndarray = (1 + above) / (1 + above[0])  # (n + 1,), descending

    def rank(self, scores: np.ndarray) -> np.ndarray:
        """How many of the unlabelled rows score lower, 0 to n; NaN has no rank."""
        refuse_nan(scores)
        rank: np.ndarray = np.searchsorted(self.scores, scores, side="left")
        return rank

    def p_value(self, scores: np.ndarray) -> np.ndarray:
        """Share of the unlabelled rows, the row itself included, that score as high or higher."""
        p_value: np.ndarray = self.p_value_of_rank[self.rank(scores)]
        return p_value

    def threshold(self, false_alarm_rate: float) -> float:
        """The lowest of the scores with a p-value of at most the rate.

        Any score above it has a p-value of at most the rate too. If no score is high enough, the
        highest one is returned.
        """
        is_rare = np.flatnonzero(self.p_value(self.scores) <= false_alarm_rate)
        return float(self.scores[is_rare[0] if len(is_rare) else -1])


def refuse_nan(scores: np.ndarray) -> None:
    """Refuse scores that cannot be ranked: NaN would sort above all others."""
    is_nan = np.isnan(scores)
    if is_nan.any():
        raise ValueError(
            f"the score of row {int(np.argmax(is_nan))} is not a number, so rows cannot be ranked; "
            "use another detector."
        )
