"""Trees in a graph reach the leaves that they reach in Python, and their sums are exact."""

import numpy as np
import pytest
from sklearn.tree import ExtraTreeRegressor
from support.graphs import run

from devnet.engine.forest import Forest, Tree, read_tree
from devnet.serving.onnx.graph import DOUBLE, FLOAT, Graph
from devnet.serving.onnx.tree_ensembles import add_trees, with_exact_sums


def grown(seed, n_trees=30, n=300, d=4):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)).astype(np.float32)
    rows[:, 0] = np.round(rows[:, 0])
    trees = []
    for member in range(n_trees):
        size = int(generator.integers(2, 60))
        part = generator.integers(n, size=size)
        tree = ExtraTreeRegressor(random_state=member).fit(rows[part], generator.random(size))
        trees.append(read_tree(tree.tree_, 5 * tree.tree_.value[:, 0, 0]))
    return trees, rows


def leaf(value):
    nothing = np.array([-1])
    return Tree(nothing, nothing, nothing, np.array([0.0]), np.array([value]))


def in_graph(trees, rows, n_threads=1):
    """The sum over trees."""
    graph = Graph()
    found = add_trees(graph, graph.input("X", DOUBLE, rows.shape[1]), trees, dtype=np.float64)
    return run(graph, graph.flat(found), DOUBLE, {"X": rows.astype(np.float64)}, n_threads)


def each_in_graph(trees, rows):
    """The leaf of each tree, in single precision."""
    graph = Graph()
    given = graph.input("X", FLOAT, rows.shape[1])
    found = add_trees(graph, given, trees, by_tree=True, dtype=np.float32)
    flat = graph.add("Reshape", found, graph.constant([-1], np.int64))
    return run(graph, flat, FLOAT, {"X": rows}).reshape(len(rows), len(trees))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_sums_are_exact_in_any_order(seed, n_threads):
    trees, rows = grown(seed)
    rounded = with_exact_sums(trees)
    found = in_graph(rounded, rows, n_threads=n_threads)
    forwards, backwards = (
        Forest.of(order, rows.shape[1]).sum_values(rows) for order in (rounded, rounded[::-1])
    )
    np.testing.assert_array_equal(found, forwards)
    np.testing.assert_array_equal(found, backwards)
    expected = Forest.of(trees, rows.shape[1]).sum_values(rows)
    assert np.abs(found - expected).max() < 1e-12
    one_by_one = [in_graph(rounded, rows[i : i + 1], n_threads=n_threads)[0] for i in range(5)]
    assert one_by_one == found[:5].tolist()


def test_single_precision_takes_the_same_paths(seed):
    trees, rows = grown(seed, n_trees=5)
    whole = [tree._replace(value=np.arange(len(tree.value), dtype=float)) for tree in trees]
    expected = Forest.of(whole, rows.shape[1]).each_value(rows).T
    np.testing.assert_array_equal(each_in_graph(whole, rows), expected)


def test_a_tree_may_be_a_single_leaf(seed):
    trees, rows = grown(seed, n_trees=2)
    mixed = with_exact_sums([leaf(2.5), *trees, leaf(-1.0)])
    expected = Forest.of(mixed, rows.shape[1]).sum_values(rows)
    np.testing.assert_array_equal(in_graph(mixed, rows), expected)


def test_no_leaf_has_the_number_of_the_node_beside_it():
    """Some versions of onnxruntime would take the root of such a tree for a leaf."""
    left = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])
    column, threshold = np.array([0, 0, 1, 0, 0]), np.array([0.5, 0, 0.1, 0, 0])
    tree = Tree(*left, column, threshold, np.array([0, 1, 0, 2, 3.0]))
    graph = Graph()
    add_trees(graph, graph.input("X", DOUBLE, 2), [tree] * 3, dtype=np.float64)
    (node,) = graph.model("test", {}).graph.node
    said = {one.name: list(one.ints) for one in node.attribute if one.ints}
    for root in said["tree_roots"]:
        sides = zip(
            (said["nodes_truenodeids"][root], said["nodes_falsenodeids"][root]),
            (said["nodes_trueleafs"][root], said["nodes_falseleafs"][root]),
            strict=True,
        )
        (one, is_leaf), (other, is_other_leaf) = sides
        assert one != other or is_leaf == is_other_leaf
