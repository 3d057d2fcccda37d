"""What verdicts teach about rows like the judged ones: weights of the leaves of random trees.

Two rows are alike by the share of random trees in whose leaves they are together. What a verdict
says beyond what was expected of its row is passed on to rows that are like it, by ridge regression
on the leaves. The idea of weighing leaves by verdicts is that of S. Das, W.-K. Wong, T. Dietterich,
A. Fern, A. Emmott: Incorporating expert feedback into active anomaly discovery. ICDM 2016.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from devnet.core.arrays import one_blas_thread
from devnet.core.seeds import draw_seed
from devnet.engine.forest import NO_CHILD, Forest, Tree, read_tree

N_TREES = 100
GROWN_FROM = 256  # rows, of each tree
NOISE = 0.3  # variance of a verdict that its row alone explains, relative to what trees explain


class Lessons(NamedTuple):
    """What was learned from verdicts."""

    forest: Forest  # its sum is what to add to the expectation of a row
    unseen: np.ndarray  # (K,) the same for the judged rows, each by the verdicts of all others


def grow_random_trees(rows: np.ndarray, generator: np.random.Generator) -> list[Tree]:
    """Isolation trees of rows (n, d) float32; all values are zero."""
    from sklearn.ensemble import IsolationForest

    grown = IsolationForest(
        n_estimators=N_TREES,
        max_samples=min(GROWN_FROM, len(rows)),
        random_state=draw_seed(generator),
    ).fit(rows)
    return [read_tree(one.tree_, np.zeros(one.tree_.node_count)) for one in grown.estimators_]


def learn_lessons(trees: list[Tree], rows: np.ndarray, surprise: np.ndarray) -> Lessons:
    """Weigh the leaves of trees.

    Parameters
    ----------
    trees : list of Tree
    rows : float32 array of shape (K, d)
        Those that were judged.
    surprise : array of shape (K,)
        By how much each verdict is above what was expected of the row.
    """
    is_in = _leaves(trees, rows)
    alike = (is_in @ is_in.T).toarray() / len(trees)
    with one_blas_thread():  # the same bits on any machine of a kind
        inverse = np.linalg.inv(alike + NOISE * np.eye(len(rows)))
        pull = inverse @ surprise
    values = (is_in.T @ pull) / len(trees)
    ends = np.cumsum([len(tree.left) for tree in trees])[:-1]
    taught = [
        _with_inner_values(tree, value)
        for tree, value in zip(trees, np.split(values, ends), strict=True)
    ]
    return Lessons(Forest.of(taught, rows.shape[1]), surprise - pull / inverse.diagonal())


def _leaves(trees: list[Tree], rows: np.ndarray) -> sp.csr_array:
    """Which of all trees' nodes are the leaves of each row, (K, n_nodes)."""
    sizes = [len(tree.left) for tree in trees]
    first = np.cumsum([0, *sizes[:-1]])
    numbered = [
        tree._replace(value=start + np.arange(size))
        for tree, start, size in zip(trees, first, sizes, strict=True)
    ]
    nodes = Forest.of(numbered, rows.shape[1]).each_value(rows).T.astype(np.int64)  # (K, n_trees)
    ends = np.arange(len(rows) + 1) * len(trees)
    return sp.csr_array((np.ones(nodes.size), nodes.ravel(), ends), shape=(len(rows), sum(sizes)))


def _with_inner_values(tree: Tree, value: np.ndarray) -> Tree:
    """The tree with these values of its leaves; an inner node has the mean of its children."""
    value = value.copy()
    for node in np.flatnonzero(tree.left != NO_CHILD)[::-1]:  # children before their parents
        value[node] = (value[tree.left[node]] + value[tree.right[node]]) / 2
    return tree._replace(value=value)
