"""RankDeviation, the order to start from: rows whose columns deviate from the usual, no labels."""

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Tags

from devnet.core.labels import Labels
from devnet.core.model_file import edited, refuse_unknown, tensor
from devnet.core.parameters import Constraint, number
from devnet.core.rows import WIDE, Rows, blockwise, dense_tiles, in_threads, sparse_tiles
from devnet.core.seeds import RANDOM_STATE, as_generator
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.ensemble.pool import choose_rows
from devnet.detectors.ensemble.rank_normal import EXTREME, RankNormal

LEARNED_ROWS = 20_000  # more do not help
LARGEST = 1e12  # centre, weight or rarity in a model file


class RankDeviation(FewLabelDetector):
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

    _constraints: ClassVar[dict[str, Constraint]] = {
        "confidence": number(0, below=1),
        "random_state": RANDOM_STATE,
    }

    uses_normals: ClassVar[bool] = False

    usual_: "UsualColumns | UsualSets"

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
        chosen = learned_rows(rows, sample_weight, as_generator(self.random_state))
        if is_wide(rows):
            self.usual_ = UsualSets.of(rows.sparse(chosen))
        else:
            self.usual_ = UsualColumns.of(rows.dense(chosen))

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
        kind = UsualSets if "rarity" in tensors else UsualColumns
        self.usual_ = kind.from_tensors(tensors, self.n_features_in_)
        refuse_unknown(tensors, self._tensors())


def learned_rows(
    rows: Rows, sample_weight: np.ndarray | None, generator: np.random.Generator
) -> np.ndarray:
    """The rows that tell what is usual, by number, ascending."""
    chosen = np.arange(rows.shape[0])
    if sample_weight is not None:  # the first exponential clocks to ring are a weighted draw
        chosen = np.flatnonzero(sample_weight)
        clocks = generator.standard_exponential(len(chosen)) / sample_weight[chosen]
        chosen = np.sort(chosen[np.argsort(clocks)[:LEARNED_ROWS]])
    return choose_rows(chosen, LEARNED_ROWS, generator)


def is_wide(rows: Rows) -> bool:
    """Whether rows are known by which columns they have."""
    return bool(rows.is_sparse and rows.shape[1] >= WIDE)


class UsualColumns:
    """How the values of each column spread: mean and weight of its rank-normal values."""

    tiles = staticmethod(lambda rows, span: dense_tiles(rows, span, np.float32))

    def __init__(self, encoding: RankNormal, centre: np.ndarray, weight: np.ndarray) -> None:
        self.encoding = encoding
        self.centre = centre  # (d,)
        self.weight = weight  # (d,)

    @classmethod
    def of(cls, rows: np.ndarray) -> Self:
        """Learn from rows (n, d)."""
        encoding = RankNormal.learn(rows)
        encoded = encoding.encode(rows).astype(np.float64)
        least = EXTREME / np.sqrt(len(rows))  # the spread of a column in which one row differs
        spread = np.maximum(encoded.std(axis=0), least)
        total = (encoded.var(axis=0) / np.sqrt(spread)).sum()
        weight = 1 / np.sqrt(spread) / (total or 1.0)
        return cls(encoding, encoded.mean(axis=0), weight)

    def summands(self, rows: np.ndarray) -> np.ndarray:
        """Weighted squared deviations, (b, d) float32 -> (b, d) float64."""
        deviation: np.ndarray = self.encoding.encode(rows) - self.centre
        weighted: np.ndarray = self.weight * deviation**2
        return weighted

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Sums over the columns, (b,); a row's summands are added in the same order anywhere."""
        total: np.ndarray = self.summands(rows).sum(axis=1)
        return total

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {**self.encoding.to_tensors(), "centre": self.centre, "weight": self.weight}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore from the arrays of a model file, after checking them."""
        encoding = RankNormal.from_tensors(tensors, n_columns)
        centre, weight = (
            tensor(tensors, name, (n_columns,), "float64", LARGEST) for name in ("centre", "weight")
        )
        if not (weight > 0).all():
            raise edited("the columns", "their weights must be positive")
        return cls(encoding, centre, weight)


class UsualSets:
    """How rare each column is, in rows that have few of very many columns."""

    tiles = staticmethod(sparse_tiles)

    def __init__(self, rarity: np.ndarray) -> None:
        self._rarity = rarity  # (d,)

    @classmethod
    def of(cls, rows: sp.csr_array) -> Self:
        """Learn from CSR rows (n, d); a column that none of them has is as rare as half a row."""
        n_having = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1])
        rarity = -np.log(np.maximum(n_having, 0.5) / rows.shape[0])
        mean = _mean_over(rows, rarity).mean()
        return cls(rarity / (mean or 1.0))

    def scores(self, rows: sp.csr_array) -> np.ndarray:
        """Mean rarity of the columns that each row has, (b,); 0 for an empty row."""
        return _mean_over(rows, self._rarity)

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {"rarity": self._rarity}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore from the arrays of a model file, after checking them."""
        rarity = tensor(tensors, "rarity", (n_columns,), "float64", LARGEST)
        if not (rarity >= 0).all():
            raise edited("the columns", "their rarity must not be negative")
        return cls(rarity)


def _mean_over(rows: sp.csr_array, value: np.ndarray) -> np.ndarray:
    """Mean value (d,) of the columns in which each row is not zero, (b,)."""
    has = sp.csr_array(((rows.data != 0).astype(np.float64), rows.indices, rows.indptr), rows.shape)
    mean: np.ndarray = (has @ value) / np.maximum(has.sum(axis=1), 1)
    return mean
