"""UnusualDetector: what the detectors that need no labelled anomaly share."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from devnet.core.labels import Labels
from devnet.core.model_file import refuse_unknown
from devnet.core.parameters import Constraint, number
from devnet.core.rows import Rows, blockwise, in_threads
from devnet.core.seeds import RANDOM_STATE, as_generator
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.taught_columns import TaughtColumns
from devnet.detectors.usual_columns import UsualColumns, UsualSets, is_wide, learned_rows


class UnusualDetector(FewLabelDetector):
    """Score rows by how far they are from what is usual.

    Abstract. A detector defines what it learns about the columns of rows that are not wide. Sparse
    rows of 4,096 columns or more are scored by the mean rarity of the columns they have.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "confidence": number(0, below=1),
        "random_state": RANDOM_STATE,
    }

    usual_: UsualColumns | TaughtColumns | UsualSets

    def __init__(
        self,
        *,
        confidence: float = 0.95,
        pos_label: Any = None,
        normal_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.confidence = confidence
        self.pos_label = pos_label
        self.normal_label = normal_label
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # classes are not learned without labels
        return tags

    def own_contributions(self, X: Any, baseline: np.ndarray) -> np.ndarray | None:
        """The summands of the score minus those of the baseline; None for wide sparse rows."""
        usual = self.usual_
        if isinstance(usual, UsualSets):
            return None
        start = usual.summands(baseline.astype(np.float32)[None])
        return blockwise(self._checked_rows(X), lambda part: usual.summands(part) - start)

    @property
    def has_sparse_rows(self) -> bool:
        """Whether rows are scored by which columns they have."""
        return isinstance(self.usual_, UsualSets)

    @property
    def is_thread_safe(self) -> bool:
        """True: scoring only reads."""
        return True

    def _needs_labels(self) -> bool:
        return False

    def _learn(
        self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None, *, resume: bool
    ) -> None:
        generator = as_generator(self.random_state)
        if is_wide(rows):
            chosen = learned_rows(rows, sample_weight, generator)
            self.usual_ = UsualSets.of(rows.sparse(chosen))
        else:
            self.usual_ = self._learn_columns(rows, labels, sample_weight, generator)

    @abstractmethod
    def _learn_columns(
        self,
        rows: Rows,
        labels: Labels,
        sample_weight: np.ndarray | None,
        generator: np.random.Generator,
    ) -> UsualColumns | TaughtColumns:
        """What is usual in rows of few columns."""

    @classmethod
    @abstractmethod
    def _restore_columns(
        cls, tensors: dict[str, np.ndarray], n_columns: int
    ) -> UsualColumns | TaughtColumns:
        """The same, from the arrays of a model file."""

    def _score(self, rows: Rows) -> np.ndarray:
        scores = np.empty(rows.shape[0])

        def score_span(span: slice) -> None:
            for selection, tile in self.usual_.tiles(rows, span):
                scores[selection] = self.usual_.scores(tile)

        in_threads(rows.shape[0], score_span)
        return scores

    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        return self._unlabelled_quantile(rows, is_anomaly, self.confidence)

    def _tensors(self) -> dict[str, np.ndarray]:
        return self.usual_.to_tensors()

    def _facts(self) -> dict[str, Any]:
        return {}

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        restore = UsualSets.from_tensors if "rarity" in tensors else self._restore_columns
        self.usual_ = restore(tensors, self.n_features_in_)
        refuse_unknown(tensors, self._tensors())
