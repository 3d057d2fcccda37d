"""The door: a fitted model as one graph, from raw columns to score, p-value and alert."""

from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from devnet.core.sentence import Setting
from devnet.core.whole_file import write_whole
from devnet.core.wording import path_text
from devnet.detectors.base import FewLabelDetector
from devnet.serving.onnx.columns import add_matrix
from devnet.serving.onnx.detectors import add_detector
from devnet.serving.onnx.export_error import ExportError
from devnet.serving.onnx.graph import DOUBLE, FLOAT, Graph
from devnet.serving.onnx.inputs import ColumnInput, plan_inputs
from devnet.serving.onnx.metadata import CHECKSUM, checksum, header_of, metadata_of
from devnet.serving.onnx.significance import add_outputs
from devnet.significance.calibration import Calibration
from devnet.significance.policies import AlertPolicy
from devnet.tables.overwriting import refuse_overwriting
from devnet.tables.score_columns import SCORE_COLUMNS
from devnet.tables.table_model import TableModel

SUFFIX = ".onnx"
MATRIX = "X"  # the input of a model of matrices
PRODUCER = "devnet"


class ExportedFile(NamedTuple):
    """What was written."""

    path: Path
    n_bytes: int
    inputs: list[dict[str, str]]  # by column, as the graph's metadata has them
    threshold: float
    alerts: str  # which rows are alerts, in words
    has_p_values: bool


def export(
    model: TableModel | FewLabelDetector,
    path: str | PathLike[str],
    *,
    policy: AlertPolicy | None = None,
    threshold: float | None = None,
    calibration: Calibration | None = None,
) -> ExportedFile:
    """Write a fitted model as one ONNX graph.

    The graph of a `TableModel` has one input for each column that the model uses; that of a
    detector has the input `X`, float32 of shape (n_rows, n_columns). Outputs are `anomaly_score`,
    `p_value` and `is_alert`. Values that standard operators cannot read enter prepared: the
    metadata lists them, and `ExportedModel.prepare` makes them.

    Scores equal those of Python but for rounding, far below 1e-5, and a row has the same score in
    any batch and with any number of threads. The file appears only when it is complete, and never
    replaces the model's own.

    Parameters
    ----------
    model : TableModel or detector
        Fitted.
    path : str or path
        The file to write, which ends in .onnx.
    policy : AlertPolicy, optional
        Which rows are alerts, instead of the model's own policy.
    threshold : float, optional
        The score above which rows are alerts, instead of a policy. A budget or a false discovery
        rate depends on a whole table, so it needs one.
    calibration : Calibration, optional
        What p-values of a detector are ranks among, as `devnet.significance.calibrate` returns
        it. A `TableModel` and the ensemble have their own; without one there are no p-values.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import DeviationEnsemble
    >>> from devnet.serving.onnx import export
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> rows[:5] += 4
    >>> model = DeviationEnsemble(2, 4, random_state=0).fit(rows, np.arange(500) < 5)
    >>> export(model, "model.onnx").has_p_values  # doctest: +SKIP
    True
    """
    target = _checked(model, Path(path))
    calibration = _calibration_of(model, calibration)
    score, alerts = _threshold_of(model, calibration, policy, threshold)
    graph = Graph(SCORE_COLUMNS)
    inputs: list[ColumnInput] = []
    if isinstance(model, TableModel):
        inputs = plan_inputs(model.encoder_, graph)
        scores = add_detector(graph, add_matrix(graph, inputs), model.detector_)
    else:
        scores = _add_scores_of_matrix(graph, model)
    add_outputs(graph, scores, calibration, score)
    metadata = metadata_of(header_of(model), inputs, score, alerts)
    made = graph.model(PRODUCER, metadata)
    made.metadata_props.add(key=CHECKSUM, value=checksum(made))
    content = made.SerializeToString()
    write_whole(target, content)
    said = [one.to_json() for one in inputs]
    return ExportedFile(target, len(content), said, score, alerts, calibration is not None)


def _checked(model: Any, path: Path) -> Path:
    """The target, if the model is fitted and the path is a name for a graph."""
    if not isinstance(model, TableModel | FewLabelDetector):
        raise TypeError(
            f"an object of the type {type(model).__name__} cannot be exported; give a fitted "
            "TableModel or detector, then the path."
        )
    check_is_fitted(model)
    if path.suffix.lower() != SUFFIX:
        raise ExportError(f"{path_text(path)} does not end in {SUFFIX}; give it that ending.")
    refuse_overwriting((), path, model=getattr(model, "file", None))
    return path


def _calibration_of(
    model: TableModel | FewLabelDetector, given: Calibration | None
) -> Calibration | None:
    if isinstance(model, TableModel):
        if given is not None:
            raise ExportError("a TableModel has its own calibration; leave calibration out.")
        return model.calibration_
    return model.unseen_scores() if given is None and model.keeps_unseen_scores else given


def _threshold_of(
    model: TableModel | FewLabelDetector,
    calibration: Calibration | None,
    policy: AlertPolicy | None,
    threshold: float | None,
) -> tuple[float, str]:
    """The score above which rows are alerts, and which rows these are, in words."""
    if threshold is not None:
        return _given_threshold(policy, threshold)
    detector = model.detector_ if isinstance(model, TableModel) else model
    chosen = model.policy if isinstance(model, TableModel) and policy is None else policy
    if chosen is None:
        return detector.threshold_, "rows above threshold_"
    if chosen.needs_scores:
        raise ExportError(
            f"the alerts of this model are {chosen.in_words()}, which depends on all rows of a "
            "table, but a graph sees one batch at a time; give the score above which rows are "
            "alerts with ",
            Setting("threshold"),
            ", or a policy such as FalseAlarmRate(0.01).",
        )
    if calibration is None:
        raise ExportError(
            f"{type(detector).__name__} keeps no scores of unseen rows, so a policy needs a "
            "calibration: calibration=devnet.significance.calibrate(detector, X, y)."
        )
    found = chosen.threshold(calibration, (), detector.prior_quantile)
    return found.score, chosen.in_words()


def _given_threshold(policy: AlertPolicy | None, threshold: float) -> tuple[float, str]:
    if policy is not None:
        raise ExportError(
            f"both a policy ({policy.in_words()}) and ",
            Setting("threshold", threshold),
            " say which rows are alerts; give one of them.",
        )
    if isinstance(threshold, bool) or not isfinite(threshold):
        raise ExportError(Setting("threshold", threshold), " is not a score; give a finite number.")
    return float(threshold), f"rows that score above {threshold:g}"


def _add_scores_of_matrix(graph: Graph, detector: FewLabelDetector) -> str:
    """Scores of the rows of X; a row with a value that is not finite scores NaN."""
    rows = graph.input(MATRIX, FLOAT, detector.n_features_in_)
    nothing = graph.add("Sub", rows, rows)
    axis = graph.constant([1], np.int64)
    checked = graph.cast(graph.add("ReduceSum", nothing, axis, keepdims=0), DOUBLE)
    return graph.add("Add", add_detector(graph, rows, detector), checked)
