"""Decision trees as one node of a graph, with sums that are exact in any order."""

from collections.abc import Sequence
from math import frexp
from typing import NamedTuple

import numpy as np
from onnx import numpy_helper

from devnet.engine.forest import NO_CHILD, Tree
from devnet.serving.onnx.graph import TREES, Graph

LEQ = 0  # left if value <= threshold
SUM, AS_IT_IS = 1, 0  # what happens to the leaves of a row, and to their sum
DIGITS = 52  # binary digits of a sum in double precision, one less than it holds


class _Nodes(NamedTuple):
    """Inner nodes of trees and their leaves, each counted from 0."""

    column: np.ndarray  # (n,) that a node compares
    threshold: np.ndarray  # (n,)
    child: np.ndarray  # (2, n) left and right
    is_leaf: np.ndarray  # (2, n) whether a child is counted among the leaves
    value: np.ndarray  # (l,) of the leaves


def add_trees(
    graph: Graph, rows: str, trees: Sequence[Tree], *, by_tree: bool = False, dtype: type
) -> str:
    """The sum of the leaves that rows (b, d) reach, (b, 1), or the leaf of each tree, (b, trees).

    Rows, thresholds and leaves have the same type.
    """
    parts = [_inner_and_leaves(tree) for tree in trees]
    sizes = np.array([[len(part.column), len(part.value)] for part in parts]).T  # (2, trees)
    starts = np.cumsum(sizes, axis=1) - sizes
    column, threshold, child, is_leaf, value = (
        np.concatenate(part, axis=-1) for part in zip(*parts, strict=True)
    )
    before = np.repeat(starts, sizes[0], axis=1)  # inner nodes and leaves of earlier trees
    child = child + np.where(is_leaf, before[1], before[0])
    n_unused = _unused_leaves(child[:, starts[0]], is_leaf[:, starts[0]])
    child = child + n_unused * is_leaf
    targets = np.repeat(np.arange(len(trees)) * by_tree, sizes[1])
    return graph.add(
        "TreeEnsemble",
        rows,
        domain=TREES,
        n_targets=len(trees) if by_tree else 1,
        aggregate_function=SUM,
        post_transform=AS_IT_IS,
        tree_roots=starts[0].tolist(),
        nodes_featureids=column.tolist(),
        nodes_splits=numpy_helper.from_array(_below(threshold, dtype), "splits"),
        nodes_modes=numpy_helper.from_array(np.full(len(column), LEQ, np.uint8), "modes"),
        nodes_truenodeids=child[0].tolist(),
        nodes_trueleafs=is_leaf[0].astype(int).tolist(),
        nodes_falsenodeids=child[1].tolist(),
        nodes_falseleafs=is_leaf[1].astype(int).tolist(),
        leaf_targetids=[*[0] * n_unused, *targets.tolist()],
        leaf_weights=numpy_helper.from_array(
            np.append(np.zeros(n_unused), value).astype(dtype), "leaves"
        ),
    )


def _inner_and_leaves(tree: Tree) -> _Nodes:
    is_leaf = tree.left == NO_CHILD
    if is_leaf[0]:  # every tree must have a split: here both sides have the same value
        both = np.array([[0], [1]])
        return _Nodes(both[0], np.zeros(1), both, both >= 0, tree.value[[0, 0]])
    inner = np.flatnonzero(~is_leaf)
    position = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1
    children = np.stack([tree.left[inner], tree.right[inner]])
    column = tree.column[inner].astype(np.int64)
    child, child_is_leaf = position[children], is_leaf[children]
    return _Nodes(column, tree.threshold[inner], child, child_is_leaf, tree.value[is_leaf])


def _unused_leaves(child: np.ndarray, is_leaf: np.ndarray) -> int:
    """How many leaves to put before all others, given the children (2, trees) of roots.

    If the leaf on one side of a root has the number of the node on the other, onnxruntime takes
    the root for a leaf: its issue 24679, seen in 1.21 to 1.23.
    """
    is_mixed = is_leaf[0] != is_leaf[1]
    ahead = np.where(is_leaf[0], child[1] - child[0], child[0] - child[1])[is_mixed]
    return int(np.setdiff1d(np.arange(len(ahead) + 1), ahead)[0])


def _below(thresholds: np.ndarray, dtype: type) -> np.ndarray:
    """Thresholds in a type, so that its values are as often below them as before."""
    rounded: np.ndarray = thresholds.astype(dtype)
    is_above = rounded > thresholds
    return np.where(is_above, np.nextafter(rounded, dtype(-np.inf)), rounded)


def with_exact_sums(trees: Sequence[Tree]) -> list[Tree]:
    """Trees with leaves rounded to multiples of a power of two, so fine that nothing is lost.

    A sum over trees then has no more binary digits than double precision holds, so that it is the
    same in whatever order threads add it up.
    """
    largest = sum(float(np.abs(tree.value).max()) for tree in trees)
    step = np.ldexp(1.0, frexp(largest)[1] - DIGITS)
    return [tree._replace(value=np.rint(tree.value / step) * step) for tree in trees]
