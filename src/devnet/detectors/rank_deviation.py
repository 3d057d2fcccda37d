"""RankDeviation, the order to start from: rows whose columns deviate from the usual, no labels."""

from typing import ClassVar

import numpy as np

from devnet.core.labels import Labels
from devnet.core.rows import Rows
from devnet.detectors.unusual_detector import UnusualDetector
from devnet.detectors.usual_columns import UsualColumns, learned_rows


class RankDeviation(UnusualDetector):
    """Score rows by how far their columns deviate from the usual; labels are not used.

    It finds the first anomalies of a table that has no label yet. Each column is encoded as normal
    quantiles of its ranks, and a row's score is the weighted sum of its columns' squared deviations
    from their means. A score of 1 is the average.

    Sparse rows of 4,096 columns or more are scored by the mean rarity of the columns they have.

    Parameters
    ----------
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    normal_label : optional
        The value of y that marks rows known to be normal; they count as unlabelled here.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the selection of rows, if there are more than 20,000.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of y for unlabelled rows and for anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    usual_ : UsualColumns or UsualSets
        What is usual.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.

    Notes
    -----
    Dividing squared deviations by the variance of a column would make every rare category as loud
    as an extreme amount, and not dividing them would silence rare categories; in between, by the
    root of the standard deviation, is the most robust: `experiments/LOG.md` has the measurements.
    `sample_weight` 0 leaves a row out; otherwise it is the chance of being among the rows learned
    from.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import RankDeviation
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 5
    >>> scores = RankDeviation().fit(rows, None).anomaly_score(rows)
    >>> bool(scores[:10].min() > np.quantile(scores, 0.98))
    True
    """

    uses_normals: ClassVar[bool] = False

    def _learn_columns(
        self,
        rows: Rows,
        labels: Labels,
        sample_weight: np.ndarray | None,
        generator: np.random.Generator,
    ) -> UsualColumns:
        return UsualColumns.of(rows.dense(learned_rows(rows, sample_weight, generator)))

    @classmethod
    def _restore_columns(cls, tensors: dict[str, np.ndarray], n_columns: int) -> UsualColumns:
        return UsualColumns.from_tensors(tensors, n_columns)
