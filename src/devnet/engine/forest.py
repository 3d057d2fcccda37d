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

from devnet.core.model_file import ascends, edited, size_of, tensor
from devnet.engine.leaf_bits import LeafBits, Splits

NO_CHILD = -1  # both children of a leaf
PREFIX = "tree"  # of the names of a forest's arrays in a model file
MAX_DEPTH = 1024  # splits from a root to a leaf; trees are grown no deeper, and rarely beyond 50
LARGEST_VALUE = 1e12  # of a node in a model file
FEW_ROWS = 32  # up to which it is quicker to go through all trees at once
PATH_VALUES = 1 << 22  # splits, on the paths of leaves or rows, that are held in memory
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
        if len(rows) <= FEW_ROWS and (bits := self._leaf_bits) is not None:
            return bits.sum_values(rows)
        total = np.zeros(len(rows))
        for compiled, value in self._compiled:
            total += value.take(compiled.apply(rows))
        return total

    @cached_property
    def _leaf_bits(self) -> LeafBits | None:
        """A quick way for few rows; None if it would take too much memory."""
        nodes, start, is_leaf = self._nodes, self._start, self._nodes.left == NO_CHILD
        left, right = np.zeros((2, len(is_leaf)), dtype=np.int64)
        inner = np.flatnonzero(~is_leaf)
        left[inner], right[inner] = _children(nodes, start, inner)
        levels = [inner[self._depth[inner] == depth] for depth in range(self._depth.max())]
        n_leaves = is_leaf.astype(np.int64)  # at or below each node
        for level in reversed(levels):
            n_leaves[level] = n_leaves[left[level]] + n_leaves[right[level]]
        first = np.zeros_like(n_leaves)  # of these leaves, counted from left to right
        first[start] = np.cumsum(n_leaves[start]) - n_leaves[start]
        for level in levels:
            first[left[level]] = first[level]
            first[right[level]] = first[level] + n_leaves[left[level]]
        ends = (first[inner], first[right[inner]], (first + n_leaves)[inner])
        splits = Splits(nodes.column[inner], nodes.threshold[inner], *ends)
        value = nodes.value[is_leaf][np.argsort(first[is_leaf])]
        return LeafBits(splits, first[start], value) if splits.are_few else None

    def each_value(self, rows: np.ndarray) -> np.ndarray:
        """Value of the leaf that each row reaches, by tree, (b, d) float32 -> (n_trees, b)."""
        return np.stack([value.take(compiled.apply(rows)) for compiled, value in self._compiled])

    def contributions(self, rows: np.ndarray) -> np.ndarray:
        """How much each column moved the sum of values along a row's paths, (b, d) -> (b, d).

        A split is credited with the value of the child that the row goes to minus the value of
        the node. A row's contributions add up to its sum of values minus that of the roots.
        """
        n_splits = len(self) * (1 if self._has_few_paths else int(self._depth.max()) + 1)
        step = max(1, PATH_VALUES // n_splits)
        starts = range(0, max(len(rows), 1), step)
        return np.concatenate([self._moved(rows[start : start + step]) for start in starts])

    def _moved(self, rows: np.ndarray) -> np.ndarray:
        leaves = np.stack([compiled.apply(rows) for compiled, _ in self._compiled], axis=1)
        leaves += self._start  # (b, n_trees), counted from the first tree's root
        b, n_trees = leaves.shape
        if self._has_few_paths:
            credits, position = self._all_credits, self._leaf_position.take(leaves)
        else:
            reached, position = np.unique(leaves, return_inverse=True)
            credits = self._credits(reached)
        ends = np.arange(b + 1) * n_trees
        is_passed = (np.ones(leaves.size), position.ravel(), ends)
        passed = sp.csr_array(is_passed, shape=(b, credits.shape[0]))
        moved: np.ndarray = (passed @ credits).toarray()
        return moved

    @cached_property
    def _depth(self) -> np.ndarray:
        return _depths(self._nodes, self._start, len(self._nodes.left))

    @cached_property
    def _has_few_paths(self) -> bool:
        """Whether the credits of all leaves are few enough to keep."""
        return bool(self._depth[self._nodes.left == NO_CHILD].sum() <= PATH_VALUES)

    @cached_property
    def _leaf_position(self) -> np.ndarray:
        """Position of each leaf among the leaves; meaningless in other nodes."""
        position: np.ndarray = np.cumsum(self._nodes.left == NO_CHILD) - 1
        return position

    @cached_property
    def _all_credits(self) -> sp.csr_array:
        return self._credits(np.flatnonzero(self._nodes.left == NO_CHILD))

    @cached_property
    def _parent(self) -> np.ndarray:
        """The node above each node, NO_CHILD above a root."""
        parent = np.full(len(self._nodes.left), NO_CHILD)
        inner = np.flatnonzero(self._nodes.left != NO_CHILD)
        for children in _children(self._nodes, self._start, inner):
            parent[children] = inner
        return parent

    def _credits(self, leaves: np.ndarray) -> sp.csr_array:
        """By how much the path from the root to each of these leaves moved the value, by column.

        A path costs what it is long, also in a tree that is a chain.
        """
        nodes = self._nodes
        row, current = np.arange(len(leaves)), leaves
        keys, steps = [np.empty(0, np.int64)], [np.empty(0)]
        while len(row):  # one split up, for all leaves at once
            above = self._parent[current]
            row, current, above = (part[above != NO_CHILD] for part in (row, current, above))
            keys.append(row * self.n_columns + nodes.column[above])
            steps.append(nodes.value[current] - nodes.value[above])
            current = above
        found, which = np.unique(np.concatenate(keys), return_inverse=True)
        moved = np.bincount(which, np.concatenate(steps), len(found))  # in order, from the leaf up
        cells = np.divmod(found, self.n_columns)
        return sp.csr_array((moved, cells), shape=(len(leaves), self.n_columns))

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
        max_depth: int = MAX_DEPTH,
        least_value: float = -LARGEST_VALUE,
    ) -> Self:
        """Build the forest of a model file; everything is checked before a row descends.

        No path may have more than `max_depth` splits, and no node a value below `least_value`.
        """
        n_nodes = size_of(tensors, f"{prefix}_left")
        start = tensor(tensors, f"{prefix}_start", (n_trees,), "int64")
        nodes = Tree(*(tensor(tensors, f"{prefix}_{n}", (n_nodes,), k) for n, k in DTYPES.items()))
        _check_starts(start, n_nodes)
        _check_nodes(nodes, start, n_columns)
        _check_parents(nodes, start)
        _depths(nodes, start, max_depth)
        if nodes.value.min() < least_value or nodes.value.max() > LARGEST_VALUE:
            raise edited("the trees", "the value of a node is one that no fit makes")
        return cls(nodes, start, n_columns)


