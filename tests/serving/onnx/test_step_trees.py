"""Encoded columns and p-values as trees are the same numbers, bit for bit."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.graphs import run

from devnet.detectors.ensemble.rank_normal import RankNormal
from devnet.engine.forest import Forest
from devnet.serving.onnx.encodings import add_encoded
from devnet.serving.onnx.graph import FLOAT, Graph
from devnet.serving.onnx.step_trees import encoding_trees, rank_tree, step_tree
from devnet.significance.ranks import ConformalRanks

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
VALUES = st.one_of(FLOATS, st.integers(-3, 3).map(float), st.sampled_from([0.0, 1e-45, -3e38]))


def values_of(trees, rows):
    return Forest.of(trees, rows.shape[1]).each_value(rows).T.astype(np.float32)


def neighbours(values):
    """Values, and the floats before and behind them."""
    with np.errstate(over="ignore"):
        ends = [np.nextafter(values, np.float32(end)) for end in (-np.inf, np.inf)]
    return np.concatenate([values, *ends])


@given(st.integers(1, 40).flatmap(lambda n: hnp.arrays(np.float32, (n, 3), elements=VALUES)))
def test_trees_encode_any_column(rows):
    encoding = RankNormal.learn(rows)
    looked_at = np.clip(neighbours(rows), -3.4e38, 3.4e38)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = encoding.encode(looked_at)
        trees = encoding_trees(encoding)
    np.testing.assert_array_equal(values_of(trees, looked_at), expected)


@settings(max_examples=30)
@given(st.integers(1, 40).flatmap(lambda n: hnp.arrays(np.float32, (n, 4), elements=VALUES)))
def test_a_graph_encodes_any_column(rows):
    rows[:, 0] = rows[0, 0]
    rows[:, 1] = np.where(rows[:, 1] > 0, rows[0, 1], rows[-1, 0])
    encoding = RankNormal.learn(rows)
    halves = rows[::-1] / 2 + rows / 2
    looked_at = np.clip(neighbours(np.concatenate([rows, halves])), -3.4e38, 3.4e38)
    graph = Graph()
    with np.errstate(over="ignore", invalid="ignore"):
        expected = encoding.encode(looked_at)
        encoded, order = add_encoded(graph, graph.input("X", FLOAT, 4), encoding)
    flat = graph.add("Reshape", encoded, graph.constant([-1], np.int64))
    found = run(graph, flat, FLOAT, {"X": looked_at}).reshape(looked_at.shape)
    np.testing.assert_array_equal(found, expected[:, order])


def test_trees_encode_all_that_lies_between_the_knots_of_a_large_column(seed):
    generator = np.random.default_rng(seed)
    columns = [generator.normal(size=20_000), generator.lognormal(0, 4, 20_000)]
    columns += [generator.integers(0, 900, 20_000), generator.random(20_000) < 0.01]
    rows = np.stack(columns, axis=1).astype(np.float32)
    encoding = RankNormal.learn(rows)
    trees = encoding_trees(encoding)
    ends = np.stack([np.sort(tree.threshold)[-900:].astype(np.float32) for tree in trees[:3]])
    others = np.column_stack([*ends, np.zeros(ends.shape[1], np.float32)])
    for looked_at in (neighbours(rows), neighbours(others)):
        np.testing.assert_array_equal(values_of(trees, looked_at), encoding.encode(looked_at))
    assert max(int(tree.depth().max()) for tree in trees) <= 11


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=30),
    st.lists(st.integers(0, 3), min_size=30, max_size=30),
)
def test_a_tree_ranks_scores(scores, weight):
    scores, weight = np.array(scores, float), np.array(weight[: len(scores)], float)
    weight[0] += 1
    ranks = ConformalRanks(scores, weight)
    looked_at = np.unique(np.concatenate([scores, scores + 0.5, [-9, 9]]))
    tree = rank_tree(ranks)
    found = Forest.of([tree], 1).each_value(looked_at[:, None].astype(np.float32))[0]
    np.testing.assert_array_equal(found, ranks.p_value(looked_at))


def test_a_function_of_one_step_is_a_leaf():
    tree = step_tree(np.array([]), np.array([7.0]))
    assert tree.left.tolist() == [-1]
    assert tree.value.tolist() == [7.0]
