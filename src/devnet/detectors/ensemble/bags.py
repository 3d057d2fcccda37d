"""Bags: what each member of an ensemble learns from, and which rows it did not see."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from devnet.core.model_file import edited, size_of, tensor
from devnet.detectors.ensemble.pool import Pool

LEAST_RATE = 1e-30  # of a row's draw relative to others'; float32 holds the inverse
MOST_DRAWN = 1 << 20  # anomalies that a member of a model file may have drawn
SWAPPED_SHARE = 0.2  # of an anomaly's values, which other labelled anomalies give


class Bags(NamedTuple):
    """For each of m members its own unlabelled rows and its own bootstrap of the anomalies."""

    unlabelled: np.ndarray  # (m, s) places in the pool of n unlabelled rows, each once a member
    anomalies: np.ndarray  # (m, K) how often each labelled anomaly was drawn
    labelled: np.ndarray  # (K,) which training rows these are

    def members(self, span: slice) -> "Bags":
        """Those of some members."""
        return self._replace(unlabelled=self.unlabelled[span], anomalies=self.anomalies[span])

    def holds_unlabelled(self, n_rows: int) -> np.ndarray:
        """Which rows of the pool each member saw, (m, n) bool."""
        holds = np.zeros((len(self.unlabelled), n_rows), dtype=bool)
        np.put_along_axis(holds, self.unlabelled, True, axis=1)
        return holds

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {f"bag_{name}": part.astype(np.int64) for name, part in self._asdict().items()}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_members: int, n_pool: int) -> Self:
        """Take over the bags of a model file, or say what is wrong with them."""
        size = size_of(tensors, "bag_unlabelled") // n_members
        n_labelled = size_of(tensors, "bag_labelled")
        unlabelled = tensor(tensors, "bag_unlabelled", (n_members, size), "int64")
        anomalies = tensor(tensors, "bag_anomalies", (n_members, n_labelled), "int64")
        labelled = tensor(tensors, "bag_labelled", (n_labelled,), "int64")
        if not size or unlabelled.min() < 0 or unlabelled.max() >= n_pool:
            raise edited("the bags", "a bag holds rows that are not in the pool")
        if (np.diff(np.sort(unlabelled, axis=1), axis=1) == 0).any():
            raise edited("the bags", "a bag holds a row twice")
        if not n_labelled or anomalies.min() < 0 or not anomalies.any(axis=1).all():
            raise edited("the bags", "a bag holds no labelled anomaly")
        if anomalies.sum(axis=1, dtype=np.float64).max() > MOST_DRAWN:
            raise edited("the bags", "a bag holds more labelled anomalies than can be")
        if labelled[0] < 0 or (np.diff(labelled) <= 0).any():
            raise edited("the bags", "labelled rows must have ascending numbers")
        return cls(unlabelled, anomalies, labelled)


def draw_bags(size: int, pool: Pool, generators: Sequence[np.random.Generator]) -> Bags:
    """Draw bags of `size` unlabelled rows, or of half of them where that is less.

    A row is drawn with probability proportional to its weight: unlabelled rows without
    replacement, anomalies with replacement. At least half of the rows, unless there is one only,
    stay out of every bag.
    """
    drawable = np.flatnonzero(pool.weight)
    size = max(1, min(size, len(drawable) // 2))
    rate = np.maximum(pool.weight[drawable], LEAST_RATE).astype(np.float32)
    probability = pool.anomaly_weight / pool.anomaly_weight.sum()
    unlabelled, anomalies = [], []
    for generator in generators:
        # The rows whose exponential clocks ring first are a weighted draw without replacement.
        clocks = generator.standard_exponential(len(drawable), dtype=np.float32) / rate
        unlabelled.append(drawable[np.argpartition(clocks, size - 1)[:size]])
        anomalies.append(generator.multinomial(len(probability), probability))
    return Bags(np.stack(unlabelled), np.stack(anomalies), pool.labelled)


def extend_bags(
    bags: Bags,
    labelled: np.ndarray,
    places: np.ndarray,
    generators: Sequence[np.random.Generator],
) -> Bags:
    """The same unlabelled rows, with the anomalies that are labelled now (K,).

    An anomaly that was there stays in its bags, and out of the others. A new one is drawn once on
    average, and once at least by a member that saw it as an unlabelled row. Their places in the
    pool (K,) tell, -1 for those that are not there.
    """
    counts = np.stack([generator.poisson(1, len(labelled)) for generator in generators])
    for count, bag in zip(counts, bags.unlabelled, strict=True):
        count[np.isin(places, bag) & (count == 0)] = 1
    for place, number in enumerate(labelled):
        before = np.flatnonzero(bags.labelled == number)
        if len(before):
            counts[:, place] = bags.anomalies[:, before[0]]
    counts[~counts.any(axis=1)] = 1  # none at all would leave nothing to learn from
    return Bags(bags.unlabelled, counts, labelled)


def swap_values(
    anomalies: np.ndarray, drawn: np.ndarray, donors: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """The drawn anomalies, each with a fifth of its values taken from the donors.

    Anomalies (K, d), numbers of the drawn ones (r,) and of the donors -> rows (r, d). A value
    keeps its column. What the labelled anomalies share stays; what is one's alone blurs.
    """
    rows: np.ndarray = anomalies[drawn]
    is_swapped = generator.random(rows.size, dtype=np.float32) < SWAPPED_SHARE
    place = np.flatnonzero(is_swapped)
    giver = donors[generator.integers(len(donors), size=len(place))]
    rows.reshape(-1)[place] = anomalies[giver, place % rows.shape[1]]
    return rows


def out_of_bag_mean(scores: np.ndarray, is_in_bag: np.ndarray) -> np.ndarray:
    """Mean score of each row over the members that did not see it, (m, n) twice -> (n,).

    A row that all members saw has the mean of all.
    """
    counts = ~is_in_bag
    counts[:, ~counts.any(axis=0)] = True
    mean: np.ndarray = (scores * counts).sum(axis=0) / counts.sum(axis=0)
    return mean