def _check_starts(start: np.ndarray, n_nodes: int) -> None:
    is_valid = len(start) and start[0] == 0 and ascends(start) and start[-1] < n_nodes
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


def _check_parents(nodes: Tree, start: np.ndarray) -> None:
    """Every node but the roots must have one parent."""
    inner = np.flatnonzero(nodes.left != NO_CHILD)
    children = np.concatenate(_children(nodes, start, inner))
    expected = np.ones(len(nodes.left), dtype=np.int64)
    expected[start] = 0
    if (np.bincount(children, minlength=len(expected)) != expected).any():
        raise edited("the trees", "a node must be the child of one other node")


def _children(nodes: Tree, start: np.ndarray, inner: np.ndarray) -> list[np.ndarray]:
    """Left and right children of nodes, counted, like these, from the first tree's root."""
    root = start[np.searchsorted(start, inner, side="right") - 1]
    return [nodes.left[inner] + root, nodes.right[inner] + root]


def _depths(nodes: Tree, start: np.ndarray, most: int) -> np.ndarray:
    """Splits from the root to each node, (n_nodes,); more than `most` are refused."""
    depth = np.zeros(len(nodes.left), dtype=np.int64)
    level = start
    for below in range(1, most + 2):
        inner = level[nodes.left[level] != NO_CHILD]
        if not len(inner):
            return depth
        level = np.concatenate(_children(nodes, start, inner))
        depth[level] = below
    raise edited("the trees", f"a path has more than {most} splits, which no fit makes")


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
