"""Many decision trees as plain arrays, to score rows and to keep in model files.

A row of float32 values goes left if value <= threshold, compared in double precision, as in
scikit-learn. Rows descend through scikit-learn's compiled trees, rebuilt from arrays that were
checked first; NumPy takes twice as long.
"""

from collections.abc import Iterable
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from devnet.core.model_file import edited, size_of, tensor

NO_CHILD = -1  # both children of a leaf
PREFIX = "tree"  # of the names of a forest's arrays in a model file
DTYPES = {
    "left": "int32",
    "right": "int32",
    "column": "int32",
    "threshold": "float64",
    "value": "float64",
}


class Tree(NamedTuple):
    """One tree; the root is node 0, and a child comes after its parent."""

    left: np.ndarray  # (n_nodes,) child if value <= threshold
    right: np.ndarray  # (n_nodes,) the other child
    column: np.ndarray  # (n_nodes,) column to compare; meaningless in a leaf
    threshold: np.ndarray  # (n_nodes,)
    value: np.ndarray  # (n_nodes,) value of a row at the node; sums use those of leaves

    def depth(self) -> np.ndarray:
        """Edges from the root to each node, (n_nodes,)."""
        depth = np.zeros(len(self.left), dtype=np.int64)
        for node in np.flatnonzero(self.left != NO_CHILD):  # parents before their children
            depth[self.left[node]] = depth[self.right[node]] = depth[node] + 1
        return depth


def read_tree(fitted: Any, value: np.ndarray) -> Tree:
    """Copy a scikit-learn tree, an estimator's `tree_`, with a value for each node."""
    return Tree(
        fitted.children_left, fitted.children_right, fitted.feature, fitted.threshold, value
    )


class Forest:
    """The sum of many trees' values, in the order of the trees."""

    def __init__(self, nodes: Tree, start: np.ndarray, n_columns: int) -> None:
        self.n_columns = n_columns
        self._nodes = nodes  # of all trees, one after another; children are counted from the root
        self._start = start  # (n_trees,) first node of each tree
        self._compiled = [(_compile(tree, n_columns), tree.value) for tree in self.trees()]

    @classmethod
    def of(cls, trees: Iterable[Tree], n_columns: int) -> Self:
        """Build a forest from trees."""
        trees = list(trees)
        sizes = [len(tree.left) for tree in trees]
        start = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        columns = (np.concatenate(parts) for parts in zip(*trees, strict=True))
        typed = [part.astype(kind) for part, kind in zip(columns, DTYPES.values(), strict=True)]
        return cls(Tree(*typed), start, n_columns)

    def __len__(self) -> int:
        return len(self._start)

    def trees(self) -> list[Tree]:
        """The trees one by one."""
        edges = [*self._start.tolist(), len(self._nodes.left)]
        return [Tree(*(part[a:b] for part in self._nodes)) for a, b in pairwise(edges)]

    def sum_values(self, rows: np.ndarray) -> np.ndarray:
        """Sum of the values of the leaves that each row reaches, (b, d) float32 -> (b,) float64.

        Trees are added one after another, so a row has the same sum in any batch.
        """
        total = np.zeros(len(rows))
        for compiled, value in self._compiled:
            total += value.take(compiled.apply(rows))
        return total

    def each_value(self, rows: np.ndarray) -> np.ndarray:
        """Value of the leaf that each row reaches, by tree, (b, d) float32 -> (n_trees, b)."""
        return np.stack([value.take(compiled.apply(rows)) for compiled, value in self._compiled])

    def contributions(self, rows: np.ndarray) -> np.ndarray:
        """How much each column moved the sum of values along a row's paths, (b, d) -> (b, d).

        A split is credited with the value of the child that the row goes to minus the value of
        the node. A row's contributions add up to its sum of values minus that of the roots.
        """
        leaves = np.stack([compiled.apply(rows) for compiled, _ in self._compiled], axis=1)
        leaves += self._start  # (b, n_trees), counted from the first tree's root
        b, n_trees = leaves.shape
        ends = np.arange(b + 1) * n_trees
        is_leaf = (np.ones(leaves.size), leaves.ravel(), ends)
        passed = sp.csr_array(is_leaf, shape=(b, len(self._nodes.left)))
        moved: np.ndarray = (passed @ self._credits).toarray()
        return moved

    @cached_property
    def _credits(self) -> sp.csr_array:
        """By how much the path from the root to each node moved the value, by column."""
        nodes = self._nodes
        size = len(nodes.left)
        inner = np.flatnonzero(nodes.left != NO_CHILD)
        root = np.repeat(self._start, np.diff(self._start, append=size))[inner]
        parent = np.full(size, NO_CHILD)
        parent[nodes.left[inner] + root] = parent[nodes.right[inner] + root] = inner
        node = current = np.flatnonzero(nodes.left == NO_CHILD)
        credits = sp.csr_array((size, self.n_columns))
        while len(node):  # one split up, for all leaves at once
            above = parent[current]
            node, current, above = (part[above != NO_CHILD] for part in (node, current, above))
            step = (nodes.value[current] - nodes.value[above], (node, nodes.column[above]))
            credits += sp.csr_array(step, shape=credits.shape)
            current = above
        return credits

    def to_tensors(self, prefix: str = PREFIX) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        arrays = {f"{prefix}_{name}": part for name, part in self._nodes._asdict().items()}
        return {**arrays, f"{prefix}_start": self._start}

    @classmethod
    def from_tensors(
        cls,
        tensors: dict[str, np.ndarray],
        *,
        n_trees: int,
        n_columns: int,
        prefix: str = PREFIX,
    ) -> Self:
        """Build the forest of a model file; everything is checked before a row descends."""
        n_nodes = size_of(tensors, f"{prefix}_left")
        start = tensor(tensors, f"{prefix}_start", (n_trees,), "int64")
        nodes = Tree(*(tensor(tensors, f"{prefix}_{n}", (n_nodes,), k) for n, k in DTYPES.items()))
        _check_starts(start, n_nodes)
        _check_nodes(nodes, start, n_columns)
        return cls(nodes, start, n_columns)


