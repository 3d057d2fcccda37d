"""ForestDetector: what all detectors made of decision trees share."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from devnet.core.known_normals import learning_weight
from devnet.core.labels import Labels
from devnet.core.model_file import refuse_unknown
from devnet.core.parameters import Constraint, number, whole_number
from devnet.core.rows import WIDE, Rows, Tileable, blockwise, dense_tiles, in_threads
from devnet.core.seeds import RANDOM_STATE, as_generator, draw_seed
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.competitors.projection import TENSORS as PROJECTION_TENSORS
from devnet.detectors.competitors.projection import ProjectedRows, Projection
from devnet.engine.forest import LARGEST_VALUE, MAX_DEPTH, Forest

SMALL_RISE = 1e-6  # of a sum of trees; a smaller one is too small to measure a slope


class ForestDetector(FewLabelDetector):
    """Scores rows by a sum over decision trees; wide rows are projected first.

    Abstract. A detector defines how its trees are grown (`_grow`) and what their sum means
    (`_read_sum`).
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_trees": whole_number(1),
        "confidence": number(0, below=1),
        "random_state": RANDOM_STATE,
    }
    _has_paths: ClassVar[bool] = True  # every node has a value, not only the leaves
    _least_value: ClassVar[float] = -LARGEST_VALUE  # of a node

    n_trees: int
    confidence: float
    random_state: Any
    forest_: Forest
    projection_: Projection | None

    def own_contributions(self, X: Any, baseline: np.ndarray) -> np.ndarray | None:
        """Path contributions to the sum of trees, times the mean slope of the score in that sum.

        None for wide rows, because their trees see a projection of the columns, and for trees
        whose inner nodes have no value.
        """
        if self.projection_ is not None or not self._has_paths:
            return None
        forest, read = self.forest_, self._read_sum
        start = baseline.astype(np.float32)[None]
        start_sum, start_moved = forest.sum_values(start), forest.contributions(start)

        def of_block(part: np.ndarray) -> np.ndarray:
            total = forest.sum_values(part)
            rise = total - start_sum
            rise = np.where(np.abs(rise) < SMALL_RISE, SMALL_RISE, rise)
            slope = (read(start_sum + rise) - read(start_sum)) / rise
            moved: np.ndarray = (forest.contributions(part) - start_moved) * slope[:, None]
            return moved

        return blockwise(self._checked_rows(X), of_block)

    @abstractmethod
    def _grow(
        self,
        rows: Tileable,
        is_anomaly: np.ndarray,
        sample_weight: np.ndarray | None,
        generator: np.random.Generator,
    ) -> Forest:
        """Grow the trees."""

    @abstractmethod
    def _read_sum(self, total: np.ndarray) -> np.ndarray:
        """Sum of the trees' values -> scores, both (b,)."""

    def _learn(
        self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None, *, resume: bool
    ) -> None:
        generator = as_generator(self.random_state)
        self.projection_ = None
        if self._is_wide():
            self.projection_ = Projection.draw(rows.shape[1], draw_seed(generator))
        weight = learning_weight(labels, sample_weight) if self.uses_normals else sample_weight
        self.forest_ = self._grow(self._narrow(rows), labels.is_anomaly, weight, generator)

    def _deepest(self) -> int:
        """Most splits from a root to a leaf that `_grow` can make."""
        return MAX_DEPTH

    def _is_wide(self) -> bool:
        return self.n_features_in_ >= WIDE

    def _narrow(self, rows: Rows) -> Tileable:
        return rows if self.projection_ is None else ProjectedRows(rows, self.projection_)

    def _score(self, rows: Rows) -> np.ndarray:
        narrow = self._narrow(rows)
        scores = np.empty(rows.shape[0])

        def score_span(span: slice) -> None:
            for selection, tile in dense_tiles(narrow, span, np.float32):
                scores[selection] = self._read_sum(self.forest_.sum_values(tile))

        in_threads(rows.shape[0], score_span)
        return scores

    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        return self._unlabelled_quantile(rows, is_anomaly, self.confidence)

    def _tensors(self) -> dict[str, np.ndarray]:
        projection = self.projection_.to_tensors() if self.projection_ else {}
        return self.forest_.to_tensors() | projection

    def _facts(self) -> dict[str, Any]:
        return {}

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.projection_ = None
        n_columns = self.n_features_in_
        if self._is_wide():
            self.projection_ = Projection.from_tensors(tensors, n_columns)
            n_columns = self.projection_.n_components
        self.forest_ = Forest.from_tensors(
            tensors,
            n_trees=self.n_trees,
            n_columns=n_columns,
            max_depth=self._deepest(),
            least_value=self._least_value,
        )
        known = self.forest_.to_tensors()
        refuse_unknown(tensors, [*known, *(PROJECTION_TENSORS if self._is_wide() else ())])
