"""Bags: what each member of an ensemble learns from, and which rows it did not see."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from devnet.core.layout import Layout
from devnet.core.model_file import ascends, edited, size_of, tensor
from devnet.detectors.ensemble.pool import Pool

LEAST_RATE = 1e-30  # at which a row is drawn, relative to others; float32 holds its inverse
MOST_DRAWN = 1 << 20  # anomalies that a member of a model file may have drawn
SWAPPED_SHARE = 0.2  # of an anomaly's values, taken from other labelled anomalies


class Bags(NamedTuple):
    """For each of m members, its unlabelled rows and its bootstrap of the anomalies."""

    unlabelled: np.ndarray  # (m, s) positions in the pool of n rows, distinct within a member
    anomalies: np.ndarray  # (m, K) how often each labelled anomaly was drawn
    labelled: np.ndarray  # (K,) indices of these anomalies among the training rows

    def members(self, span: slice) -> "Bags":
        """The bags of some members."""
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
        """Restore the bags from the arrays of a model file, after checking them."""
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
            raise edited("the bags", "a bag holds more labelled anomalies than possible")
        if labelled[0] < 0 or not ascends(labelled):
            raise edited("the bags", "the indices of labelled rows must be ascending")
        return cls(unlabelled, anomalies, labelled)


def draw_bags(size: int, pool: Pool, generators: Sequence[np.random.Generator]) -> Bags:
    """Draw bags of `size` unlabelled rows, or of half the rows if that is less.

    Rows are drawn with probability proportional to their weight: unlabelled rows without
    replacement, anomalies with replacement. Every bag leaves out at least half of the unlabelled
    rows, unless there is only one.
    """
    drawable = np.flatnonzero(pool.weight)
    size = max(1, min(size, len(drawable) // 2))
    rate = np.maximum(pool.weight[drawable], LEAST_RATE).astype(np.float32)
    probability = pool.anomaly_weight / pool.anomaly_weight.sum()
    unlabelled, anomalies = [], []
    for generator in generators:
        # The first exponential clocks to ring are a weighted draw without replacement.
        clocks = generator.standard_exponential(len(drawable), dtype=np.float32) / rate
        unlabelled.append(drawable[np.argpartition(clocks, size - 1)[:size]])
        anomalies.append(generator.multinomial(len(probability), probability))
    return Bags(np.stack(unlabelled), np.stack(anomalies), pool.labelled)


def extend_bags(
    bags: Bags,
    labelled: np.ndarray,
    positions: np.ndarray,
    generators: Sequence[np.random.Generator],
) -> Bags:
    """Keep the unlabelled rows of bags, and draw the anomalies that are labelled now (K,).

    An anomaly that was labelled before stays in its bags and out of the others. A new one is drawn
    once on average, and at least once by a member that saw it as an unlabelled row; `positions`
    (K,) are those of the anomalies in the pool, -1 for those outside it.
    """
    counts = np.stack([generator.poisson(1, len(labelled)) for generator in generators])
    for count, bag in zip(counts, bags.unlabelled, strict=True):
        count[np.isin(positions, bag) & (count == 0)] = 1
    for i, row in enumerate(labelled):
        before = np.flatnonzero(bags.labelled == row)
        if len(before):
            counts[:, i] = bags.anomalies[:, before[0]]
    counts[~counts.any(axis=1)] = 1  # a member without anomalies could not learn
    return Bags(bags.unlabelled, counts, labelled)


def swap_values(
    anomalies: np.ndarray,
    drawn: np.ndarray,
    donors: np.ndarray,
    generator: np.random.Generator,
    layout: Layout | None = None,
) -> np.ndarray:
    """The drawn anomalies, each with a fifth of its values taken from the donors.

    Anomalies (K, d), indices of the drawn ones (r,) and of the donors -> rows (r, d). A value
    keeps its column. What labelled anomalies have in common stays; peculiarities of one blur. The
    columns of a block of the layout move together: a row has one category, not two or none.
    """
    if layout is not None and len(layout.widths) < layout.n_columns:
        size = (len(drawn), len(layout.widths))
        is_swapped = generator.random(size, dtype=np.float32) < SWAPPED_SHARE
        source = np.repeat(drawn[:, None], size[1], axis=1)  # (r, n_blocks)
        source[is_swapped] = donors[generator.integers(len(donors), size=is_swapped.sum())]
        moved: np.ndarray = anomalies[source[:, layout.block], np.arange(layout.n_columns)]
        return moved
    rows: np.ndarray = anomalies[drawn]
    is_swapped = generator.random(rows.size, dtype=np.float32) < SWAPPED_SHARE
    swapped = np.flatnonzero(is_swapped)  # positions in the flat rows
    donor = donors[generator.integers(len(donors), size=len(swapped))]
    rows.reshape(-1)[swapped] = anomalies[donor, swapped % rows.shape[1]]
    return rows


def out_of_bag_mean(scores: np.ndarray, is_in_bag: np.ndarray) -> np.ndarray:
    """Mean score of each row over the members that did not see it, (m, n) twice -> (n,).

    A row that all members saw gets the mean over all.
    """
    counts = ~is_in_bag
    counts[:, ~counts.any(axis=0)] = True
    mean: np.ndarray = (scores * counts).sum(axis=0) / counts.sum(axis=0)
    return mean
