"""A TableModel as the header and tensors of a model file, and back with everything checked."""

from typing import Any

import numpy as np

from devnet.core.model_file import (
    decode_parameters,
    edited,
    encode_parameters,
    field,
    is_count,
    refuse_unknown,
    size_of,
    tensor,
)
from devnet.core.seeds import RANDOM_STATE
from devnet.detectors.methods import restore
from devnet.engine.data_reference import REFERENCES
from devnet.significance.calibration import Calibration
from devnet.significance.policies import policy_from_json, policy_to_json
from devnet.tables.encoder import TableEncoder
from devnet.tables.explainer import Explainer, is_texts

HELD_BACK = ("unlabelled", "weight")  # the fields of a calibration that are kept
PREFIX = "table_"  # of the tensors' names; all others are the detector's


def to_file(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and tensors."""
    table = {
        "method": model.method,
        "label": model.label_,
        "anomaly": model.anomaly_,
        "id_column": model.id_column_,
        "options": _options(model),
        "n_rows": model.n_rows_,
        "n_labelled": model.n_labelled_,
        "policy": policy_to_json(model.policy),
        "labelled_ids": model.explainer_.ids,
        "encoder": model.encoder_.to_header(),
    }
    tensors = {PREFIX + name: array for name, array in _own_tensors(model).items()}
    return {**model.detector_.header(), "table": table}, {**model.detector_.tensors(), **tensors}


def from_file(model: Any, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    """Give an unfitted model what `to_file` said, or raise a ModelFileError."""
    own = {name.removeprefix(PREFIX): t for name, t in tensors.items() if name.startswith(PREFIX)}
    others = {name: array for name, array in tensors.items() if not name.startswith(PREFIX)}
    table = field(header, "table", lambda value: isinstance(value, dict))
    for name in ("method", "label", "anomaly"):
        field(table, name, lambda value: isinstance(value, str))
    model.method, model.label_, model.anomaly_ = table["method"], table["label"], table["anomaly"]
    model.id_column_ = field(table, "id_column", _is_text_or_none)
    _take_options(model, field(table, "options", lambda value: isinstance(value, dict)))
    model.n_rows_ = field(table, "n_rows", is_count)
    model.n_labelled_ = field(table, "n_labelled", is_count)
    model.policy = policy_from_json(table.get("policy"))
    model.detector_ = restore({k: v for k, v in header.items() if k != "table"}, others)
    model.encoder_ = TableEncoder.from_header(table.get("encoder"))
    if model.encoder_.n_columns != model.detector_.n_features_in_:
        raise edited(
            "the encoder",
            f"it makes {model.encoder_.n_columns} columns, but the detector takes "
            f"{model.detector_.n_features_in_}",
        )
    model.calibration_ = _read_calibration(model.detector_, own)
    model.explainer_ = Explainer.from_tensors(model.encoder_, model.detector_, table, own)
    refuse_unknown(own, _own_tensors(model))


def _options(model: Any) -> dict[str, Any]:
    """How the model was asked to be fitted, so that a loaded one can be fitted again alike."""
    seed = model.random_state
    return {
        "parameters": encode_parameters(model.parameters),
        "ignore": list(model.ignore),
        "categorical": list(model.categorical),
        "anomaly": model.anomaly,
        "id_column": model.id_column,
        "random_state": seed if isinstance(seed, int) else None,
    }


def _take_options(model: Any, options: dict[str, Any]) -> None:
    model.parameters = decode_parameters(
        field(options, "parameters", lambda value: isinstance(value, dict)), REFERENCES
    )
    for name in ("ignore", "categorical"):
        setattr(model, name, tuple(field(options, name, is_texts)))
    for name in ("anomaly", "id_column"):
        setattr(model, name, field(options, name, _is_text_or_none))
    is_seed = RANDOM_STATE.accepts
    model.random_state = field(options, "random_state", is_seed)


def _own_tensors(model: Any) -> dict[str, np.ndarray]:
    tensors: dict[str, np.ndarray] = model.explainer_.to_tensors()
    if model.detector_.keeps_unseen_scores:
        return tensors
    held_back = {f"held_back_{name}": getattr(model.calibration_, name) for name in HELD_BACK}
    return {**tensors, **held_back}


def _read_calibration(detector: Any, tensors: dict[str, np.ndarray]) -> Calibration:
    if detector.keeps_unseen_scores:
        calibration: Calibration = detector.unseen_scores()
        return calibration
    n = size_of(tensors, "held_back_unlabelled")
    scores, weight = (tensor(tensors, f"held_back_{name}", (n,), "float64") for name in HELD_BACK)
    if not n or weight.min() < 0 or weight.max() > 1 or not weight.any():
        raise edited("the calibration", "rows must count from 0 to 1, and some must count")
    return Calibration(scores, weight, None, None)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)
