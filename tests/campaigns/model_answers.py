"""What any model must say about rows, whatever its file holds: finite numbers, or a sentence."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from devnet.cli.model_text import columns_text, model_text
from devnet.explanation import contributions, typical_row
from devnet.significance.policies import Budget
from devnet.tables import find_alerts
from devnet.tables.description import describe_model, fit_notes

EXPLAINED = [0, 3, 41]  # rows


def check_answers(model: Any, rows: Any) -> np.ndarray:
    """Ask a detector or a TableModel everything; return the scores."""
    return _of_table(model, rows) if isinstance(rows, pa.Table) else _of_matrix(model, rows)


def _of_matrix(model: Any, rows: Any) -> np.ndarray:
    scores = _finite("scores", model.anomaly_score(rows))
    _finite("decisions", model.decision_function(rows))
    model.predict(rows)
    if hasattr(model, "p_value"):
        _probabilities("p-values", model.p_value(rows), is_rank=model.keeps_unseen_scores)
    nominal = model.nominal_p_value(scores)
    if nominal is not None:
        _probabilities("nominal p-values", nominal)
    parts = contributions(model, rows[EXPLAINED], typical_row(model, rows))
    _finite("contributions", parts.data if sp.issparse(parts) else parts)
    json.dumps(model.expectations(), default=str)
    return scores


def _of_table(model: Any, table: pa.Table) -> np.ndarray:
    scored = model.score(table)
    scores = _finite("scores", scored["anomaly_score"].to_numpy())
    _probabilities("p-values", scored["p_value"].to_numpy(), is_rank=True)
    if "nominal_p_value" in scored.column_names:
        _probabilities("nominal p-values", scored["nominal_p_value"].to_numpy())
    model.predict(table)
    for one in model.explain(table, EXPLAINED):
        _finite("contributions", [one.score, one.baseline_score, *one.contributions.values()])
    facts = describe_model(model)
    assert min(map(len, (model_text(facts), columns_text(facts)))), "nothing to say about it"
    assert all(map(str, fit_notes(model))), "an empty note"
    find_alerts(model, table, policy=Budget(3)).to_table()
    return scores


def _finite(what: str, values: Any) -> np.ndarray:
    found = np.asarray(values, dtype=np.float64)
    assert np.isfinite(found).all(), f"{what} are not finite: {found[~np.isfinite(found)][:3]}"
    return found


def _probabilities(what: str, values: Any, *, is_rank: bool = False) -> None:
    """A rank is never 0; a tail of a distribution may be, if a score is far out."""
    found = np.asarray(values, dtype=np.float64)
    is_valid = ((found > 0) if is_rank else (found >= 0)) & (found <= 1)
    assert is_valid.all(), f"{what} are no probabilities: {found[~is_valid][:3]}"
