"""Deviation trees: decision trees grown from balanced bags, with scores from 0 to the margin."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from devnet.core.model_file import edited, size_of
from devnet.core.rows import in_threads
from devnet.core.seeds import draw_seed
from devnet.detectors.ensemble.bags import Bags, draw_bags, out_of_bag_mean, swap_values
from devnet.detectors.ensemble.learners import OutOfBag
from devnet.detectors.ensemble.pool import Pool
from devnet.engine.forest import MAX_DEPTH, PREFIX, Forest, Tree, read_tree

BAG_ROWS = 256  # unlabelled rows that a tree learns from, and as many anomalies
MIN_LEAF = 2  # rows
LARGEST_MARGIN = 1e6
HALF_AT = 20  # labelled anomalies at which half of the columns are candidates for a split
MAX_CANDIDATES = 500  # columns per split, which bounds the cost of wide rows


class DeviationTrees:
    """The mean of many trees; a leaf is worth the margin times its share of anomalies."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest

    def score(self, rows: np.ndarray) -> np.ndarray:
        """Scores of rows, (b, d) float32 -> (b,) float64."""
        return self.forest.sum_values(rows) / len(self.forest)

    def contributions(self, rows: np.ndarray, baseline: np.ndarray) -> np.ndarray:
        """What each column adds to a row's score, compared with a baseline row (d,): (b, d)."""
        paths = self.forest.contributions(np.concatenate([rows, baseline[None]]))
        mean: np.ndarray = (paths[:-1] - paths[-1]) / len(self.forest)
        return mean

    @classmethod
    def from_tensors(
        cls, tensors: dict[str, np.ndarray], n_columns: int, prefix: str = PREFIX
    ) -> Self:
        """Restore the trees from the arrays of a model file, after checking them."""
        n_trees = size_of(tensors, f"{prefix}_start")
        forest = Forest.from_tensors(tensors, n_trees=n_trees, n_columns=n_columns, prefix=prefix)
        value = tensors[f"{prefix}_value"]
        if value.min() < 0 or value.max() > LARGEST_MARGIN:
            raise edited("the trees", f"the value of a node is not within 0 and {LARGEST_MARGIN}")
        return cls(forest)


def grow_trees(
    pool: Pool, *, margin: float, generators: Sequence[np.random.Generator]
) -> tuple[DeviationTrees, OutOfBag]:
    """Grow one tree per generator, each from its own bag.

    A tree sees as many anomalies as unlabelled rows; they are drawn from its bootstrap, with
    values swapped among them.
    """
    bags = draw_bags(BAG_ROWS, pool, generators)
    trees: dict[int, Tree] = {}

    def grow(span: slice) -> None:
        for member in range(span.start, span.stop):
            trees[member] = _grow(pool, bags, member, margin, generators[member])

    in_threads(len(generators), grow, at_least=1)
    forest = Forest.of((trees[member] for member in sorted(trees)), pool.rows.shape[1])
    return DeviationTrees(forest), out_of_bag(forest, pool, bags)


def out_of_bag(forest: Forest, pool: Pool, bags: Bags) -> OutOfBag:
    """Scores of the pool's rows by the trees whose bags do not hold them."""
    return OutOfBag(
        out_of_bag_mean(forest.each_value(pool.rows), bags.holds_unlabelled(len(pool.rows))),
        out_of_bag_mean(forest.each_value(pool.anomalies), bags.anomalies > 0),
    )


def _grow(
    pool: Pool, bags: Bags, member: int, margin: float, generator: np.random.Generator
) -> Tree:
    from sklearn.tree import DecisionTreeClassifier

    unlabelled = pool.rows[bags.rows(member)]
    size = len(unlabelled)
    donors = np.repeat(np.arange(len(pool.anomalies)), bags.anomalies[member])
    drawn = donors[generator.integers(len(donors), size=size)]
    anomalies = swap_values(pool.anomalies, drawn, donors, generator, pool.layout)
    tree = DecisionTreeClassifier(
        max_features=_n_candidates(*pool.anomalies.shape),
        min_samples_leaf=MIN_LEAF,
        max_depth=MAX_DEPTH,
        random_state=draw_seed(generator),
    )
    rows = np.concatenate([unlabelled, anomalies])
    tree.fit(rows, np.repeat([0.0, 1.0], size), check_input=False)
    return read_tree(tree.tree_, margin * tree.tree_.value[:, 0, 1])


def _n_candidates(n_labelled: int, n_columns: int) -> int:
    """Number of columns, drawn at random, that each split is chosen from.

    Among many columns, some separate a handful of anomalies from other rows by chance. The more
    anomalies are labelled, the rarer that is, and the more columns may be candidates.
    """
    wanted = round(n_columns * n_labelled / (n_labelled + HALF_AT))
    return min(max(1, wanted), MAX_CANDIDATES)
