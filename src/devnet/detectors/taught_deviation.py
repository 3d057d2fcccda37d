"""TaughtDeviation, the order after the first verdicts: dismissed rows teach before anomalies do."""

from typing import ClassVar

import numpy as np

from devnet.core.labels import Labels
from devnet.core.rows import Rows
from devnet.detectors.taught_columns import TaughtColumns, teach
from devnet.detectors.unusual_detector import UnusualDetector


class TaughtDeviation(UnusualDetector):
    """Score rows by how far their columns deviate from the usual, and by verdicts on rows like it.

    It needs no labelled anomaly, and learns from rows that are known to be normal alone. What a
    verdict says beyond what `RankDeviation` expected is passed on to rows that share leaves of
    random trees with the judged one: see `devnet.detectors.leaf_lessons`. A score of 1 is that of a
    confirmed anomaly, -1 that of a dismissed row.

    Sparse rows of 4,096 columns or more are scored as by `RankDeviation`; verdicts change nothing.

    Parameters
    ----------
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    normal_label : optional
        The value of y that marks rows known to be normal, such as dismissed alerts.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the selection of rows, if there are more than 20,000, and of the trees.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of y for unlabelled rows and for anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    usual_ : TaughtColumns or UsualSets
        What is usual, and what verdicts taught.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import TaughtDeviation
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:20, 0] += 6                          # unusual, but nobody minds
    >>> y = np.where(np.arange(1000) < 10, 2, 0)   # ten of them were dismissed
    >>> model = TaughtDeviation(normal_label=2, random_state=0).fit(rows, y)
    >>> bool(model.anomaly_score(rows[10:20]).max() < model.threshold_)
    True
    """

    uses_normals: ClassVar[bool] = True

    def _learn_columns(
        self,
        rows: Rows,
        labels: Labels,
        sample_weight: np.ndarray | None,
        generator: np.random.Generator,
    ) -> TaughtColumns:
        return teach(rows, labels, sample_weight, generator).columns

    @classmethod
    def _restore_columns(cls, tensors: dict[str, np.ndarray], n_columns: int) -> TaughtColumns:
        return TaughtColumns.from_tensors(tensors, n_columns)
