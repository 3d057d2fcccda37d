"""What a model of tables knows, for people, JSON and pages."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from devnet.core.model_file import encode_parameters
from devnet.core.sentence import Sentence, Setting
from devnet.core.wording import count_text, share_text
from devnet.significance.policies import AlertPolicy, policy_to_json
from devnet.tables.column_check import some
from devnet.tables.expectations import HIDDEN, expectations
from devnet.tables.row_scores import alert_threshold
from devnet.tables.table_model import TableModel
from devnet.tables.typical_row import typical_text

ALONE = 0.7  # share of one column in the scores of labelled anomalies that is suspicious
FEW = 10  # labelled anomalies below which ranking and reasons are uncertain


def describe_model(model: TableModel) -> dict[str, Any]:
    """What is known about a fitted model without a table.

    JSON values, except for the reasons why columns are left out: these are Sentences, as they
    may advise a setting.
    """
    importance = column_importance(model)
    known, withheld = expectations(model)
    return {
        "method": model.method,
        "parameters": encode_parameters(model.detector_.get_params(deep=False)),
        "label": model.label_,
        "anomaly": model.anomaly_,
        "normal": model.normal_,
        "id_column": model.id_column_,
        "rows": model.n_rows_,
        "labelled_anomalies": model.n_labelled_,
        "known_normal": model.n_normal_,
        "matrix_columns": model.encoder_.n_columns,
        "columns": [
            {**column._asdict(), "importance": importance.get(column.name, 0.0)}
            for column in model.encoder_.describe()
        ],
        "left_out": {name: one.sentence() for name, one in model.encoder_.left_out.items()},
        "policy": {**policy_to_json(model.policy), "in_words": model.policy.in_words()},
        "threshold": fixed_threshold(model),
        "calibration_rows": len(model.calibration_.unlabelled),
        "smallest_p_value": float(model.calibration_.ranks().p_value_of_rank[-1]),
        "typical_row": typical_text(model.encoder_),
        "typical_row_score": model.explainer_.typical_score,
        **known,
        "withheld": withheld,
    }


def fit_notes(model: TableModel) -> list[str | Sentence]:
    """What a user should know before trusting a fit."""
    notes = [
        *spelling_notes(model.label_, model.spellings_),
        *model.encoder_.reader.notes(),
        *policy_notes(model),
        *_leak_notes(model),
    ]
    if model.n_normal_ and not model.detector_.uses_normals:
        notes.append(f"{model.method} does not learn from the rows known to be normal.")
    if model.n_labelled_ < FEW:
        few = count_text(model.n_labelled_, "labelled anomaly is", "labelled anomalies are")
        notes.append(
            f"{few} few: ranking and reasons are uncertain below about {FEW}. Label some of the "
            "alerts, and fit again."
        )
    return notes


def _leak_notes(model: TableModel) -> list[Sentence]:
    """A note about columns that tell the label too well."""
    importance = column_importance(model)
    name = max(importance, key=importance.__getitem__)
    if len(importance) > 1 and importance[name] > ALONE:
        return [
            Sentence(
                f"the column {name!r} separates labelled anomalies almost by itself "
                f"({importance[name]:.0%}). If it is filled in only after an anomaly is "
                "confirmed, leave it out: ",
                Setting("ignore", [name]),
            )
        ]
    return [] if model.leak_ is None else [model.leak_.note()]


def spelling_notes(label: str, spellings: Sequence[str]) -> list[str | Sentence]:
    """A note if the label of anomalies is written in several ways."""
    if len(spellings) < 2:
        return []
    return [f"{some([repr(one) for one in spellings])} in the column {label!r} are one label."]


def fixed_threshold(model: TableModel) -> float | None:
    """The score that alerts exceed, if it is the same for every table."""
    if model.policy.needs_scores:
        return None
    score = alert_threshold(model, model.policy).score
    return score if np.isfinite(score) else None


def policy_notes(model: TableModel, policy: AlertPolicy | None = None) -> list[str | Sentence]:
    """Notes if a policy, or the model's own, can never raise an alert or rests on a guess."""
    chosen = policy or model.policy
    warning = chosen.warning(model.calibration_, model.detector_.prior_quantile)
    notes: list[str | Sentence] = [] if warning is None else [warning]
    share = model.calibration_.hidden_share if chosen.uses_hidden_share else None
    why = None if share is None else expectations(model).withheld.get(HIDDEN)
    if share is not None and why is not None:
        notes.append(
            f"the expected cost takes {share_text(share)} of the unlabelled rows for hidden "
            f"anomalies, but how many there are cannot be estimated: {why}. If there are fewer, "
            "too many rows are alerts; a budget or a false-alarm rate does not depend on it."
        )
    return notes


def column_importance(model: TableModel) -> dict[str, float]:
    """Share of each input column in the scores of labelled anomalies; shares add up to 1.

    The entries of a sparse vector count together.
    """
    profiles = model.explainer_.profiles
    size = np.asarray(abs(profiles).sum(axis=0)).ravel()
    by_column = np.add.reduceat(size, model.encoder_.names.starts[:-1])
    shares = (by_column / (by_column.sum() or 1.0)).tolist()
    names = [column.name for column in model.encoder_.columns]
    return dict(zip(names, shares, strict=True))
