"""ReviewEnsemble: the ensemble, and beside it what is unusual and what verdicts taught."""

from typing import Any

import numpy as np

from devnet.core.labels import Labels
from devnet.core.model_file import edited, tensor
from devnet.core.rows import Rows, blockwise, in_threads
from devnet.core.seeds import as_generator
from devnet.detectors.ensemble.deviation_ensemble import EXPLAINED_ROWS, DeviationEnsemble
from devnet.detectors.ensemble.importance import Importance
from devnet.detectors.ensemble.learners import OutOfBag
from devnet.detectors.ensemble.table_learners import TableLearners
from devnet.detectors.rank_deviation import LARGEST
from devnet.detectors.taught_columns import Taught, TaughtColumns, teach

PREFIX = "order_"  # of the arrays of `taught_` in a model file


class ReviewEnsemble(DeviationEnsemble):
    """Rank rows for review: half by the ensemble, half by `TaughtDeviation`.

    Once the anomalies that are like known ones have been found, the ensemble's next rows are
    those that are a little like them. The other half still knows which rows are unusual, and what
    was said about rows like these, so that another kind of anomaly comes up earlier.

    All else, parameters included, is as in `DeviationEnsemble`. Wide sparse rows, and tables with
    columns of free text, are scored by the ensemble alone.

    Attributes
    ----------
    taught_ : TaughtColumns or None
        The other half; None where the ensemble scores alone.
    mix_ : array of shape (3,)
        The score is mix[0] * ensemble + mix[1] * taught + mix[2]; over the unlabelled rows its
        mean is 0 and its spread 1.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import ReviewEnsemble
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3                          # ten anomalies ...
    >>> y = np.zeros(1000)
    >>> y[:5] = 1                               # ... of which five are known
    >>> model = ReviewEnsemble(random_state=0).fit(rows, y)
    >>> bool(model.p_value(rows[5:10]).max() < 0.01)
    True
    """

    taught_: TaughtColumns | None
    mix_: np.ndarray

    def contributions(self, X: Any) -> Any:
        """What each column adds to a row's score, as in `DeviationEnsemble`."""
        found = super().contributions(X)
        if self.taught_ is None:
            return found
        taught = blockwise(self._rows(X, reset=False), self._taught_contributions)
        return self.mix_[0] * found + self.mix_[1] * taught

    def _taught_contributions(self, rows: np.ndarray) -> np.ndarray:
        """What each column adds to the taught half, compared with the baseline, (b, d)."""
        assert self.taught_ is not None
        baseline = self.learners_.baseline.astype(np.float32)[None]
        moved: np.ndarray = self.taught_.summands(rows) - self.taught_.summands(baseline)
        return moved

    def _learn(
        self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None, *, resume: bool
    ) -> None:
        super()._learn(rows, labels, sample_weight, resume=resume)
        self.taught_, self.mix_ = None, np.array([1.0, 0.0, 0.0])
        counts = np.full(rows.shape[0], True) if sample_weight is None else sample_weight > 0
        labelled = np.flatnonzero(labels.is_anomaly & counts)
        has_all = len(labelled) == len(self.out_of_bag_.labelled)  # there are few enough
        if not (has_all and isinstance(self.learners_, TableLearners)):
            return
        taught = teach(rows, labels, sample_weight, as_generator(self.random_state))
        halves = [
            (ensemble, _unseen_scores(rows, taught, which))
            for ensemble, which in zip(self.out_of_bag_, (self.pool_, labelled), strict=True)
        ]
        self.taught_, self.mix_ = taught.columns, _mix(*halves[0], self._unknown_weight())
        self.out_of_bag_ = OutOfBag(*(self._mixed(*half) for half in halves))
        explained = rows.dense(labelled[:EXPLAINED_ROWS])
        self.importance_ = Importance.of(
            self.mix_[0] * self.learners_.contributions(explained, self.combination_.scale)
            + self.mix_[1] * self._taught_contributions(explained)
        )

    def _unknown_weight(self) -> np.ndarray:
        """How much each row of the pool counts, 0 for known normal ones."""
        weight = self.pool_weight_.copy()
        weight[self.normals_] = 0
        return weight if weight.any() else self.pool_weight_

    def _mixed(self, ensemble: np.ndarray, taught: np.ndarray) -> np.ndarray:
        scores: np.ndarray = self.mix_[0] * ensemble + self.mix_[1] * taught + self.mix_[2]
        return scores

    def _score(self, rows: Rows) -> np.ndarray:
        scores, taught = super()._score(rows), self.taught_
        if taught is None:
            return scores

        def score_span(span: slice) -> None:
            for part, tile in taught.tiles(rows, span):
                scores[part] = self._mixed(scores[part], taught.scores(tile))

        in_threads(rows.shape[0], score_span)
        return scores

    def _tensors(self) -> dict[str, np.ndarray]:
        if self.taught_ is None:
            return super()._tensors()
        taught = {PREFIX + name: part for name, part in self.taught_.to_tensors().items()}
        return {**super()._tensors(), **taught, "mix": self.mix_}

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        self.taught_, self.mix_ = None, np.array([1.0, 0.0, 0.0])
        if "mix" in tensors:
            self.mix_ = tensor(tensors, "mix", (3,), "float64", LARGEST)
            if not (self.mix_[:2] > 0).all():
                raise edited("the ensemble", "both halves must count")
            names = [name for name in tensors if name.startswith(PREFIX)]
            taught = {name.removeprefix(PREFIX): tensors[name] for name in names}
            self.taught_ = TaughtColumns.from_tensors(taught, self.n_features_in_)
        super()._restore(header, tensors)


def _unseen_scores(rows: Rows, taught: Taught, which: np.ndarray) -> np.ndarray:
    """Scores of training rows by number, ascending; judged ones by the verdicts of all others."""
    scores = np.empty(len(which))
    chosen = rows.select(which)
    for part, tile in taught.columns.tiles(chosen, slice(0, len(which))):
        scores[part] = taught.columns.scores(tile)
    _, here, there = np.intersect1d(which, taught.judged, assume_unique=True, return_indices=True)
    scores[here] = taught.unseen[there]
    return scores


def _mix(ensemble: np.ndarray, taught: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Factors of both halves and a summand, (3,): halves of the same spread, weighted (n,)."""
    factor = np.array([1 / _spread(half, weight) for half in (ensemble, taught)])
    total = factor[0] * ensemble + factor[1] * taught
    factor /= (spread := _spread(total, weight))
    return np.array([*factor, -np.average(total, weights=weight) / spread])


def _spread(scores: np.ndarray, weight: np.ndarray) -> float:
    mean = np.average(scores, weights=weight)
    return float(np.sqrt(np.average((scores - mean) ** 2, weights=weight))) or 1.0
