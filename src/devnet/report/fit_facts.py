"""Facts for the page about a fit: from a model and the table it learned from."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from devnet.core.model_file import package_versions
from devnet.core.sentence import Sentence, Spell
from devnet.core.wording import score_text, scores_text, share_text
from devnet.report.fit_page import Alert, FitFacts
from devnet.significance.policies import FalseAlarmRate
from devnet.tables.alerts import alerts_in
from devnet.tables.columns.column import ColumnFact
from devnet.tables.description import column_importance, describe_model, fit_notes
from devnet.tables.expectations import HIDDEN
from devnet.tables.explainer import Explanation
from devnet.tables.opened_table import OpenedTable
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows

N_ALERTS = 20
ANY_HIGH_ROW = FalseAlarmRate(0.5)  # includes the highest rows, however few alerts there are


def fit_facts(
    model: TableModel, table: Any, *, on_rows: OnRows | None = None, spell: Spell = str
) -> FitFacts:
    """Facts for `make_fit_page`.

    The table is scored for its highest unlabelled rows, and once more if the threshold depends on
    all rows. `spell` spells the settings that notes name.
    """

    def in_words(said: str | Sentence) -> str:
        return said.spelled(spell) if isinstance(said, Sentence) else said

    opened = OpenedTable(model, table)
    score, n_equal = opened.threshold(known=False, on_rows=on_rows)
    found = alerts_in(opened, policy=ANY_HIGH_ROW, n_shown=N_ALERTS, on_rows=on_rows)
    facts = describe_model(model)
    unseen = model.calibration_.labelled
    nominal = partial(_nominal, model)
    return FitFacts(
        table=Path(opened.source.name).name,
        method=model.method,
        summary=_summary(facts),
        n_rows=model.n_rows_,
        n_labelled=model.n_labelled_,
        unlabelled=model.calibration_.representative(),
        labelled=model.explainer_.labelled_scores() if unseen is None else unseen,
        labelled_unseen=unseen is not None,
        nominal=nominal if model.detector_.nominal_p_value(np.zeros(1)) is not None else None,
        threshold=np.nextafter(score, -np.inf) if n_equal else score,  # rows above it are alerts
        policy=model.policy.in_words(),
        columns=[_with_reading(column) for column in model.encoder_.describe()],
        importance=column_importance(model),
        left_out={name: in_words(why) for name, why in facts["left_out"].items()},
        alerts=[_alert(one) for one in found.shown],
        parameters=facts["parameters"],
        versions=package_versions(),
        notes=[in_words(note) for note in (*found.notes, *fit_notes(model), *_withheld(facts))],
    )


def _alert(one: Explanation) -> Alert:
    like_it = [other.id for other in sorted(one.like_it, key=lambda other: other.row)]
    facts = (one.id, one.score, one.p_value, one.reasons, one.nearest)
    return Alert(*facts, one.values, like_it)


def _with_reading(column: ColumnFact) -> ColumnFact:
    """The column, with how it was read as part of its detail."""
    parts = filter(None, (column.detail, column.reading))
    return column._replace(detail="; ".join(parts))


def _nominal(model: TableModel, scores: np.ndarray) -> np.ndarray:
    p_value = model.detector_.nominal_p_value(scores)
    assert p_value is not None  # passed on only if the detector has them
    return p_value


def _normal_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    if facts["normal"] is None:
        return []
    return [(f"known normal, {facts['label']} = {facts['normal']}", f"{facts['known_normal']:,}")]


def _summary(facts: dict[str, Any]) -> list[tuple[str, str]]:
    n_columns = len(facts["columns"]) + len(facts["left_out"])
    lines = [
        ("rows", f"{facts['rows']:,}"),
        (f"labelled, {facts['label']} = {facts['anomaly']}", f"{facts['labelled_anomalies']:,}"),
        *_normal_rows(facts),
        ("columns used", f"{len(facts['columns'])} of {n_columns}"),
    ]
    if share := facts.get(HIDDEN):
        lines.append(
            ("hidden anomalies", f"{share_text(share['low'])} to {share_text(share['high'])}")
        )
    elif HIDDEN in facts["withheld"]:
        lines.append(("hidden anomalies", "cannot be estimated"))
    lines.append((scores_text(facts["typical_row"]), score_text(facts["typical_row_score"])))
    return lines


def _withheld(facts: dict[str, Any]) -> list[str]:
    """Why the page does not say what it otherwise would."""
    why = facts["withheld"].get(HIDDEN)
    return (
        [f"how many anomalies hide among the unlabelled rows cannot be estimated: {why}."]
        if why
        else []
    )
