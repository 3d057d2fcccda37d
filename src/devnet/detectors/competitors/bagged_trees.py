"""PUBaggedTrees: trees grown from all labelled anomalies and a few unlabelled rows each."""

from typing import Any, ClassVar

import numpy as np

from devnet.core.parameters import Constraint, whole_number
from devnet.core.rows import Tileable
from devnet.core.seeds import draw_seed
from devnet.detectors.competitors.forest_detector import ForestDetector
from devnet.engine.forest import MAX_DEPTH, Forest, read_tree


class PUBaggedTrees(ForestDetector):
    """Average decision trees that tell labelled anomalies from random unlabelled rows.

    Bagging for positive and unlabelled rows: every tree sees all labelled anomalies and a small
    random draw of the unlabelled rows. Few of these are hidden anomalies, so most trees see next
    to none, and the average evens out the rest. Rows with 4,096 columns or more are first
    projected to 1,000 dimensions.

    Parameters
    ----------
    n_trees : int, default=100
        Number of trees.
    sample_size : int, default=256
        Unlabelled rows that a tree is grown from, or all if there are fewer.
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    normal_label : optional
        The value of y that marks rows known to be normal, such as dismissed alerts.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the draws and the trees.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of y for unlabelled rows and for anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    forest_ : Forest
        The trees; the value of a leaf is its share of labelled anomalies.
    projection_ : Projection or None
        The projection of wide rows.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.

    Notes
    -----
    The trees are scikit-learn's: Gini impurity, the square root of the number of columns as
    candidates for a split, grown until leaves are pure. A score is a mean share of anomalies, from
    0 to 1. An unlabelled row is drawn for a tree with probability proportional to its
    `sample_weight`; a labelled anomaly has it as weight in every tree, relative to the others.

    References
    ----------
    F. Mordelet, J.-P. Vert. A bagging SVM to learn from positive and unlabeled examples. Pattern
    Recognition Letters 37, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.competitors import PUBaggedTrees
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3
    >>> y = np.arange(1000) < 5
    >>> model = PUBaggedTrees(random_state=0).fit(rows, y)
    >>> bool(model.anomaly_score(rows[5:10]).min() > model.threshold_)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **ForestDetector._constraints,
        "sample_size": whole_number(1),
    }

    _least_value: ClassVar[float] = 0.0  # a share

    def __init__(
        self,
        n_trees: int = 100,
        *,
        sample_size: int = 256,
        confidence: float = 0.95,
        pos_label: Any = None,
        normal_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.sample_size = sample_size
        self.confidence = confidence
        self.pos_label = pos_label
        self.normal_label = normal_label
        self.random_state = random_state

    def _grow(
        self,
        rows: Tileable,
        is_anomaly: np.ndarray,
        sample_weight: np.ndarray | None,
        generator: np.random.Generator,
    ) -> Forest:
        from sklearn.tree import DecisionTreeClassifier

        weight = np.ones(len(is_anomaly)) if sample_weight is None else sample_weight
        labelled = np.flatnonzero(is_anomaly & (weight > 0))
        unlabelled = np.flatnonzero(~is_anomaly & (weight > 0))
        size = min(self.sample_size, len(unlabelled))
        drawn_with = None
        if sample_weight is not None:
            drawn_with = weight[unlabelled] / weight[unlabelled].sum()
        anomalies = rows.dense(labelled)
        in_bag = np.r_[weight[labelled] / weight[labelled].mean(), np.ones(size)]
        is_labelled = np.r_[np.ones(len(labelled)), np.zeros(size)]
        trees = []
        for _ in range(self.n_trees):
            drawn = generator.choice(unlabelled, size, replace=False, p=drawn_with)
            tree = DecisionTreeClassifier(
                max_features="sqrt", max_depth=MAX_DEPTH, random_state=draw_seed(generator)
            )
            bag = np.concatenate([anomalies, rows.dense(drawn)])
            tree.fit(bag, is_labelled, sample_weight=in_bag)
            trees.append(read_tree(tree.tree_, tree.tree_.value[:, 0, 1]))
        return Forest.of(trees, rows.shape[1])

    def _read_sum(self, total: np.ndarray) -> np.ndarray:
        return total / self.n_trees
