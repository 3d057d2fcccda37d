"""BaggedEnsemble: how deviation learners are bagged, screened, combined, ranked and kept."""

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtr
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from devnet.core.arrays import one_blas_thread
from devnet.core.labels import Labels
from devnet.core.layout import LAYOUT, Layout
from devnet.core.model_file import (
    edited,
    field,
    is_count,
    refuse_unknown,
    size_of,
    tensor,
)
from devnet.core.parameters import Constraint, number, whole_number
from devnet.core.rows import Rows, in_threads
from devnet.core.seeds import RANDOM_STATE, as_generator
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.ensemble.combination import Combination, combine
from devnet.detectors.ensemble.deviation_trees import LARGEST_MARGIN
from devnet.detectors.ensemble.expected_quality import ExpectedQuality, expect_quality
from devnet.detectors.ensemble.hidden_anomalies import HiddenShare, screen
from devnet.detectors.ensemble.importance import Importance
from devnet.detectors.ensemble.learner_kinds import KINDS, choose_kind
from devnet.detectors.ensemble.learners import Learners, OutOfBag, Settings
from devnet.detectors.ensemble.pool import (
    NONE,
    Pool,
    checksum,
    choose,
    read_ascending,
    read_shares,
)
from devnet.detectors.ensemble.table_learners import TableLearners
from devnet.detectors.ensemble.taught_half import TaughtHalf
from devnet.detectors.taught_columns import teach
from devnet.significance.calibration import MIN_LABELLED, Calibration
from devnet.significance.ranks import ConformalRanks

EXPLAINED_ROWS = 256  # labelled anomalies that column importance is averaged over
LARGEST = 1e100  # scale or shift of the learners' scores in a model file


