"""Bags: what each member of an ensemble learns from, and which rows it did not see."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from devnet.core.layout import Layout
from devnet.core.model_file import ascends, edited, size_of, tensor
from devnet.detectors.ensemble.pool import NONE, Pool

LEAST_RATE = 1e-30  # at which a row is drawn, relative to others; float32 holds its inverse
MOST_DRAWN = 1 << 20  # anomalies that a member of a model file may have drawn
SWAPPED_SHARE = 0.2  # of an anomaly's values, taken from other labelled anomalies


class Bags(NamedTuple):
    """For each of m members, its unlabelled rows, and its draws from known rows of both kinds."""

    unlabelled: np.ndarray  # (m, s) positions in the pool of n rows, distinct within a member
    anomalies: np.ndarray  # (m, K) how often each labelled anomaly was drawn
    labelled: np.ndarray  # (K,) indices of these anomalies among the training rows
    normals: np.ndarray  # (m, N) how often each known normal row was drawn
    known: np.ndarray  # (N,) positions of these rows in the pool, ascending

    def rows(self, member: int) -> np.ndarray:
        """Positions of a member's unlabelled and known normal rows, as often as they were drawn."""
        return np.append(self.unlabelled[member], np.repeat(self.known, self.normals[member]))

    def members(self, span: slice) -> "Bags":
        """The bags of some members."""
        return self._replace(
            unlabelled=self.unlabelled[span],
            anomalies=self.anomalies[span],
            normals=self.normals[span],
        )

    def moved(self, positions: np.ndarray) -> "Bags":
        """The bags in a larger pool, given the positions (n,) of the present pool's rows in it."""
        return self._replace(unlabelled=positions[self.unlabelled], known=positions[self.known])

    def holds_unlabelled(self, n_rows: int) -> np.ndarray:
        """Which rows of the pool each member saw, (m, n) bool."""
        holds = np.zeros((len(self.unlabelled), n_rows), dtype=bool)
        holds[:, self.known] = self.normals > 0
        np.put_along_axis(holds, self.unlabelled, True, axis=1)
        return holds

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        parts = self._asdict()
        if not len(self.known):
            parts = {name: parts[name] for name in ("unlabelled", "anomalies", "labelled")}
        return {f"bag_{name}": part.astype(np.int64) for name, part in parts.items()}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_members: int, n_pool: int) -> Self:
        """Restore the bags from the arrays of a model file, after checking them."""
        size = size_of(tensors, "bag_unlabelled") // n_members
        n_labelled = size_of(tensors, "bag_labelled")
        unlabelled = tensor(tensors, "bag_unlabelled", (n_members, size), "int64")
        anomalies = tensor(tensors, "bag_anomalies", (n_members, n_labelled), "int64")
        labelled = tensor(tensors, "bag_labelled", (n_labelled,), "int64")
        normals, known = _read_normals(tensors, n_members, n_pool)
        if not size and not normals.any(axis=1).all():
            raise edited("the bags", "a bag holds no row but anomalies")
        if size and (unlabelled.min() < 0 or unlabelled.max() >= n_pool):
            raise edited("the bags", "a bag holds rows that are not in the pool")
        if (np.diff(np.sort(unlabelled, axis=1), axis=1) == 0).any():
            raise edited("the bags", "a bag holds a row twice")
        if not n_labelled or anomalies.min() < 0 or not anomalies.any(axis=1).all():
            raise edited("the bags", "a bag holds no labelled anomaly")
        if anomalies.sum(axis=1, dtype=np.float64).max() > MOST_DRAWN:
            raise edited("the bags", "a bag holds more labelled anomalies than possible")
        if labelled[0] < 0 or not ascends(labelled):
            raise edited("the bags", "the indices of labelled rows must be ascending")
        return cls(unlabelled, anomalies, labelled, normals, known)


