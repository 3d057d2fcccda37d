"""What the model in use takes and answers, for /schema."""

from typing import Any

import pyarrow as pa

from devnet.serving.service.limits import Limits
from devnet.serving.service.served_model import ServedModel


def describe(model: ServedModel, limits: Limits) -> dict[str, Any]:
    """The columns that rows need, those of an answer, and bounds, as JSON values."""
    facts = {one.name: one for one in model.encoder.describe()}
    columns = [
        {
            "name": one.name,
            "kind": facts[one.name].kind,
            "takes": one.wanted,
            "arrow_type": str(one.empty),
            "missing_in_training": facts[one.name].missing,
        }
        for one in model.json_columns
    ]
    return {
        "model": model.fingerprint,
        "columns": columns,
        "id_column": model.id_column,
        "ignored": sorted([*model.encoder.left_out, *filter(None, [model.encoder.label])]),
        "answer": [{"name": one.name, "arrow_type": str(one.type)} for one in _answer(model)],
        "threshold": model.threshold if abs(model.threshold) < float("inf") else None,
        "limits": {
            "bytes": limits.n_bytes,
            "unpacked_bytes": limits.n_unpacked,
            "rows": limits.n_rows,
            "rows_with_reasons": limits.n_reasons_rows,
            "seconds": limits.seconds,
        },
    }


def _answer(model: ServedModel) -> pa.Schema:
    return model.answered("all")
