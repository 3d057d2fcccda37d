"""GradientBoosting: scikit-learn's boosted trees, labelled anomalies against the rest."""

from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from devnet.core.parameters import Constraint, number, whole_number
from devnet.core.rows import Tileable
from devnet.core.seeds import draw_seed
from devnet.detectors.competitors.binning import columns_to_cut, find_edges, to_bins
from devnet.detectors.competitors.forest_detector import ForestDetector
from devnet.engine.forest import MAX_DEPTH, NO_CHILD, Forest, Tree

FEWEST_IN_LEAF = 20  # rows


class GradientBoosting(ForestDetector):
    """Separate labelled anomalies from unlabelled rows by many small trees, added one by one.

    scikit-learn's HistGradientBoostingClassifier with class_weight="balanced". The score is its
    decision function: the log-odds that a row is a labelled anomaly if both kinds were equally
    frequent. Rows with 4,096 columns or more are first projected to 1,000 dimensions.

    Parameters
    ----------
    n_trees : int, default=200
        Number of trees; there is no early stopping.
    max_depth : int, default=3
        Splits from the root to a leaf.
    learning_rate : float, default=0.1
        Factor of each tree's correction.
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    normal_label : optional
        The value of y that marks rows known to be normal, such as dismissed alerts.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the projection, and of the sample that sets the bins of large tables.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of y for unlabelled rows and for anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    forest_ : Forest
        The trees; the value of a leaf is what it adds to the score.
    projection_ : Projection or None
        The projection of wide rows.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.

    Notes
    -----
    Everything else is scikit-learn's default: 255 bins per column, at least 20 rows per leaf.
    The bins hold equally many rows, and columns that no edge could split into leaves are not
    looked at, see `competitors/binning.py`. `sample_weight` is a row's
    weight in the loss; rows of weight 0 are left out. scikit-learn holds all training rows as
    float64.

    References
    ----------
    J. H. Friedman. Greedy function approximation: a gradient boosting machine. Annals of
    Statistics 29(5), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.competitors import GradientBoosting
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:40] += 3
    >>> y = np.arange(1000) < 30
    >>> model = GradientBoosting(random_state=0).fit(rows, y)
    >>> bool(model.anomaly_score(rows[30:40]).min() > model.threshold_)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **ForestDetector._constraints,
        "max_depth": whole_number(1),
        "learning_rate": number(0),
    }

    def __init__(
        self,
        n_trees: int = 200,
        *,
        max_depth: int = 3,
        learning_rate: float = 0.1,
        confidence: float = 0.95,
        pos_label: Any = None,
        normal_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.learning_rate = learning_rate
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
        from sklearn.ensemble import HistGradientBoostingClassifier

        weight = np.ones(len(is_anomaly)) if sample_weight is None else sample_weight
        chosen = np.flatnonzero(
            weight > 0
        )  # the others would still count towards the rows of a leaf
        edges = find_edges(rows, chosen, generator)
        bins = to_bins(rows, edges)[chosen]
        columns = columns_to_cut(bins, FEWEST_IN_LEAF)
        bins = bins[:, columns]  # the others would only take time
        boosting = HistGradientBoostingClassifier(
            max_iter=self.n_trees,
            max_depth=self.max_depth,
            min_samples_leaf=FEWEST_IN_LEAF,
            learning_rate=self.learning_rate,
            class_weight="balanced",
            early_stopping=False,
            random_state=draw_seed(generator),
        )
        with threadpool_limits(
            1, "openmp"
        ):  # threads spend most of the time waiting for each other
            fitted = boosting.fit(bins, is_anomaly[chosen], sample_weight=weight[chosen])
            first_score = fitted.decision_function(bins[:1])
        trees = [
            _read_nodes(predictor.nodes, columns, edges, self.learning_rate)
            for (predictor,) in fitted._predictors
        ]
        forest = Forest.of(trees, rows.shape[1])
        baseline = first_score - forest.sum_values(rows.dense(chosen[:1]))
        trees[0] = trees[0]._replace(value=trees[0].value + baseline)
        return Forest.of(trees, rows.shape[1])

    def _deepest(self) -> int:
        return min(self.max_depth, MAX_DEPTH)

    def _read_sum(self, total: np.ndarray) -> np.ndarray:
        return total


def _read_nodes(
    nodes: np.ndarray, columns: np.ndarray, edges: list[np.ndarray], learning_rate: float
) -> Tree:
    """Copy a tree of scikit-learn's boosting, whose nodes are records that split bins of `columns`.

    The values of leaves already include the learning rate, those of inner nodes do not.
    """
    is_leaf = nodes["is_leaf"] == 1
    left, right = (
        np.where(is_leaf, NO_CHILD, nodes[name].astype(np.int64)) for name in ("left", "right")
    )
    column = columns[nodes["feature_idx"]]
    threshold = np.zeros(len(nodes))
    for node in np.flatnonzero(~is_leaf):
        threshold[node] = edges[column[node]][int(nodes["num_threshold"][node])]
    value = nodes["value"] * np.where(is_leaf, 1, learning_rate)
    return Tree(left, right, column, threshold, value)
