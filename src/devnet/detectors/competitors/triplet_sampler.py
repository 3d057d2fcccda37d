"""Triplets for REPEN: a query, another inlier candidate, and an outlier."""

from collections.abc import Iterator, Sequence

import numpy as np

from devnet.core.arrays import ToDevice
from devnet.core.known_normals import learning_weight
from devnet.core.labels import Labels
from devnet.core.rows import Rows
from devnet.detectors.competitors.lesinn import draw_subsamples, lesinn_scores
from devnet.engine.sampler import Batch

CANTELLI = 1.7321  # standard deviations above the mean; at most a quarter of all rows lie beyond
FEWEST_OUTLIERS = 10


class TripletSampler:
    """Draws with replacement, each member from its own generator.

    Parameters
    ----------
    rows, labels, n_steps, generators
        As for `BalancedSampler`; a known normal row is never a negative.
    batch_size : int
        Triplets per step.
    sample_weight : (n,) array, optional
        Multiplies a row's probability of being a query or a negative.
    """

    def __init__(
        self,
        rows: Rows,
        labels: Labels,
        *,
        batch_size: int,
        n_steps: int,
        generators: Sequence[np.random.Generator],
        sample_weight: np.ndarray | None = None,
    ) -> None:
        self._rows = rows
        raised = learning_weight(labels, sample_weight)
        weight = np.ones(rows.shape[0]) if raised is None else raised
        labelled = np.flatnonzero(labels.is_anomaly & (weight > 0))
        unlabelled = np.flatnonzero(~labels.is_anomaly & (weight > 0))
        drawn = []
        for generator in generators:
            points = rows.select(draw_subsamples(unlabelled, generator))
            scores = lesinn_scores(rows.select(unlabelled), points)
            candidates = _Candidates(scores, unlabelled, weight, labels.is_normal[unlabelled])
            shape = (n_steps, batch_size)
            negative = candidates.outliers(shape, generator)
            if len(labelled):
                chances = weight[labelled] / weight[labelled].sum()
                alternate = negative[:, ::2]
                alternate[:] = generator.choice(labelled, alternate.shape, p=chances)
            query, positive = candidates.inlier_pairs(shape, generator)
            drawn.append(np.concatenate([query, positive, negative], axis=1))
        self._indices = np.stack(drawn, axis=1)  # (n_steps, m, 3 * batch_size)

    def batches(self, to_device: ToDevice, *, sparse: bool) -> Iterator[Batch]:
        """Yield the drawn batches in order: queries, then positives, then negatives."""
        for step, indices in enumerate(self._indices):
            if sparse:
                yield Batch(step, [self._rows.sparse(member) for member in indices], None, None)
            else:
                rows = to_device(self._rows.dense(indices.ravel()))
                yield Batch(step, rows.reshape(*indices.shape, -1), None, None)


class _Candidates:
    """Inlier and outlier candidates among the unlabelled rows, by initial outlier score."""

    def __init__(
        self, scores: np.ndarray, rows: np.ndarray, weight: np.ndarray, is_normal: np.ndarray
    ) -> None:
        is_outlier = (scores > scores.mean() + CANTELLI * scores.std()) & ~is_normal
        if not is_outlier.any():
            highest = np.argsort(np.where(is_normal, np.inf, -scores))
            is_outlier[highest[: min(FEWEST_OUTLIERS, len(scores) - 1)]] = True
            is_outlier &= ~is_normal
        if not is_outlier.any():  # a single unlabelled row is both
            is_outlier[:] = True
        self._outliers = rows[is_outlier]
        self._inliers = rows[~is_outlier] if not is_outlier.all() else rows
        weighed = scores * weight[rows] + 1e-12  # identical rows have a score of zero
        self._outlier_chances = weighed[is_outlier] / weighed[is_outlier].sum()
        of_inliers = scores[~is_outlier] if not is_outlier.all() else scores
        weighed = (scores.sum() - of_inliers + 1e-12) * weight[self._inliers]
        self._inlier_chances = weighed / weighed.sum()

    def outliers(self, shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
        """Draw outliers; a higher score makes a row more likely."""
        return generator.choice(self._outliers, shape, p=self._outlier_chances)

    def inlier_pairs(
        self, shape: tuple[int, int], generator: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw queries, more likely with a lower score, and any other inlier for each."""
        n = len(self._inliers)
        query = generator.choice(n, shape, p=self._inlier_chances)
        other = (query + generator.integers(1, n, shape)) % n if n > 1 else query
        return self._inliers[query], self._inliers[other]