class BaggedEnsemble(FewLabelDetector):
    """Bagged learners of balanced batches, whose out-of-bag scores make them one deviation.

    Abstract. A detector defines whether another half stands beside the learners. The scale of the
    scores, p-values and importances are those of both together.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_networks": whole_number(1),
        "n_trees": whole_number(1),
        "margin": number(0, below=LARGEST_MARGIN),
        "confidence": number(0, below=1),
        "layout": LAYOUT,
        "random_state": RANDOM_STATE,
    }

    learners_: Learners
    combination_: Combination
    out_of_bag_: OutOfBag
    pool_: np.ndarray  # (n,) indices of the unlabelled and known normal rows to learn from
    normals_: np.ndarray  # (N,) positions of the known normal ones among them
    posterior_: np.ndarray  # (n,) their probability of being a hidden anomaly
    pool_weight_: np.ndarray  # (n,) how much they count in ranks, 0 for those labelled since
    hidden_anomaly_share_: HiddenShare
    importance_: Importance
    half_: TaughtHalf | None  # what stands beside the learners
    n_rows_: int
    pool_checksum_: int

    def __init__(
        self,
        n_networks: int = 10,
        n_trees: int = 64,
        *,
        margin: float = 5.0,
        confidence: float = 0.95,
        pos_label: Any = None,
        normal_label: Any = None,
        layout: Layout | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_networks = n_networks
        self.n_trees = n_trees
        self.margin = margin
        self.confidence = confidence
        self.pos_label = pos_label
        self.normal_label = normal_label
        self.layout = layout
        self.random_state = random_state

    @classmethod
    @abstractmethod
    def _half_kind(cls) -> type[TaughtHalf] | None:
        """What stands beside the learners, if anything does."""

    @with_callbacks
    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from further labels for the same rows.

        The encoding, the pool and the bags stay; hidden anomalies are screened and trees grown
        again, and networks resume from their weights. Meant for an analyst who labels some rows,
        looks at the ranking and labels some more. Rows that are known to be normal now are added
        to the pool. A row that is no longer an anomaly is left out until the next fit, one that
        is no longer known to be normal is unlabelled again.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_rows, n_columns)
            The same rows in the same order as in `fit`.
        y, sample_weight
            As for `fit`, with all present labels.
        """
        check_is_fitted(self)
        return self._fit(X, y, sample_weight, resume=True)

    def p_value(self, X: Any) -> np.ndarray:
        """Probability that an unlabelled row scores as high as each row of X.

        It is the rank of the score among the out-of-bag scores of the pool's rows, known normal
        ones included: see `ConformalRanks`. It assumes nothing about their distribution and does
        not extrapolate: the smallest p-value is 1 / (1 + n), where n is the number of rows in the
        pool, at most 20,000, or the sum of their weights relative to the largest. The ranked rows
        include hidden anomalies; if there are many, p-values are larger than they need to be.
        """
        scores = self.anomaly_score(X)
        return self._ranks().p_value(scores)

    def contributions(self, X: Any) -> Any:
        """What each column adds to a row's score, compared with a typical unlabelled row.

        Path contributions of the trees and integrated gradients of the networks, on the scale of
        the score. A row's contributions add up to its score minus the score of
        `learners_.baseline`: the medians of the unlabelled rows, or the empty row if rows are
        wide and sparse. The array has the shape of X, as CSR after a fit on wide and sparse rows.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        tiles = self.learners_.tiles(rows, slice(0, rows.shape[0]))
        parts = [self._contributions(tile) for _, tile in tiles]
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)

    def _contributions(self, rows: Any) -> Any:
        """What each column adds to the scores of rows as the learners take them, (b, d)."""
        found = self.learners_.contributions(rows, self.combination_.scale)
        if self.half_ is None:
            return found
        return self.half_.with_contributions(found, rows, self.learners_.baseline)

    def expected_quality(self, anomaly_share: float | None = None) -> ExpectedQuality:
        """Expected area under the precision-recall curve, judged by the training rows alone.

        For rows like the unlabelled ones, with an interval. It depends on their share of
        anomalies; without one, `hidden_anomaly_share_` is used, whose uncertainty widens the
        interval a lot.
        """
        check_is_fitted(self)
        share = self.hidden_anomaly_share_
        if anomaly_share is not None:
            if not number(0, below=1).accepts(anomaly_share):
                raise ValueError(
                    f"anomaly_share={anomaly_share!r} is not a share above 0 and below 1; give the "
                    "share of anomalies among the rows to rank, or nothing."
                )
            share = HiddenShare(*[float(anomaly_share)] * 3)
        elif len(self.normals_):
            share = HiddenShare(*(part * self._unknown_share() for part in share))
        counts = self.pool_weight_ > 0
        scores = OutOfBag(self.out_of_bag_.unlabelled[counts], self.out_of_bag_.labelled)
        weight = self.pool_weight_[counts] if len(self.normals_) else None
        return expect_quality(scores, share, np.random.default_rng(0), weight)  # resamples

    def _unknown_share(self) -> float:
        """How much the unlabelled rows count among all that are no labelled anomalies."""
        return float(1 - self.pool_weight_[self.normals_].sum() / self.pool_weight_.sum())

    @property
    def column_importance_(self) -> np.ndarray:
        """Mean absolute contribution of each column to the scores of labelled anomalies."""
        return self.importance_.of_all()

    def _learn(
        self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None, *, resume: bool
    ) -> None:
        if self.layout is not None:
            self.layout.check_width(rows.shape[1])
        generator = as_generator(self.random_state)
        kind = type(self.learners_) if resume else choose_kind(rows, self.layout)
        if resume:
            self._refuse_changes(kind, rows)
        weight = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
        before, size = self.pool_ if resume else None, kind.n_pool_rows(rows.shape[1])
        chosen = choose(labels, weight, size, generator, before)
        self.n_rows_, self.pool_ = rows.shape[0], chosen.others
        self.pool_weight_, self.normals_ = chosen.stands_for, chosen.normals
        pool = Pool.gather(partial(kind.gather, rows), chosen, weight, self.layout)
        self._check_pool(pool)
        settings = self._settings()
        quick = settings._replace(n_trees=-(-self.n_trees // 4)) if resume else settings
        screening = screen(pool, lambda: kind.look(pool, quick, generator))
        self.hidden_anomaly_share_, self.posterior_ = screening
        pool = pool._replace(weight=pool.weight * (1 - self.posterior_))
        earlier = self.learners_ if resume else None
        self.learners_, votes = kind.learn(pool, settings, generator, earlier)
        trust = self.learners_.trust(len(pool.labelled))
        self.combination_ = combine(votes, self.pool_weight_ * (1 - self.posterior_), trust)
        of_halves = [self.combination_(scores) for scores in zip(*votes, strict=True)]
        self.half_, self.out_of_bag_ = None, OutOfBag(*of_halves)
        self._learn_half(rows, labels, sample_weight)
        self.importance_ = Importance.of(self._contributions(pool.anomalies[:EXPLAINED_ROWS]))

    def _learn_half(self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None) -> None:
        """Learn what stands beside the learners, and mix the out-of-bag scores of both."""
        kind = self._half_kind()
        counts = np.full(rows.shape[0], True) if sample_weight is None else sample_weight > 0
        labelled = np.flatnonzero(labels.is_anomaly & counts)
        has_all = len(labelled) == len(self.out_of_bag_.labelled)  # there are few enough
        if kind is None or not (has_all and isinstance(self.learners_, TableLearners)):
            return
        taught = teach(rows, labels, sample_weight, as_generator(self.random_state))
        of_taught = OutOfBag(*(taught.unseen_scores(rows, part) for part in (self.pool_, labelled)))
        weight = self._unknown_weight()
        self.half_ = kind.of(taught.columns, self.out_of_bag_, of_taught, weight)
        both = zip(self.out_of_bag_, of_taught, strict=True)
        self.out_of_bag_ = OutOfBag(*(self.half_.mixed(*scores) for scores in both))

    def _unknown_weight(self) -> np.ndarray:
        """How much each row of the pool counts, 0 for known normal ones."""
        weight = self.pool_weight_.copy()
        weight[self.normals_] = 0
        return weight if weight.any() else self.pool_weight_

    def take_layout(self, layout: Layout) -> None:
        """Set `layout`."""
        self.layout = layout

    uses_text = True
    keeps_unseen_scores = True

    def unseen_scores(self) -> Calibration:
        """The out-of-bag scores."""
        check_is_fitted(self)
        counts = self.pool_weight_ > 0
        labelled = self.out_of_bag_.labelled
        is_known = len(labelled) >= MIN_LABELLED
        return Calibration(
            self.out_of_bag_.unlabelled[counts],
            self.pool_weight_[counts],
            labelled if len(labelled) > 1 else None,  # a single one was seen by all members
            self.hidden_anomaly_share_.value * self._unknown_share() if is_known else None,
        )

    def nominal_p_value(self, scores: np.ndarray) -> np.ndarray:
        """Upper tail of the standard normal distribution, as if deviations were Gaussian."""
        tail: np.ndarray = ndtr(-np.asarray(scores, dtype=np.float64))
        return tail

    @property
    def baseline(self) -> np.ndarray:
        """The learners' baseline."""
        return self.learners_.baseline

    def own_contributions(self, X: Any, baseline: np.ndarray) -> Any:
        """`contributions`, shifted if the baseline is not the learners' own."""
        found = self.contributions(X)
        if np.array_equal(baseline, self.learners_.baseline):
            return found
        shift = self.contributions(baseline[None])
        if sp.issparse(found):
            shift = sp.csr_array(np.ones((found.shape[0], 1))) @ shift
        return found - shift

    @property
    def has_sparse_rows(self) -> bool:
        """Whether the learners take CSR rows."""
        return self.learners_.takes_csr

    @property
    def makes_rows_dense(self) -> bool:
        """Whether the learners take dense rows alone."""
        return self.learners_.makes_dense

    @property
    def is_thread_safe(self) -> bool:
        """True: scoring only reads."""
        return True

    def expectations(self) -> dict[str, Any]:
        """The share of hidden anomalies, and the expected ranking quality."""
        return {
            "hidden_anomaly_share": self.hidden_anomaly_share_._asdict(),
            "expected_quality": self.expected_quality()._asdict(),
        }

    def _refuse_changes(self, kind: type[Learners], rows: Rows) -> None:
        if rows.shape[0] != self.n_rows_:
            raise ValueError(
                f"X has {rows.shape[0]} rows, but the ensemble was fitted on {self.n_rows_}; refit "
                "takes the same rows with further labels. For other rows, call fit."
            )
        if self.learners_.n_networks not in (None, self.n_networks):
            raise ValueError(
                f"n_networks={self.n_networks}, but the ensemble was fitted with "
                f"{self.learners_.n_networks}, which refit resumes; change it back."
            )
        if checksum(kind.gather(rows, self.pool_)) != self.pool_checksum_:
            raise ValueError(
                "X holds other rows than the ensemble was fitted on, or in another order; refit "
                "takes the same rows with further labels. For other rows, call fit."
            )

    def _check_pool(self, pool: Pool) -> None:
        self.pool_checksum_ = checksum(pool.rows)
        if not pool.weight.any():
            raise ValueError(
                f"all {len(self.pool_)} unlabelled rows of the first fit are labelled now or have "
                "weight zero; call fit."
            )

    def _settings(self) -> Settings:
        return Settings(self.n_networks, self.n_trees, self.margin)

    def _score(self, rows: Rows) -> np.ndarray:
        scores = np.empty(rows.shape[0])

        def score_span(span: slice) -> None:
            for part, tile in self.learners_.tiles(rows, span):
                scores[part] = self.combination_(self.learners_.scores(tile))
                if self.half_ is not None:
                    scores[part] = self.half_.mixed(scores[part], self.half_.columns.scores(tile))

        with one_blas_thread():
            in_threads(rows.shape[0], score_span)
        return scores

    def _ranks(self) -> ConformalRanks:
        return ConformalRanks(self.out_of_bag_.unlabelled, self.pool_weight_)

    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        return self._ranks().threshold(1 - self.confidence)

    def _tensors(self) -> dict[str, np.ndarray]:
        return {
            **self.learners_.to_tensors(),
            "combination_scale": self.combination_.scale,
            "out_of_bag_unlabelled": self.out_of_bag_.unlabelled,
            "out_of_bag_labelled": self.out_of_bag_.labelled,
            "pool": self.pool_,
            "posterior": self.posterior_,
            "pool_weight": self.pool_weight_,
            **({"pool_normals": self.normals_} if len(self.normals_) else {}),
            **self.importance_.to_tensors(),
            **({} if self.half_ is None else self.half_.to_tensors()),
        }

    def _facts(self) -> dict[str, Any]:
        return {
            "learners": type(self.learners_).__name__,
            "n_rows": self.n_rows_,
            "n_labelled": len(self.out_of_bag_.labelled),
            "pool_checksum": self.pool_checksum_,
            "combination_shift": self.combination_.shift,
            "hidden_anomaly_share": list(self.hidden_anomaly_share_),
        }

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        n = size_of(tensors, "out_of_bag_unlabelled")
        self._restore_learners(header, tensors, n)
        self._restore_pool(header, tensors, n)
        self.hidden_anomaly_share_ = HiddenShare.from_header(header)
        self.importance_ = Importance.from_tensors(tensors, self.n_features_in_)
        kind = self._half_kind()
        self.half_ = None if kind is None else kind.from_tensors(tensors, self.n_features_in_)
        refuse_unknown(tensors, self._tensors())

    def _restore_learners(
        self, header: dict[str, Any], tensors: dict[str, np.ndarray], n: int
    ) -> None:
        k = field(header, "n_labelled", is_count)
        name = field(header, "learners", lambda value: isinstance(value, str) and value in KINDS)
        kind = KINDS[name]
        self.learners_ = kind.from_tensors(tensors, self.n_features_in_, n)
        if "bag_labelled" in tensors and len(tensors["bag_labelled"]) != k:
            raise edited("the ensemble", f"the bags do not hold {k} labelled anomalies")
        self.combination_ = Combination(
            tensor(tensors, "combination_scale", (self.learners_.n_scorers,), "float64", LARGEST),
            float(field(header, "combination_shift", number(-LARGEST, below=LARGEST).accepts)),
        )
        if not (self.combination_.scale > 0).all():
            raise edited("the ensemble", "the scales of its learners must be positive")
        self.out_of_bag_ = OutOfBag(
            tensor(tensors, "out_of_bag_unlabelled", (n,), "float64"),
            tensor(tensors, "out_of_bag_labelled", (k,), "float64"),
        )

    def _restore_pool(self, header: dict[str, Any], tensors: dict[str, np.ndarray], n: int) -> None:
        self.n_rows_ = field(header, "n_rows", is_count)
        self.pool_checksum_ = field(header, "pool_checksum", lambda value: type(value) is int)
        self.pool_ = read_ascending(tensors, "pool", n, self.n_rows_)
        n_normal = size_of(tensors, "pool_normals")
        self.normals_ = read_ascending(tensors, "pool_normals", n_normal, n) if n_normal else NONE
        self.posterior_ = read_shares(tensors, "posterior", n)
        self.pool_weight_ = read_shares(tensors, "pool_weight", n)
        if not self.pool_weight_.any():
            raise edited("the ensemble", "no unlabelled row has a weight above zero")
