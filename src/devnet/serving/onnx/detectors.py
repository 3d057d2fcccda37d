"""How each detector scores, as nodes: rows (b, d) float32 become scores (b,) in double precision.

A detector that has no function in `BUILDERS` cannot be exported.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from devnet.core.sentence import Setting
from devnet.core.wording import join_words
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.competitors import BalancedLogistic, IForest, PUBaggedTrees
from devnet.detectors.deviation_network import DevNet
from devnet.detectors.ensemble.bagged_ensemble import BaggedEnsemble
from devnet.detectors.ensemble.deviation_ensemble import DeviationEnsemble
from devnet.detectors.ensemble.review_ensemble import ReviewEnsemble
from devnet.detectors.ensemble.table_learners import TableLearners
from devnet.detectors.methods import METHODS, RECOMMENDED
from devnet.detectors.rank_deviation import RankDeviation
from devnet.detectors.taught_columns import TaughtColumns
from devnet.detectors.taught_deviation import TaughtDeviation
from devnet.detectors.usual_columns import UsualColumns
from devnet.engine.forest import Tree
from devnet.serving.onnx.export_error import ExportError
from devnet.serving.onnx.graph import DOUBLE, Graph
from devnet.serving.onnx.networks import add_bagged_networks, add_layers, as_single
from devnet.serving.onnx.step_trees import encoding_trees
from devnet.serving.onnx.tree_ensembles import add_trees, with_exact_sums

Builder = Callable[[Graph, str, Any], str]


def add_detector(graph: Graph, rows: str, detector: FewLabelDetector) -> str:
    """The scores of rows."""
    builder = BUILDERS.get(type(detector))
    if builder is None:
        raise ExportError(
            f"{type(detector).__name__} cannot be exported: its parts have no counterpart among "
            f"the standard operators of ONNX. These can: {_exportable()}. Fit with one of them: ",
            Setting("method", RECOMMENDED),
        )
    if detector.has_sparse_rows or getattr(detector, "projection_", None) is not None:
        raise ExportError(
            f"this {type(detector).__name__} was fitted on {detector.n_features_in_:,} sparse "
            "columns, and ONNX has no sparse rows; score with Python, or fit on fewer than 4,096 "
            "columns."
        )
    return builder(graph, rows, detector)


def _exportable() -> str:
    return join_words([name for name, method in METHODS.items() if method in BUILDERS])


def _add_ensemble(graph: Graph, rows: str, detector: DeviationEnsemble) -> str:
    return _add_learners(graph, rows, detector, 1.0, [], 0.0)


def _add_review_ensemble(graph: Graph, rows: str, detector: ReviewEnsemble) -> str:
    if detector.half_ is None:
        return _add_learners(graph, rows, detector, 1.0, [], 0.0)
    taught, (factor, of_taught, more) = detector.half_.columns, detector.half_.mix.tolist()
    trees = _scaled(_taught_trees(taught), of_taught)
    more += of_taught * float(taught.scale[1])
    return _add_learners(graph, rows, detector, factor, trees, more)


def _add_learners(
    graph: Graph,
    rows: str,
    detector: BaggedEnsemble,
    factor: float,
    others: list[Tree],
    more: float,
) -> str:
    """The ensemble's score times a factor, plus the sum of other trees, plus a number."""
    learners = detector.learners_
    if not isinstance(learners, TableLearners):
        raise TypeError(f"{type(learners).__name__} are for sparse rows")
    scales = (factor * detector.combination_.scale).tolist()
    networks = add_bagged_networks(graph, rows, learners.networks, scales[0])
    trees = [
        tree
        for scale, one in zip(scales[1:], learners.forests, strict=True)
        for tree in _scaled(one.forest.trees(), scale / len(one.forest))
    ]
    shift = graph.constant(more - factor * detector.combination_.shift, np.float64)
    return graph.sum(_sum_of_trees(graph, rows, [*trees, *others]), networks, shift)


def _scaled(trees: list[Tree], factor: float) -> list[Tree]:
    return [tree._replace(value=tree.value * factor) for tree in trees]


