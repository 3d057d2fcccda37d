"""ReviewEnsemble: the ensemble, and beside it what is unusual and what verdicts taught."""

from devnet.detectors.ensemble.bagged_ensemble import BaggedEnsemble
from devnet.detectors.ensemble.taught_half import TaughtHalf


class ReviewEnsemble(BaggedEnsemble):
    """Rank rows for review: half by the ensemble, half by `TaughtDeviation`.

    Once the anomalies that are like known ones have been found, the ensemble's next rows are
    those that are a little like them. The other half still knows which rows are unusual, and what
    was said about rows like these, so that another kind of anomaly comes up earlier.

    All else, parameters included, is as in `DeviationEnsemble`. Wide sparse rows, and tables with
    columns of free text, are scored by the ensemble alone.

    Attributes
    ----------
    half_ : TaughtHalf or None
        The other half; None where the ensemble scores alone. The score is half_.mix[0] * ensemble
        + half_.mix[1] * taught + half_.mix[2]; over the unlabelled rows its mean is 0 and its
        spread 1.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import ReviewEnsemble
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3                          # ten anomalies ...
    >>> y = np.zeros(1000)
    >>> y[:5] = 1                               # ... of which five are known
    >>> model = ReviewEnsemble(random_state=0).fit(rows, y)
    >>> bool(model.p_value(rows[5:10]).max() < 0.01)
    True
    """

    @classmethod
    def _half_kind(cls) -> type[TaughtHalf]:
        return TaughtHalf
