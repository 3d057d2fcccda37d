"""Trees as arrays score like scikit-learn's, in any batch; edited ones never score a row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor

from devnet import ModelFileError
from devnet.engine import forest as trees_as_arrays
from devnet.engine.forest import DTYPES, MAX_DEPTH, Forest, Tree, read_tree


def fitted(seed, n=400, d=5, n_trees=7):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)).astype(np.float32)
    target = np.sin(rows[:, 0]) + rows[:, 1] * rows[:, 2]
    model = ExtraTreesRegressor(n_trees, random_state=seed).fit(rows, target)
    trees = [read_tree(one.tree_, one.tree_.value[:, 0, 0]) for one in model.estimators_]
    return rows, model, Forest.of(trees, d)


def walked(tree, row):
    """The value of the leaf that a row reaches, node by node."""
    node = 0
    while tree.left[node] >= 0:
        is_left = np.float64(row[tree.column[node]]) <= tree.threshold[node]
        node = (tree.left if is_left else tree.right)[node]
    return tree.value[node]


def test_the_sum_is_that_of_scikit_learn_s_trees(seed):
    rows, model, forest = fitted(seed)
    expected = np.sum([tree.predict(rows) for tree in model.estimators_], axis=0)
    np.testing.assert_allclose(forest.sum_values(rows), expected, rtol=1e-12)


def test_the_walk_is_the_plain_one_also_at_the_thresholds(seed):
    rows, _, forest = fitted(seed)
    at = np.concatenate([tree.threshold[tree.left >= 0] for tree in forest.trees()])
    close = at[:300].astype(np.float32).reshape(-1, 5)
    for part in (rows[:20], close, np.nextafter(close, np.float32(np.inf))):
        expected = [sum(walked(tree, row) for tree in forest.trees()) for row in part]
        np.testing.assert_array_equal(forest.sum_values(part), expected)


def test_a_row_has_the_same_sum_alone_and_in_any_order(seed):
    rows, _, forest = fitted(seed)
    together = forest.sum_values(rows)
    order = np.random.default_rng(seed).permutation(len(rows))
    np.testing.assert_array_equal(forest.sum_values(rows[order]), together[order])
    alone = np.concatenate([forest.sum_values(rows[[i]]) for i in range(50)])
    np.testing.assert_array_equal(alone, together[:50])


def test_each_value_is_that_of_one_tree(seed):
    rows, model, forest = fitted(seed)
    expected = [tree.predict(rows) for tree in model.estimators_]
    np.testing.assert_allclose(forest.each_value(rows), expected, rtol=1e-12)
    np.testing.assert_allclose(forest.each_value(rows).sum(axis=0), forest.sum_values(rows))


def moved(tree, row):
    """What each column adds along a row's path, node by node."""
    node, parts = 0, np.zeros(len(row))
    while tree.left[node] >= 0:
        column = tree.column[node]
        child = (tree.left if row[column] <= tree.threshold[node] else tree.right)[node]
        parts[column] += tree.value[child] - tree.value[node]
        node = child
    return parts


def test_contributions_are_those_of_the_plain_walk_and_add_up(seed):
    rows, _, forest = fitted(seed)
    parts = forest.contributions(rows)
    expected = [sum(moved(tree, row) for tree in forest.trees()) for row in rows[:30]]
    np.testing.assert_allclose(parts[:30], expected, atol=1e-12)
    roots = sum(tree.value[0] for tree in forest.trees())
    np.testing.assert_allclose(parts.sum(axis=1), forest.sum_values(rows) - roots, atol=1e-12)


def test_contributions_by_hand():
    forest = Forest.from_tensors(small(), n_trees=2, n_columns=2)
    rows = np.array([[9, 0.5], [9, 0.6]], np.float32)
    np.testing.assert_array_equal(forest.each_value(rows), [[3, 4], [10, 10]])
    np.testing.assert_array_equal(forest.contributions(rows), [[0, 3], [0, 4]])


def test_a_forest_of_leaves_credits_no_column():
    leaf = Tree(*map(np.array, ([-1], [-1], [0], [0.0], [10.0])))
    rows = np.zeros((3, 2), np.float32)
    np.testing.assert_array_equal(Forest.of([leaf, leaf], 2).contributions(rows), 0)


