"""XGBoost, LightGBM and CatBoost as detectors, each if its library is installed.

A library grows the trees; they become a forest like any other, so scoring and model files do not
need the library.
"""

import importlib
import json
import tempfile
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from devnet.core.parameters import Constraint, number, whole_number
from devnet.core.rows import Tileable
from devnet.core.seeds import draw_seed
from devnet.detectors.competitors.forest_detector import ForestDetector
from devnet.engine.forest import MAX_DEPTH, NO_CHILD, Forest, Tree


class Split(NamedTuple):
    """A node with children, whatever the library."""

    column: int
    threshold: float
    left: Any  # if value <= threshold
    right: Any


class LibraryBoosting(ForestDetector):
    """Boosted trees of a library, labelled anomalies against all other rows.

    Abstract. Both kinds of rows have the same total weight; scores are log-odds. A detector names
    its library and defines how it grows trees.

    Parameters
    ----------
    n_trees : int, default=300
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
        Seed of the projection of wide rows and of the library.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **ForestDetector._constraints,
        "max_depth": whole_number(1),
        "learning_rate": number(0),
    }
    library: ClassVar[str]
    _has_paths: ClassVar[bool] = False  # only leaves have values

    def __init__(
        self,
        n_trees: int = 300,
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

    @abstractmethod
    def _boost(
        self, library: Any, rows: np.ndarray, is_anomaly: np.ndarray, weight: np.ndarray, seed: int
    ) -> tuple[list[Tree], Callable[[np.ndarray], np.ndarray]]:
        """The trees, and a function that scores dense rows by the library itself."""

    def _grow(
        self,
        rows: Tileable,
        is_anomaly: np.ndarray,
        sample_weight: np.ndarray | None,
        generator: np.random.Generator,
    ) -> Forest:
        library = _import(self.library, type(self).__name__)
        weight = np.ones(len(is_anomaly)) if sample_weight is None else sample_weight
        chosen = np.flatnonzero(weight > 0)
        weight, is_anomaly = weight[chosen], is_anomaly[chosen]
        for half in (is_anomaly, ~is_anomaly):
            weight = np.where(half, weight * (len(chosen) / 2 / weight[half].sum()), weight)
        matrix = rows.dense(chosen)
        trees, score = self._boost(library, matrix, is_anomaly, weight, draw_seed(generator))
        leaf = Tree(*(np.full(1, value) for value in (NO_CHILD, NO_CHILD, 0, 0.0, 0.0)))
        trees += [leaf] * (
            self.n_trees - len(trees)
        )  # a library may stop early if nothing is left to learn
        forest = Forest.of(trees, rows.shape[1])
        baseline = float(score(matrix[:1])[0] - forest.sum_values(matrix[:1])[0])
        trees[0] = trees[0]._replace(value=trees[0].value + baseline)
        return Forest.of(trees, rows.shape[1])

    def _deepest(self) -> int:
        return min(self.max_depth, MAX_DEPTH)

    def _read_sum(self, total: np.ndarray) -> np.ndarray:
        return total


class XGBoost(LibraryBoosting):
    """XGBoost's histogram trees; parameters as for `LibraryBoosting`.

    References
    ----------
    T. Chen, C. Guestrin. XGBoost: a scalable tree boosting system. KDD 2016.
    """

    library = "xgboost"

    def _boost(
        self, library: Any, rows: np.ndarray, is_anomaly: np.ndarray, weight: np.ndarray, seed: int
    ) -> tuple[list[Tree], Callable[[np.ndarray], np.ndarray]]:
        settings = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_depth": self.max_depth,
            "learning_rate": self.learning_rate,
            "nthread": 1,
            "seed": seed,
        }
        data = library.DMatrix(rows, label=is_anomaly, weight=weight)
        booster = library.train(settings, data, num_boost_round=self.n_trees)

        def read(node: Any) -> Split | float:
            if "leaf" in node:
                return float(node["leaf"])
            below = np.nextafter(np.float32(node["split_condition"]), np.float32(-np.inf))
            children = {child["nodeid"]: child for child in node["children"]}
            left, right = children[node["yes"]], children[node["no"]]
            return Split(
                int(node["split"][1:]), float(below), left, right
            )  # yes is value < condition

        trees = [_number(json.loads(t), read) for t in booster.get_dump(dump_format="json")]
        return trees, lambda part: booster.predict(library.DMatrix(part), output_margin=True)


class LightGBM(LibraryBoosting):
    """LightGBM's histogram trees; parameters as for `LibraryBoosting`.

    References
    ----------
    G. Ke et al. LightGBM: a highly efficient gradient boosting decision tree. NeurIPS 2017.
    """

    library = "lightgbm"

    def _boost(
        self, library: Any, rows: np.ndarray, is_anomaly: np.ndarray, weight: np.ndarray, seed: int
    ) -> tuple[list[Tree], Callable[[np.ndarray], np.ndarray]]:
        settings = {
            "objective": "binary",
            "max_depth": self.max_depth,
            "num_leaves": 2**self.max_depth,
            "learning_rate": self.learning_rate,
            "num_threads": 1,
            "deterministic": True,
            "force_col_wise": True,
            "seed": seed,
            "verbosity": -1,
        }
        data = library.Dataset(rows, label=is_anomaly.astype(np.float32), weight=weight)
        booster = library.train(settings, data, num_boost_round=self.n_trees)

        def read(node: Any) -> Split | float:
            if "split_feature" not in node:
                return float(node["leaf_value"])
            left, right = node["left_child"], node["right_child"]
            return Split(node["split_feature"], float(node["threshold"]), left, right)

        trees = [
            _number(tree["tree_structure"], read) for tree in booster.dump_model()["tree_info"]
        ]
        return trees, lambda part: booster.predict(part, raw_score=True, num_threads=1)


class CatBoost(LibraryBoosting):
    """CatBoost's symmetric trees; parameters as for `LibraryBoosting`.

    References
    ----------
    L. Prokhorenkova et al. CatBoost: unbiased boosting with categorical features. NeurIPS 2018.
    """

    library = "catboost"

    def _boost(
        self, library: Any, rows: np.ndarray, is_anomaly: np.ndarray, weight: np.ndarray, seed: int
    ) -> tuple[list[Tree], Callable[[np.ndarray], np.ndarray]]:
        booster = library.CatBoost(
            {
                "loss_function": "Logloss",
                "iterations": self.n_trees,
                "depth": self.max_depth,
                "learning_rate": self.learning_rate,
                "thread_count": 1,
                "random_seed": seed,
                "allow_writing_files": False,
                "logging_level": "Silent",
            }
        )
        if not (rows != rows[:1]).any():
            raise ValueError(
                "all rows are the same, and CatBoost cannot learn from such; give columns that "
                "differ, or another method."
            )
        booster.fit(library.Pool(rows, is_anomaly.astype(int), weight=weight))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.json"
            booster.save_model(str(path), format="json")
            model = json.loads(path.read_text(encoding="utf-8"))
        scale = model["scale_and_bias"][0]
        trees = [_number((tree, 0, 0), _symmetric(scale)) for tree in model["oblivious_trees"]]
        return trees, lambda part: np.asarray(
            booster.predict(part, prediction_type="RawFormulaVal")
        )


LIBRARY_METHODS: tuple[type[LibraryBoosting], ...] = (XGBoost, LightGBM, CatBoost)


def _symmetric(scale: float) -> Callable[[Any], Split | float]:
    """Reads a tree with one split per level; the outcomes are the bits of the leaf's index."""

    def read(node: Any) -> Split | float:
        tree, level, leaf = node
        splits = tree["splits"] or []
        if level == len(splits):
            return scale * float(tree["leaf_values"][leaf])
        split = splits[level]
        above = (tree, level + 1, leaf | 1 << level)
        return Split(split["float_feature_index"], split["border"], (tree, level + 1, leaf), above)

    return read


def _number(root: Any, read: Callable[[Any], Split | float]) -> Tree:
    """A library's nested nodes as arrays, each child after its parent."""
    records: list[list[float]] = []

    def visit(node: Any) -> int:
        position = len(records)
        found = read(node)
        if isinstance(found, Split):
            records.append([0, 0, found.column, found.threshold, 0.0])
            records[position][:2] = visit(found.left), visit(found.right)
        else:
            records.append([NO_CHILD, NO_CHILD, 0, 0.0, found])
        return position

    visit(root)
    return Tree(*np.array(records).T)


def _import(library: str, method: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ImportError(
            f"{method} needs the package {library}; install it with: "
            "pip install 'deviation-network[boosting]'"
        ) from error
