"""IForest, the isolation forest of Liu, Ting and Zhou: a detector that uses no labels."""

import logging
from math import ceil, log2
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from devnet.core.parameters import Constraint, whole_number
from devnet.core.rows import Tileable
from devnet.core.seeds import draw_seed
from devnet.detectors.competitors.forest_detector import ForestDetector
from devnet.engine.forest import MAX_DEPTH, Forest, Tree, read_tree

logger = logging.getLogger(__name__)


class IForest(ForestDetector):
    """Score rows by how few random splits isolate them; labels are not used.

    scikit-learn's IsolationForest on labelled and unlabelled rows alike; it is the unsupervised
    method that the paper compares with. `fit` takes y like every detector, but uses it only for
    `threshold_`. Rows with 4,096 columns or more are first projected to 1,000 dimensions.

    Parameters
    ----------
    n_trees : int, default=100
        Number of trees.
    sample_size : int, default=256
        Rows that a tree is grown from, or all if there are fewer. At most n_trees * sample_size
        rows are drawn for all trees together, so that the time to fit does not grow with the
        table.
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    normal_label : optional
        The value of y that marks rows known to be normal; they count as unlabelled here.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the samples and the splits.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of y for unlabelled rows and for anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    forest_ : Forest
        The trees; the value of a leaf is the length of its path relative to the expected length.
    projection_ : Projection or None
        The projection of wide rows.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.

    Notes
    -----
    Scores are those of the publication, 2^(-E(h) / c): 0.5 is a row of average depth, 1 the most
    anomalous. A tree draws a row with probability proportional to its `sample_weight`.

    References
    ----------
    F. T. Liu, K. M. Ting, Z.-H. Zhou. Isolation-based anomaly detection. TKDD 6(1), 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.competitors import IForest
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 5
    >>> y = np.arange(1000) < 5
    >>> model = IForest(random_state=0).fit(rows, y)
    >>> bool(model.anomaly_score(rows[5:10]).min() > model.threshold_)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **ForestDetector._constraints,
        "sample_size": whole_number(2),
    }

    _least_value: ClassVar[float] = 0.0  # a path has no negative length
    uses_normals: ClassVar[bool] = False

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # classes are not learned without labels
        return tags

    def _needs_labels(self) -> bool:
        return False

    def _grow(
        self,
        rows: Tileable,
        is_anomaly: np.ndarray,
        sample_weight: np.ndarray | None,
        generator: np.random.Generator,
    ) -> Forest:
        from sklearn.ensemble import IsolationForest

        logger.info("IForest does not use the %d labels.", is_anomaly.sum())
        chosen = np.arange(len(is_anomaly))
        if sample_weight is not None:
            chosen = chosen[sample_weight > 0]
        limit = self.n_trees * self.sample_size
        if len(chosen) > limit:
            chosen = np.sort(generator.choice(chosen, limit, replace=False))
        sample_size = min(self.sample_size, len(chosen))
        fitted = IsolationForest(
            n_estimators=self.n_trees, max_samples=sample_size, random_state=draw_seed(generator)
        ).fit(
            rows.dense(chosen),
            sample_weight=None if sample_weight is None else sample_weight[chosen],
        )
        expected = average_path(np.array([sample_size]))
        trees = [_with_paths(estimator.tree_, expected) for estimator in fitted.estimators_]
        return Forest.of(trees, rows.shape[1])

    def _deepest(self) -> int:
        return min(ceil(log2(max(self.sample_size, 2))), MAX_DEPTH)  # scikit-learn's limit

    def _read_sum(self, total: np.ndarray) -> np.ndarray:
        scores: np.ndarray = np.exp2(-total / self.n_trees)
        return scores


def average_path(n_rows: np.ndarray) -> np.ndarray:
    """Mean length of an unsuccessful search in a binary tree of n rows, the paper's c(n)."""
    n = np.maximum(n_rows, 3).astype(np.float64)
    path = 2 * (np.log(n - 1) + np.euler_gamma) - 2 * (n - 1) / n
    return np.select([n_rows <= 1, n_rows == 2], [0.0, 1.0], path)


def _with_paths(fitted: Any, expected: np.ndarray) -> Tree:
    """The tree with values: depth plus expected further depth, relative to c(n)."""
    tree = read_tree(fitted, np.zeros(fitted.node_count))
    return tree._replace(value=(tree.depth() + average_path(fitted.n_node_samples)) / expected)
