"""PU trees: trees of small, unbalanced bags, which box in the labelled anomalies tightly.

Balanced bags with swapped values blur what one or two columns decide. Here a tree sees a
bootstrap of the labelled anomalies as they are among many more unlabelled rows, and may cut any
column until its leaves are pure. Extra trees cut at random places: they err differently.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from devnet.core.rows import in_threads
from devnet.core.seeds import draw_seed
from devnet.detectors.ensemble.bags import Bags, draw_bags
from devnet.detectors.ensemble.deviation_trees import (
    BAG_ROWS,
    MAX_CANDIDATES,
    DeviationTrees,
    out_of_bag,
)
from devnet.detectors.ensemble.learners import OutOfBag
from devnet.detectors.ensemble.pool import Pool
from devnet.engine.forest import MAX_DEPTH, Forest, Tree, read_tree


def grow_pu_trees(
    pool: Pool, *, margin: float, generators: Sequence[np.random.Generator], n_extra: int
) -> list[tuple[DeviationTrees, OutOfBag]]:
    """Grow a tree per generator, each from its own bag, and extra trees from the first bags."""
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    bags = draw_bags(BAG_ROWS, pool, generators)
    n_trees = {DecisionTreeClassifier: len(generators), ExtraTreeClassifier: n_extra}
    trees: dict[tuple[Any, int], Tree] = {}

    def grow(span: slice) -> None:
        for member in range(span.start, span.stop):
            for kind in [kind for kind, n in n_trees.items() if member < n]:
                trees[kind, member] = _grow(kind, pool, bags, member, margin, generators[member])

    in_threads(len(generators), grow, at_least=1)
    grown = []
    for kind, n in n_trees.items():
        forest = Forest.of((trees[kind, member] for member in range(n)), pool.rows.shape[1])
        scores = out_of_bag(forest, pool, bags.members(slice(n)))
        grown.append((DeviationTrees(forest), scores))
    return grown


def _grow(
    kind: Any,
    pool: Pool,
    bags: Bags,
    member: int,
    margin: float,
    generator: np.random.Generator,
) -> Tree:
    unlabelled = pool.rows[bags.rows(member)]
    count = bags.anomalies[member]
    rows = np.concatenate([unlabelled, pool.anomalies[count > 0]])
    weight = np.concatenate([np.ones(len(unlabelled)), count[count > 0]])  # a bootstrap
    is_anomaly = np.repeat([0.0, 1.0], [len(unlabelled), len(rows) - len(unlabelled)])
    n_candidates = min(rows.shape[1], MAX_CANDIDATES)
    tree = kind(max_features=n_candidates, max_depth=MAX_DEPTH, random_state=draw_seed(generator))
    tree.fit(rows, is_anomaly, sample_weight=weight, check_input=False)
    return read_tree(tree.tree_, margin * tree.tree_.value[:, 0, 1])
