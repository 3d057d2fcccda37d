"""What a score means, as nodes: its calibrated p-value, and whether it is an alert."""

import numpy as np

from devnet.serving.onnx.graph import BOOLEAN, DOUBLE, Graph
from devnet.serving.onnx.step_trees import rank_tree
from devnet.serving.onnx.tree_ensembles import add_trees
from devnet.significance.calibration import Calibration
from devnet.tables.score_columns import ALERT, P_VALUE, SCORE


def add_outputs(
    graph: Graph, scores: str, calibration: Calibration | None, threshold: float
) -> None:
    """The outputs of a graph, by their names in scored tables.

    There are no p-values without a calibration.
    """
    graph.output(SCORE, scores, DOUBLE)
    if calibration is not None:
        graph.output(P_VALUE, _add_p_values(graph, scores, calibration), DOUBLE)
    is_alert = graph.add("Greater", scores, graph.constant(threshold, np.float64))
    graph.output(ALERT, is_alert, BOOLEAN)


def _add_p_values(graph: Graph, scores: str, calibration: Calibration) -> str:
    tree = rank_tree(calibration.ranks())
    found = graph.flat(add_trees(graph, graph.column(scores), [tree], dtype=np.float64))
    nothing = graph.add("Sub", scores, scores)  # 0, unless a score is not a number
    return graph.add("Add", found, nothing)