def _check_starts(start: np.ndarray, n_nodes: int) -> None:
    is_valid = len(start) and start[0] == 0 and (np.diff(start) > 0).all() and start[-1] < n_nodes
    if not is_valid:
        raise edited("the trees", f"its trees must start one after another in {n_nodes} nodes")


def _check_nodes(nodes: Tree, start: np.ndarray, n_columns: int) -> None:
    """Every path must end in a leaf of its tree, and compare existing columns."""
    sizes = np.diff(start, append=len(nodes.left))
    size = np.repeat(sizes, sizes)
    position = np.arange(len(nodes.left)) - np.repeat(start, sizes)  # counted from the root
    is_leaf = nodes.left == NO_CHILD
    if (is_leaf != (nodes.right == NO_CHILD)).any():
        raise edited("the trees", "a node of a tree has only one child")
    for child in (nodes.left, nodes.right):
        if not (is_leaf | ((position < child) & (child < size))).all():
            raise edited("the trees", "a child must come after its parent, in the same tree")
    if not (is_leaf | ((nodes.column >= 0) & (nodes.column < n_columns))).all():
        raise edited("the trees", f"one compares a column outside the {n_columns} of the model")


def _compile(tree: Tree, n_columns: int) -> Any:
    """The tree in scikit-learn's compiled form."""
    kind, node_type = _compiled_kind()
    n_nodes = len(tree.left)
    nodes = np.zeros(n_nodes, dtype=node_type)
    nodes["left_child"], nodes["right_child"] = tree.left, tree.right
    nodes["feature"], nodes["threshold"] = tree.column, tree.threshold
    nodes["n_node_samples"] = nodes["weighted_n_node_samples"] = 1
    compiled = kind(n_columns, np.array([1], dtype=np.intp), 1)
    state = {"max_depth": n_nodes, "node_count": n_nodes, "nodes": nodes}
    compiled.__setstate__({**state, "values": np.zeros((n_nodes, 1, 1))})
    return compiled


@cache
def _compiled_kind() -> tuple[Any, np.dtype[Any]]:
    """Class and node type of scikit-learn's compiled trees, as a fitted one shows them."""
    from sklearn.tree import DecisionTreeRegressor

    fitted = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).tree_
    return type(fitted), fitted.__getstate__()["nodes"].dtype