def test_depths_are_scikit_learn_s(seed):
    _, model, forest = fitted(seed)
    for tree, other in zip(forest.trees(), model.estimators_, strict=True):
        np.testing.assert_array_equal(tree.depth() + 1, other.tree_.compute_node_depths())


def test_tensors_and_back_are_bit_equal(seed):
    rows, _, forest = fitted(seed)
    again = Forest.from_tensors(forest.to_tensors(), n_trees=7, n_columns=5)
    assert len(again) == len(forest) == 7
    np.testing.assert_array_equal(again.sum_values(rows), forest.sum_values(rows))


def small():
    """A tree with one split and a tree that is a leaf, as tensors."""
    cut = Tree(*map(np.array, ([1, -1, -1], [2, -1, -1], [1, 0, 0], [0.5, 0, 0], [0, 3.0, 4.0])))
    leaf = Tree(*map(np.array, ([-1], [-1], [0], [0.0], [10.0])))
    return Forest.of([cut, leaf], 2).to_tensors()


def test_a_forest_by_hand():
    forest = Forest.from_tensors(small(), n_trees=2, n_columns=2)
    rows = np.array([[9, 0.5], [9, 0.6]], np.float32)
    np.testing.assert_array_equal(forest.sum_values(rows), [13.0, 14.0])


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("left", [0, -1, -1, -1], "after its parent"),  # would never end
        ("left", [3, -1, -1, -1], "in the same tree"),
        ("left", [-2, -1, -1, -1], "after its parent"),
        ("left", [2**31 - 1, -1, -1, -1], "after its parent"),
        ("right", [2, -1, -1, 0], "one child"),
        ("right", [-1, -1, -1, -1], "one child"),
        ("column", [2, 0, 0, 0], "outside the 2 of the model"),
        ("column", [-1, 0, 0, 0], "outside the 2 of the model"),
        ("threshold", [np.nan, 0, 0, 0], "not finite"),
        ("value", [0, np.inf, 0, 0], "not finite"),
        ("start", [0, 4], "start one after another"),
        ("start", [1, 3], "start one after another"),
        ("start", [0, 0], "start one after another"),
        ("start", [3, 0], "start one after another"),
        ("right", [1, -1, -1, -1], "child of one other node"),
        ("value", [0, 1e13, 0, 0], "one that no fit makes"),
        ("value", [0, -1e13, 0, 0], "one that no fit makes"),
        ("start", [0], "'tree_start', int64 of shape"),
        ("left", [1, -1, -1], "'tree_right'"),
    ],
)
def test_edited_trees_get_a_sentence(name, values, words):
    tensors = small()
    kind = DTYPES.get(name, "int64")
    with pytest.raises(ModelFileError, match=words):
        Forest.from_tensors(
            tensors | {f"tree_{name}": np.array(values, kind)}, n_trees=2, n_columns=2
        )


@pytest.mark.parametrize("name", [*DTYPES, "start"])
def test_missing_arrays_and_other_types_get_a_sentence(name):
    tensors = small()
    array = tensors.pop(f"tree_{name}")
    with pytest.raises(ModelFileError, match="should hold a tensor 'tree_"):
        Forest.from_tensors(tensors, n_trees=2, n_columns=2)
    tensors[f"tree_{name}"] = array.astype(np.float32)
    with pytest.raises(ModelFileError, match=f"'tree_{name}'"):
        Forest.from_tensors(tensors, n_trees=2, n_columns=2)


@given(data=st.data())
def test_whatever_is_edited_the_walk_ends(data):
    rows, _, forest = fitted(0, n=40, n_trees=3)
    tensors = {name: array.copy() for name, array in forest.to_tensors().items()}
    for _ in range(data.draw(st.integers(1, 4))):
        array = tensors[data.draw(st.sampled_from(sorted(tensors)))]
        place = data.draw(st.integers(0, len(array) - 1))
        if array.dtype.kind == "f":
            array[place] = data.draw(st.floats())
        else:
            array[place] = data.draw(st.integers(-3, 90) | st.integers(-(2**31), 2**31 - 1))
    try:
        changed = Forest.from_tensors(tensors, n_trees=3, n_columns=5)
    except ModelFileError as error:
        assert str(error)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            assert changed.sum_values(rows).shape == (40,)
            assert changed.each_value(rows).shape == (3, 40)
            assert changed.contributions(rows).shape == (40, 5)