def _read_normals(
    tensors: dict[str, np.ndarray], n_members: int, n_pool: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of known normal rows and their positions, out of a model file that has any."""
    n_known = size_of(tensors, "bag_known")
    if not n_known:
        return np.zeros((n_members, 0), dtype=np.int64), NONE
    normals = tensor(tensors, "bag_normals", (n_members, n_known), "int64")
    known = tensor(tensors, "bag_known", (n_known,), "int64")
    if normals.min() < 0 or normals.sum(axis=1, dtype=np.float64).max() > MOST_DRAWN:
        raise edited("the bags", "a bag holds more known normal rows than possible")
    if known[0] < 0 or known[-1] >= n_pool or not ascends(known):
        raise edited("the bags", "the known normal rows must be ascending positions in the pool")
    return normals, known


def draw_bags(size: int, pool: Pool, generators: Sequence[np.random.Generator]) -> Bags:
    """Draw bags of `size` unlabelled rows, or of half the rows if that is less.

    Rows are drawn with probability proportional to their weight: unlabelled rows without
    replacement, anomalies with replacement. Every bag leaves out at least half of the unlabelled
    rows, unless there is only one. Known normal rows come on top, see `_draw_normals`.
    """
    drawable, n_known = pool.unlabelled, int(np.count_nonzero(pool.weight[pool.normals]))
    size = max(1, min(size, (len(drawable) + n_known) // 2))
    n_normals = 0.0
    if n_known:
        normal, other = (pool.weight[part].sum() for part in (pool.normals, drawable))
        n_normals = size * pool.worth * normal / (normal + other)
        size = min(max(1, int(size * other / (normal + other))), len(drawable) // 2)
        n_normals = max(n_normals, 1 - size)  # no bag is empty
    rate = np.maximum(pool.weight[drawable], LEAST_RATE).astype(np.float32)
    probability = pool.anomaly_weight / pool.anomaly_weight.sum()
    unlabelled, anomalies, normals = [], [], []
    for generator in generators:
        # The first exponential clocks to ring are a weighted draw without replacement.
        clocks = generator.standard_exponential(len(drawable), dtype=np.float32) / rate
        unlabelled.append(drawable[np.argpartition(clocks, size - 1)[:size]] if size else NONE)
        anomalies.append(generator.multinomial(len(probability), probability))
        normals.append(_draw_normals(n_normals, pool.weight[pool.normals], generator))
    counts = np.stack(normals)
    _leave_each_out(counts, np.zeros(counts.shape, dtype=bool), may_be_empty=size > 0)
    return Bags(np.stack(unlabelled), np.stack(anomalies), pool.labelled, counts, pool.normals)


def _draw_normals(n_draws: float, weight: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """How often a member draws each known normal row, (N,): `n_draws` times in all on average.

    It draws from a bootstrap of them, which leaves out a third of many, so that however often they
    are drawn, other members have not seen them.
    """
    if not weight.any():
        return np.zeros(len(weight), dtype=np.int64)
    bootstrap = generator.multinomial(len(weight), weight / weight.sum())
    size = int(n_draws + generator.random())
    drawn: np.ndarray = generator.multinomial(size, bootstrap / len(weight))
    return drawn


def _leave_each_out(counts: np.ndarray, must: np.ndarray, *, may_be_empty: bool) -> None:
    """Let at least one member, in turn, leave out each known normal row; counts are (m, N).

    Its score out of bag is one by members that do not know it to be normal. Where `must`, (m, N)
    bool, a member has seen the row before.
    """
    for row in np.flatnonzero((counts > 0).all(axis=0)):
        free = np.flatnonzero(~must[:, row])
        if not may_be_empty:
            free = free[counts[free].sum(axis=1) > counts[free, row]]
        if len(free):
            counts[free[row % len(free)], row] = 0


def extend_bags(bags: Bags, pool: Pool, generators: Sequence[np.random.Generator]) -> Bags:
    """Keep the unlabelled rows of bags, and draw from the rows of the pool that are known now.

    A row that was known before stays in its bags and out of the others. A new one may be drawn by
    any member, and is at least once by a member that saw it under another name.
    """
    counts = np.stack([generator.poisson(1, len(pool.labelled)) for generator in generators])
    counts[_has_seen(bags, pool.positions) & (counts == 0)] = 1
    for i, row in enumerate(pool.labelled):
        before = np.flatnonzero(bags.labelled == row)
        if len(before):
            counts[:, i] = bags.anomalies[:, before[0]]
    counts[~counts.any(axis=1)] = 1  # a member without anomalies could not learn
    normals, known = _extend_normals(bags, pool, generators)
    return Bags(bags.unlabelled, counts, pool.labelled, normals, known)


def _extend_normals(
    bags: Bags, pool: Pool, generators: Sequence[np.random.Generator]
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of known normal rows (m, N) and their positions; those withdrawn stay in their bags."""
    known = np.union1d(bags.known, pool.normals)
    if not len(known):
        return bags.normals, known
    weight = np.where(np.isin(known, pool.normals), pool.weight[known], 0)
    has_seen = _has_seen(bags, known)
    may_draw = has_seen | ~np.isin(known, bags.known)
    normal, other = (pool.weight[part].sum() for part in (pool.normals, pool.unlabelled))
    size = bags.unlabelled.shape[1] or int(bags.normals.sum(axis=1).max())
    n_draws = size * pool.worth * normal / other if other else float(size)
    counts = np.zeros(has_seen.shape, dtype=np.int64)
    for member, generator in enumerate(generators):
        counts[member] = _draw_normals(n_draws, weight * may_draw[member], generator)
    counts[has_seen & (counts == 0)] = 1
    _leave_each_out(counts, has_seen, may_be_empty=bags.unlabelled.shape[1] > 0)
    return counts, known


def _has_seen(bags: Bags, positions: np.ndarray) -> np.ndarray:
    """Which members saw rows at positions (K,) of the pool, or -1 outside it: (m, K) bool."""
    has_seen: np.ndarray = np.stack([np.isin(positions, bag) for bag in bags.unlabelled])
    column = {position: i for i, position in enumerate(bags.known.tolist())}
    for i, position in enumerate(positions.tolist()):
        if position in column:
            has_seen[:, i] |= bags.normals[:, column[position]] > 0
    return has_seen


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
