"""What verdicts teach through the leaves of random trees."""

import numpy as np
import pytest

from devnet.detectors.leaf_lessons import NOISE, grow_random_trees, learn_lessons


@pytest.fixture
def taught(seed):
    """Trees, judged rows and by how much their verdicts surprise."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(600, 4)).astype(np.float32)
    return grow_random_trees(rows, generator), rows[:40], generator.normal(size=40), rows[40:]


def leaves(trees, rows):
    """The leaf of each row in each tree, by walking, (n, n_trees)."""
    found = np.zeros((len(rows), len(trees)), dtype=int)
    for number, tree in enumerate(trees):
        for place, row in enumerate(rows):
            node = 0
            while tree.left[node] >= 0:
                goes_left = row[tree.column[node]] <= tree.threshold[node]
                node = (tree.left if goes_left else tree.right)[node]
            found[place, number] = node
    return found


def alike(trees, rows, others):
    """The share of trees in which rows are in the same leaf, (n, m)."""
    return (leaves(trees, rows)[:, None] == leaves(trees, others)[None]).mean(axis=2)


def test_lessons_are_ridge_regression_on_shared_leaves(taught):
    trees, rows, surprise, others = taught
    found = learn_lessons(trees, rows, surprise).forest.sum_values(others[:30])
    pull = np.linalg.solve(alike(trees, rows, rows) + NOISE * np.eye(40), surprise)
    np.testing.assert_allclose(found, alike(trees, others[:30], rows) @ pull, atol=1e-12)


def test_an_unseen_row_is_scored_as_if_it_had_not_been_judged(taught):
    trees, rows, surprise, _ = taught
    unseen = learn_lessons(trees, rows, surprise).unseen
    for left_out in (0, 7, 39):
        rest = np.arange(40) != left_out
        without = learn_lessons(trees, rows[rest], surprise[rest]).forest
        assert without.sum_values(rows[[left_out]])[0] == pytest.approx(unseen[left_out], abs=1e-9)


def test_what_was_expected_teaches_nothing(taught):
    trees, rows, _, others = taught
    lessons = learn_lessons(trees, rows, np.zeros(40))
    assert not lessons.forest.sum_values(others).any()
    assert not lessons.unseen.any()


def test_contributions_add_up(taught):
    trees, rows, surprise, others = taught
    forest = learn_lessons(trees, rows, surprise).forest
    moved = forest.contributions(others[:20]) - forest.contributions(others[20:21])
    expected = forest.sum_values(others[:20]) - forest.sum_values(others[20:21])
    np.testing.assert_allclose(moved.sum(axis=1), expected, atol=1e-12)
