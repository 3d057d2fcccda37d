"""A tree that no fit can grow is refused, whatever detector it is in."""

import numpy as np
import pytest
from support.model_files import write_sealed
from support.small_methods import fitted_small

import devnet
from devnet import ModelFileError
from devnet.core import model_file
from devnet.detectors.competitors.forest_detector import ForestDetector
from devnet.detectors.ensemble import table_learners
from devnet.detectors.methods import METHODS
from devnet.engine.forest import DTYPES, MAX_DEPTH, Forest, Tree

FORESTS = [
    *((name, "tree") for name in METHODS if issubclass(METHODS[name], ForestDetector)),
    *(("deviation ensemble", prefix) for prefix in table_learners.FORESTS),
]
DEEPEST = {"iForest": 8, "PU trees": MAX_DEPTH, "deviation ensemble": MAX_DEPTH}  # others: 3


def with_a_chain(tensors, prefix, depth):
    """The trees of a file, the first of them replaced by a chain, the others by leaves."""
    inner = np.arange(depth)
    nodes = {
        "left": np.append(np.stack([2 * inner + 1, np.full(depth, -1)], axis=1).ravel(), -1),
        "right": np.append(np.stack([2 * inner + 2, np.full(depth, -1)], axis=1).ravel(), -1),
    }
    size = 2 * depth + 1
    chain = Tree(**nodes, column=np.zeros(size), threshold=np.arange(size), value=np.ones(size))
    leaf = Tree(*(np.full(1, value) for value in (-1, -1, 0, 0.0, 1.0)))
    n_trees = len(tensors[f"{prefix}_start"])
    forest = Forest.of([chain, *[leaf] * (n_trees - 1)], 6)
    assert set(forest.to_tensors(prefix)) == {f"{prefix}_{n}" for n in (*DTYPES, "start")}
    return tensors | forest.to_tensors(prefix)


@pytest.mark.parametrize(("name", "prefix"), FORESTS)
def test_a_chain_is_refused_if_it_is_deeper_than_a_fit_grows(name, prefix, tmp_path):
    path, deepest = tmp_path / "m.devnet", DEEPEST.get(name, 3)
    fitted_small(name, "dense").save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header, with_a_chain(tensors, prefix, deepest + 1))
    with pytest.raises(ModelFileError, match=f"more than {deepest} splits, which no fit makes"):
        devnet.load(path)
    write_sealed(path, header, with_a_chain(tensors, prefix, deepest))
    model = devnet.load(path)
    rows = np.full((3, 6), 9e9, np.float32)
    parts = model.own_contributions(rows, np.zeros(6, np.float32))
    assert parts is None or np.isfinite(parts).all()


@pytest.mark.parametrize(("name", "prefix"), FORESTS)
def test_a_tree_with_a_node_of_two_parents_is_refused(name, prefix, tmp_path):
    path = tmp_path / "m.devnet"
    fitted_small(name, "dense").save(path)
    header, tensors = model_file.read(path)
    edited = with_a_chain(tensors, prefix, 2)
    edited[f"{prefix}_left"][0] = edited[f"{prefix}_right"][0]
    write_sealed(path, header, edited)
    with pytest.raises(ModelFileError, match="child of one other node"):
        devnet.load(path)