def _sum_of_trees(graph: Graph, rows: str, trees: list[Tree]) -> str:
    doubles = graph.cast(rows, DOUBLE)
    return graph.flat(add_trees(graph, doubles, with_exact_sums(trees), dtype=np.float64))


def _add_devnet(graph: Graph, rows: str, detector: DevNet) -> str:
    network = detector.network_
    if network.layers is None:
        raise ExportError(
            "this DevNet has a torch module of yours, whose code is not in the model; export the "
            "module with torch.onnx, or fit with built-in layers such as hidden=(20,)."
        )
    is_relu = [network.is_relu(layer) for layer in range(len(network.layers))]
    outputs = add_layers(graph, rows, network.layers, is_relu)  # (m, b, k)
    by_member = graph.add("ReduceMean", outputs, graph.constant([2], np.int64), keepdims=0)
    mean, std = (graph.constant(p, np.float64) for p in detector.reference_[:2])
    deviation = graph.add("Div", graph.add("Sub", by_member, mean), std)  # (m, b)
    scores = graph.add("ReduceMean", deviation, graph.constant([0], np.int64), keepdims=0)
    return as_single(graph, scores)


def _add_rank_deviation(graph: Graph, rows: str, detector: RankDeviation) -> str:
    usual = detector.usual_
    if not isinstance(usual, UsualColumns):
        raise TypeError("its columns are sparse")
    return _sum_of_trees(graph, rows, _usual_trees(usual))


def _add_taught_deviation(graph: Graph, rows: str, detector: TaughtDeviation) -> str:
    taught = detector.usual_
    if not isinstance(taught, TaughtColumns):
        raise TypeError("its columns are sparse")
    expected = graph.constant(taught.scale[1], np.float64)
    return graph.sum(_sum_of_trees(graph, rows, _taught_trees(taught)), expected)


def _usual_trees(usual: UsualColumns) -> list[Tree]:
    """A tree for each column: how far a value is from the usual ones."""
    return [
        tree._replace(value=weight * (tree.value - centre) ** 2)
        for tree, centre, weight in zip(
            encoding_trees(usual.encoding), usual.centre, usual.weight, strict=True
        )
    ]


def _taught_trees(taught: TaughtColumns) -> list[Tree]:
    """How far each column deviates, on the scale of verdicts, and what verdicts taught."""
    usual = _scaled(_usual_trees(taught.usual), float(taught.scale[0]))
    return usual if taught.forest is None else [*usual, *taught.forest.trees()]


def _add_pu_trees(graph: Graph, rows: str, detector: PUBaggedTrees) -> str:
    size = graph.constant(detector.n_trees, np.float64)
    return graph.add("Div", _sum_of_trees(graph, rows, detector.forest_.trees()), size)


def _add_isolation_forest(graph: Graph, rows: str, detector: IForest) -> str:
    total = _sum_of_trees(graph, rows, detector.forest_.trees())
    mean = graph.add("Div", total, graph.constant(-detector.n_trees, np.float64))
    return as_single(graph, graph.add("Pow", graph.constant(2.0), mean))


def _add_logistic(graph: Graph, rows: str, detector: BalancedLogistic) -> str:
    layer = detector.coef_[None, :, None], np.full((1, 1, 1), detector.intercept_)
    outputs = add_layers(graph, rows, [layer], [False])  # (1, b, 1)
    axes = graph.constant([0, 2], np.int64)
    return as_single(graph, graph.add("Squeeze", outputs, axes))


BUILDERS: dict[type[FewLabelDetector], Builder] = {
    DevNet: _add_devnet,
    DeviationEnsemble: _add_ensemble,
    ReviewEnsemble: _add_review_ensemble,
    RankDeviation: _add_rank_deviation,
    TaughtDeviation: _add_taught_deviation,
    PUBaggedTrees: _add_pu_trees,
    IForest: _add_isolation_forest,
    BalancedLogistic: _add_logistic,
}
