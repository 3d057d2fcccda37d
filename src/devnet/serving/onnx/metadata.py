"""What a graph says about itself: the model's header, its inputs, and a checksum."""

import hashlib
import json
from math import isfinite
from typing import Any

from onnx import ModelProto

from devnet.detectors.base import FewLabelDetector
from devnet.serving.onnx.inputs import ColumnInput
from devnet.significance.policies import policy_to_json
from devnet.tables.table_model import TableModel

FORMAT = "1"
PREFIX = "devnet."  # of the keys of a graph's metadata
CHECKSUM = f"{PREFIX}checksum"
TRAINING = ("history",)  # of a header, which says nothing about scores


def header_of(model: TableModel | FewLabelDetector) -> dict[str, Any]:
    """The header of a model's file, without what only training and reasons need."""
    if isinstance(model, FewLabelDetector):
        return {name: part for name, part in model.header().items() if name not in TRAINING}
    table = {
        "method": model.method,
        "label": model.label_,
        "anomaly": model.anomaly_,
        "normal": model.normal_,
        "id_column": model.id_column_,
        "decimal_comma": model.decimal_comma,
        "day_first": model.day_first,
        "n_rows": model.n_rows_,
        "n_labelled": model.n_labelled_,
        "n_normal": model.n_normal_,
        "policy": policy_to_json(model.policy),
        "encoder": model.encoder_.to_header(),
    }
    return {**header_of(model.detector_), "table": table}


def metadata_of(
    header: dict[str, Any], inputs: list[ColumnInput], threshold: float, alerts: str
) -> dict[str, str]:
    """The metadata of a graph, as texts by key."""
    return {
        f"{PREFIX}format": FORMAT,
        f"{PREFIX}header": json.dumps(header, allow_nan=False),
        f"{PREFIX}inputs": json.dumps([one.to_json() for one in inputs]),
        f"{PREFIX}threshold": json.dumps(threshold if isfinite(threshold) else None),
        f"{PREFIX}alerts": alerts,
    }


def checksum(model: ModelProto) -> str:
    """SHA-256 over the graph and the metadata; it tells damage, and is no signature."""
    digest = hashlib.sha256(model.graph.SerializeToString(deterministic=True))
    said = {one.key: one.value for one in model.metadata_props if one.key != CHECKSUM}
    digest.update(json.dumps(said, sort_keys=True).encode())
    return f"sha256:{digest.hexdigest()}"


def read_metadata(model: ModelProto) -> dict[str, str]:
    """The metadata of a graph, without the prefix of our keys; none of other programs' files."""
    return {
        one.key.removeprefix(PREFIX): one.value
        for one in model.metadata_props
        if one.key.startswith(PREFIX)
    }
