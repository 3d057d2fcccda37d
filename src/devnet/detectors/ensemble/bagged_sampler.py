"""Balanced batches of an ensemble: each member draws from its own bag."""

from collections.abc import Iterator, Sequence

import numpy as np

from devnet.core.layout import Layout
from devnet.detectors.ensemble.bags import Bags, swap_values
from devnet.engine.sampler import Batch

HALF = 256  # unlabelled rows per step
MAX_ANOMALIES = 128  # per step
MAX_VARIANTS = 32  # versions of the anomalies, each with different values swapped
VARIANT_VALUES = 1 << 19  # of a member, in all variants together


class BaggedSampler:
    """Draws batches of m members from their bags, with values swapped among the anomalies.

    Parameters
    ----------
    unlabelled, anomalies : float32 arrays of shape (n, d) and (K, d)
    bags : Bags
        Of the members.
    counts : bool array of shape (n,)
        Which unlabelled rows may be drawn; others are left out of the bags.
    n_steps : int
        Number of batches.
    generators : sequence of numpy Generators
        One per member; a member draws the same numbers whatever the others are.
    layout : Layout, optional
        Of the d columns; values of a block are swapped together.
    """

    def __init__(
        self,
        unlabelled: np.ndarray,
        anomalies: np.ndarray,
        bags: Bags,
        counts: np.ndarray,
        *,
        n_steps: int,
        generators: Sequence[np.random.Generator],
        layout: Layout | None = None,
    ) -> None:
        self._unlabelled = unlabelled
        members = [bags.rows(member) for member in range(len(generators))]
        half = min(HALF, max(map(len, members)))
        drawn, variants, weights = [], [], []
        for bag, count, generator in zip(members, bags.anomalies, generators, strict=True):
            usable = bag[counts[bag]]
            usable = usable if len(usable) else bag
            drawn.append(generator.choice(usable, (n_steps, half)))
            rows, weight = _swap_variants(anomalies, count, generator, layout)
            variants.append(rows)
            weights.append(weight)
        self._drawn = np.stack(drawn)  # (m, n_steps, half)
        self._variants = np.stack(variants)  # (m, v, a, d)
        m, _, a, _ = self._variants.shape
        unlabelled_weight = np.full((m, half), 0.5 / half)
        weight = np.concatenate([np.stack(weights) / 2, unlabelled_weight], axis=1)
        self._weight = weight[:, :, None].astype(np.float32)  # (m, a + half, 1)
        self._is_anomaly = np.zeros(self._weight.shape, dtype=bool)
        self._is_anomaly[:, :a] = True

    def batches(self) -> Iterator[Batch]:
        """Yield the drawn batches in order; the rows of one are overwritten by the next."""
        m, n_steps, half = self._drawn.shape
        _, n_variants, a, d = self._variants.shape
        rows = np.empty((m, a + half, d), np.float32)
        for step in range(n_steps):
            rows[:, :a] = self._variants[:, step % n_variants]
            for member, drawn in enumerate(self._drawn[:, step]):
                # All indices are valid, so mode="clip" changes nothing, but it saves a copy.
                self._unlabelled.take(drawn, axis=0, out=rows[member, a:], mode="clip")
            yield Batch(step, rows, self._is_anomaly, self._weight)


def _swap_variants(
    anomalies: np.ndarray,
    count: np.ndarray,
    generator: np.random.Generator,
    layout: Layout | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Variants (v, a, d) of a bootstrap's anomalies with values swapped, and weights (a,).

    Each variant holds all K anomalies, those outside the bootstrap with weight zero; if K is
    large, it holds a draw from the bootstrap. Weights sum to 1.
    """
    n_anomalies, d = anomalies.shape
    size = min(n_anomalies, MAX_ANOMALIES)
    n_variants = max(2, min(MAX_VARIANTS, VARIANT_VALUES // (size * d)))
    donors = np.repeat(np.arange(n_anomalies), count)
    if n_anomalies <= MAX_ANOMALIES:
        drawn, weight = np.tile(np.arange(n_anomalies), n_variants), count / count.sum()
    else:
        drawn, weight = generator.choice(donors, n_variants * size), np.full(size, 1 / size)
    rows = swap_values(anomalies, drawn, donors, generator, layout)
    return rows.reshape(n_variants, size, d), weight