def chain(depth, n_columns=3):
    """A tree in which every left child is a leaf: row value k goes down k splits."""
    inner = np.arange(depth)
    left = np.append(np.stack([2 * inner + 1, np.full(depth, -1)], axis=1).ravel(), -1)
    right = np.append(np.stack([2 * inner + 2, np.full(depth, -1)], axis=1).ravel(), -1)
    column = np.append(np.repeat(inner % n_columns, 2), 0)
    threshold = np.append(np.repeat(inner + 0.5, 2), 0.0)
    value = np.random.default_rng(depth).normal(size=2 * depth + 1)
    return Tree(left, right, column, threshold, value)


def test_a_path_is_as_long_as_a_grower_makes_it_or_refused():
    for depth, most in ((MAX_DEPTH, MAX_DEPTH), (3, 3), (3, 4)):
        tensors = Forest.of([chain(2), chain(depth)], 3).to_tensors()
        Forest.from_tensors(tensors, n_trees=2, n_columns=3, max_depth=most)
    for depth, most in ((MAX_DEPTH + 1, MAX_DEPTH), (3, 2), (3, 1), (1, 0)):
        tensors = Forest.of([chain(depth), chain(1)], 3).to_tensors()
        with pytest.raises(ModelFileError, match=f"more than {most} splits"):
            Forest.from_tensors(tensors, n_trees=2, n_columns=3, max_depth=most)


@pytest.mark.parametrize("kept", [1 << 22, 100])
def test_chains_are_explained_in_time_that_grows_with_their_depth(kept, monkeypatch):
    monkeypatch.setattr(trees_as_arrays, "PATH_VALUES", kept)
    forest = Forest.of([chain(300), chain(MAX_DEPTH), chain(5)], 3)
    rows = np.repeat(np.array([[-1], [2], [299], [9000]], np.float32), 3, axis=1)
    expected = [sum(moved(tree, row) for tree in forest.trees()) for row in rows]
    np.testing.assert_allclose(forest.contributions(rows), expected, atol=1e-9)


def test_credits_that_are_not_kept_are_the_same_to_the_bit(seed, monkeypatch):
    rows, model, forest = fitted(seed)
    kept = forest.contributions(rows)
    monkeypatch.setattr(trees_as_arrays, "PATH_VALUES", 100)
    trees = [read_tree(one.tree_, one.tree_.value[:, 0, 0]) for one in model.estimators_]
    np.testing.assert_array_equal(Forest.of(trees, 5).contributions(rows), kept)


NODE_FIELDS = {  # of scikit-learn's compiled trees, as `_compile` of engine/forest.py fills them
    *("left_child", "right_child", "feature", "threshold", "impurity", "n_node_samples"),
    *("weighted_n_node_samples", "missing_go_to_left"),
}
WHAT_TO_DO = (
    "scikit-learn has changed the private layout of its compiled trees. Look at the new fields in "
    "sklearn/tree/_tree.pxd; teach `_compile` and `read_tree` of src/devnet/engine/forest.py to "
    "fill and read them, for the oldest version that pyproject.toml allows as well; then add them "
    "here. Until that is released, add an upper bound for scikit-learn to pyproject.toml."
)


def test_scikit_learn_s_private_layout_of_trees_is_the_one_we_fill():
    kind, nodes = trees_as_arrays._compiled_kind()
    assert set(nodes.names) - {"categorical_bitset"} == NODE_FIELDS, WHAT_TO_DO
    rows, model, _ = fitted(0, n_trees=1)
    state = model.estimators_[0].tree_.__getstate__()
    assert {"max_depth", "node_count", "nodes", "values"} <= set(state), WHAT_TO_DO
    one = read_tree(model.estimators_[0].tree_, model.estimators_[0].tree_.value[:, 0, 0])
    compiled = trees_as_arrays._compile(one, rows.shape[1])
    assert isinstance(compiled, kind), WHAT_TO_DO
    reached = model.estimators_[0].tree_.apply(rows)
    np.testing.assert_array_equal(compiled.apply(rows), reached, err_msg=WHAT_TO_DO)
