"""Rank-normal columns as nodes: the same scores as in Python, bit for bit."""

import numpy as np

from devnet.detectors.ensemble.rank_normal import LARGEST, RESOLUTION, RankNormal
from devnet.serving.onnx.graph import Graph
from devnet.serving.onnx.step_trees import encoding_trees
from devnet.serving.onnx.tree_ensembles import add_trees

FEW = 3  # knots of a column, such as the indicator of a category, that needs no tree


def add_encoded(graph: Graph, rows: str, encoding: RankNormal) -> tuple[str, np.ndarray]:
    """Encoded columns (b, d) float32, and which of the rows' columns they are, (d,)."""
    is_few = encoding.n_knots <= FEW
    few, many = np.flatnonzero(is_few), np.flatnonzero(~is_few)
    blocks = []
    if len(few):
        chosen = graph.add("Gather", rows, graph.constant(few, np.int64), axis=1)
        blocks.append(_add_interpolated(graph, chosen, encoding.select(few)))
    if len(many):
        trees = [
            tree._replace(column=many[tree.column])
            for tree in encoding_trees(encoding.select(many))
        ]
        blocks.append(add_trees(graph, rows, trees, by_tree=True, dtype=np.float32))
    return graph.add("Concat", *blocks, axis=1), np.append(few, many)


def _add_interpolated(graph: Graph, values: str, encoding: RankNormal) -> str:
    """The arithmetic of `RankNormal` for columns with few knots, operation by operation."""
    knots, normal = encoding.padded()  # (k, d)
    knots, normal = knots[:FEW], normal[:FEW] * np.float32(RESOLUTION)
    width = np.diff(knots.astype(np.float64), axis=0)
    rise = np.diff(normal, axis=0)
    slope = np.minimum(np.divide(rise, width, out=np.zeros_like(width), where=width > 0), LARGEST)
    slope = np.append(slope, np.zeros((1, slope.shape[1])), axis=0)
    low, high = graph.constant(knots[0]), graph.constant(knots[-1])
    within = graph.add("Min", graph.add("Max", values, low), high)
    is_from = [graph.add("GreaterOrEqual", within, graph.constant(part)) for part in knots[1:]]

    def of_segment(parts: np.ndarray) -> str:
        found = graph.constant(parts[0], np.float32)
        for condition, part in zip(is_from, parts[1:], strict=True):
            found = graph.add("Where", condition, graph.constant(part, np.float32), found)
        return found

    above = graph.add("Sub", within, of_segment(knots))
    risen = graph.add("Add", graph.add("Mul", above, of_segment(slope)), of_segment(normal))
    return graph.add("Div", graph.add("Round", risen), graph.constant(RESOLUTION, np.float32))
