"""DeviationEnsemble, the detector for tables: bagged deviation learners, one calibrated score."""

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from devnet.arrays import one_blas_thread
from devnet.detector import FewLabelDetector
from devnet.ensemble import ensemble_file
from devnet.ensemble.combination import Combination, combine
from devnet.ensemble.expected_quality import ExpectedQuality, expect_quality
from devnet.ensemble.hidden_anomalies import HiddenShare, screen
from devnet.ensemble.learners import Learners, OutOfBag, Pool, Settings
from devnet.ensemble.table_learners import TableLearners
from devnet.ensemble.wide_learners import WideLearners
from devnet.parameters import Constraint, number, whole_number
from devnet.rows import WIDE, Rows, in_threads
from devnet.sampler import find_halves
from devnet.seeds import RANDOM_STATE, as_generator
from devnet.significance import ConformalRanks

EXPLAINED_ROWS = 256  # labelled anomalies that the importance of columns is taken over


class DeviationEnsemble(FewLabelDetector):
    """Rank rows of a table by deviation networks and deviation trees together.

    The paper's idea, end-to-end scores from balanced batches of few labelled anomalies and many
    unlabelled rows, goes to two kinds of learners that err differently: networks on rank-normal
    columns, trained with the deviation loss, and decision trees whose leaves are worth the margin
    times their share of anomalies. Every member learns from a bag of its own, so every training
    row has members that did not see it. From their out-of-bag scores come the reference that
    makes one deviation of all scores, p-values, the share of hidden anomalies and the quality to
    expect.

    A score of 0 is a typical unlabelled row and 1 the spread of these rows. The scale is not
    Gaussian: read significance from `p_value`. Columns need no scaling.

    Parameters
    ----------
    n_networks : int, default=10
        Deviation networks of 20 hidden units.
    n_trees : int, default=64
        Deviation trees.
    margin : float, default=5.0
        Deviation, the paper's a, that labelled anomalies should reach in every member.
    confidence : float, default=0.95
        Sets `threshold_`: an unlabelled row stays below with this probability.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    random_state : int, numpy RandomState or Generator, optional
        Seed of all draws. Results do not depend on the number of processor cores.

    Attributes
    ----------
    classes_ : array of shape (2,)
        What unlabelled rows and anomalies are called in y.
    threshold_ : float
        Anomaly score above which `predict` sees an anomaly.
    hidden_anomaly_share_ : HiddenShare
        Share of anomalies hidden among the unlabelled rows: value, low and high. It is too high
        where other rows look like anomalies. With fewer than five labelled anomalies nothing is
        known about it: 0, 0 and 1.
    column_importance_ : array of shape (n_columns,)
        Mean absolute contribution of each column to the scores of labelled anomalies; sums to 1.
    out_of_bag_ : OutOfBag
        Scores of the pool's unlabelled rows and of the labelled anomalies by members that did not
        see them.
    learners_ : TableLearners or WideLearners
        What was learned, and its `baseline`.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had column names.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import DeviationEnsemble
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3                          # ten anomalies ...
    >>> y = np.zeros(1000)
    >>> y[:5] = 1                               # ... of which five are known
    >>> model = DeviationEnsemble(random_state=0).fit(rows, y)
    >>> bool(model.p_value(rows[5:10]).max() < 0.01)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_networks": whole_number(1),
        "n_trees": whole_number(1),
        "margin": number(0),
        "confidence": number(0, below=1),
        "random_state": RANDOM_STATE,
    }

    learners_: Learners
    combination_: Combination
    out_of_bag_: OutOfBag
    pool_: np.ndarray  # (n,) numbers of the unlabelled rows that were learned from
    posterior_: np.ndarray  # (n,) their probability of being a hidden anomaly
    pool_weight_: np.ndarray  # (n,) their sample weights, 0 for those that are labelled now
    hidden_anomaly_share_: HiddenShare
    column_importance_: np.ndarray
    n_rows_: int

    def __init__(
        self,
        n_networks: int = 10,
        n_trees: int = 64,
        *,
        margin: float = 5.0,
        confidence: float = 0.95,
        pos_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_networks = n_networks
        self.n_trees = n_trees
        self.margin = margin
        self.confidence = confidence
        self.pos_label = pos_label
        self.random_state = random_state

    @with_callbacks
    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from further labels of the same rows, in a fraction of the time of `fit`.

        Encoding, pool and the judgement of hidden anomalies stay; the trees are grown anew, the
        networks go on from their weights. For an analyst who labels some rows, looks at the
        ranking, and labels some more.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_rows, n_columns)
            The same rows in the same order as in `fit`.
        y, sample_weight
            As for `fit`, with all labels that there are now.

        Returns
        -------
        self : the detector
        """
        check_is_fitted(self)
        return self._fit(X, y, sample_weight, go_on=True)

    def p_value(self, X: Any) -> np.ndarray:
        """Probability that an unlabelled row scores as high as each row of X.

        It is the rank of a score among the out-of-bag scores of the pool's unlabelled rows.
        Nothing is assumed about the distribution, and nothing extrapolated: the smallest p-value
        is 1 / (1 + rows of the pool), about 1 / 20,000 in large tables. False alarms are never more
        than promised. Hidden anomalies are among the ranked rows, and with many of them alarms
        are fewer.
        """
        return self._ranks().p_value(self.anomaly_score(X))

    def contributions(self, X: Any) -> Any:
        """What each column adds to a row's score over that of a typical unlabelled row.

        Path contributions of the trees and integrated gradients of the networks, on the scale of
        the score. A row's contributions add up to its score minus the score of
        `learners_.baseline`: the medians of the unlabelled rows, or the empty row where rows are
        wide and sparse. An array shaped as X, or a CSR matrix for wide and sparse rows.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        tiles = self.learners_.tiles(rows, slice(0, rows.shape[0]))
        scale = self.combination_.scale
        parts = [self.learners_.contributions(tile, scale) for _, tile in tiles]
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)

    def expected_quality(self, anomaly_share: float | None = None) -> ExpectedQuality:
        """Area under the precision-recall curve to expect, judged by the training rows alone.

        Of rows like the unlabelled ones, with an interval. It takes their share of anomalies, and
        where that is not given `hidden_anomaly_share_`, whose uncertainty then widens it a lot.
        """
        check_is_fitted(self)
        share = self.hidden_anomaly_share_
        if anomaly_share is not None:
            if not 0 < anomaly_share <= 1:
                raise ValueError(f"anomaly_share={anomaly_share} is not a share above 0, up to 1.")
            share = HiddenShare(anomaly_share, anomaly_share, anomaly_share)
        counting = self.out_of_bag_.unlabelled[self.pool_weight_ > 0]
        scores = OutOfBag(counting, self.out_of_bag_.labelled)
        return expect_quality(scores, share, np.random.default_rng(0))  # draws for the interval

    def _learn(
        self, rows: Rows, is_anomaly: np.ndarray, sample_weight: np.ndarray | None, *, go_on: bool
    ) -> None:
        generator = as_generator(self.random_state)
        kind = type(self.learners_) if go_on else _kind(rows)
        labelled, unlabelled, _ = find_halves(is_anomaly, sample_weight)
        size = kind.n_pool_rows(rows.shape[1])
        labelled = _choose(labelled, size, generator)
        if not go_on:
            self.n_rows_ = rows.shape[0]
            self.pool_ = _choose(unlabelled, size, generator)
        elif rows.shape[0] != self.n_rows_:
            raise ValueError(
                f"X has {rows.shape[0]} rows, but the ensemble was fitted on {self.n_rows_}; refit "
                "takes the same rows with further labels. Fit anew on other rows."
            )
        weight = np.ones(rows.shape[0]) if sample_weight is None else sample_weight
        pool = Pool(
            kind.gather(rows, self.pool_),
            weight[self.pool_] * ~is_anomaly[self.pool_] / weight[unlabelled].max(),
            kind.gather(rows, labelled),
            weight[labelled],
            labelled,
        )
        if not go_on:
            screening = screen(pool, lambda: kind.look(pool, self._settings(), generator))
            self.hidden_anomaly_share_, self.posterior_ = screening
        self.pool_weight_ = pool.weight
        pool = pool._replace(weight=pool.weight * (1 - self.posterior_))
        if not pool.weight.any():
            raise ValueError(
                f"all {len(self.pool_)} unlabelled rows that were learned from are labelled now or "
                "have weight zero; fit anew."
            )
        earlier = self.learners_ if go_on else None
        self.learners_, votes = kind.learn(pool, self._settings(), generator, earlier)
        self.combination_ = combine(votes, pool.weight)
        halves = zip(*votes, strict=True)
        self.out_of_bag_ = OutOfBag(*(self.combination_(scores) for scores in halves))
        self.column_importance_ = self._importance(pool.anomalies[:EXPLAINED_ROWS])

    def _settings(self) -> Settings:
        return Settings(self.n_networks, self.n_trees, self.margin)

    def _importance(self, anomalies: Any) -> np.ndarray:
        parts = self.learners_.contributions(anomalies, self.combination_.scale)
        size = np.asarray(abs(parts).sum(axis=0)).ravel()
        importance: np.ndarray = size / (size.sum() or 1.0)
        return importance

    def _score(self, rows: Rows) -> np.ndarray:
        scores = np.empty(rows.shape[0])

        def score_span(span: slice) -> None:
            for place, tile in self.learners_.tiles(rows, span):
                scores[place] = self.combination_(self.learners_.scores(tile))

        with one_blas_thread():
            in_threads(rows.shape[0], score_span)
        return scores

    def _ranks(self) -> ConformalRanks:
        return ConformalRanks(self.out_of_bag_.unlabelled, self.pool_weight_)

    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        return self._ranks().threshold(1 - self.confidence)

    def _tensors(self) -> dict[str, np.ndarray]:
        return ensemble_file.to_tensors(self)

    def _facts(self) -> dict[str, Any]:
        return ensemble_file.facts(self)

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        ensemble_file.restore(self, header, tensors)


def _kind(rows: Rows) -> type[Learners]:
    return WideLearners if rows.is_sparse and rows.shape[1] >= WIDE else TableLearners


def _choose(numbers: np.ndarray, size: int, generator: np.random.Generator) -> np.ndarray:
    """A random selection of row numbers, ascending, that bounds the cost of a fit."""
    if len(numbers) <= size:
        return numbers
    return np.sort(generator.choice(numbers, size, replace=False))
