"""A fit as one self-contained page: alerts with reasons, charts of scores, columns, settings."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from devnet.core.wording import (
    contribution_text,
    count_text,
    if_known,
    one_in_text,
    parameter_text,
    score_text,
    share_text,
    some_names,
)
from devnet.report.calibration_chart import LEAST_ROWS, calibration_chart, curve_to_draw
from devnet.report.distribution_chart import score_chart
from devnet.report.page import render, short
from devnet.report.ranking_chart import area_text, precision_recall_chart, roc_chart
from devnet.report.ranking_curves import LEAST_LABELLED, ranking_curves
from devnet.report.spread_chart import spread_chart
from devnet.tables.columns.column import ColumnFact
from devnet.tables.explainer import Reason

N_OPEN_ALERTS, N_OPEN_COLUMNS = 10, 30  # the rest is folded
MOST_ALERTS, MOST_COLUMNS = 50, 1000  # the rest is only counted
N_LIKE = 200  # rows that are named as nearly the same


class Alert(NamedTuple):
    """A row that stands out."""

    row: str  # its identifier or number
    score: float
    p_value: float
    reasons: list[Reason]
    nearest: str | None  # the nearest labelled anomaly
    values: dict[str, Any] | None = None  # of its columns
    like_it: Sequence[str] = ()  # rows that are nearly the same


class FitFacts(NamedTuple):
    """Everything on the page."""

    table: str  # its name
    method: str  # such as "deviation ensemble"
    summary: list[tuple[str, str]]  # such as ("rows", "200,000")
    n_rows: int  # of the table
    n_labelled: int  # labelled anomalies among them
    unlabelled: np.ndarray  # scores of unlabelled rows by scorers that did not see them
    labelled: np.ndarray  # scores of all or some labelled anomalies
    labelled_unseen: bool  # whether these, too, are by scorers that did not see them
    nominal: Callable[[np.ndarray], np.ndarray] | None  # scores -> nominal p-values
    threshold: float  # not finite if no score is an alert
    policy: str  # such as "at most 1% false alarms"
    columns: Sequence[ColumnFact]
    importance: dict[str, float]  # by column; may be empty
    left_out: dict[str, str]  # column -> why
    alerts: list[Alert]  # highest unlabelled rows
    parameters: dict[str, Any]
    versions: dict[str, str]
    notes: list[str]


class ReasonLine(NamedTuple):
    """A reason as shown."""

    column: str
    text: str
    contribution: str
    width: float  # of its bar, in percent of the largest on the page
    is_down: bool
    picture: str  # of the column's values as SVG; may be empty


class AlertCard(NamedTuple):
    """An alert as shown."""

    row: str
    score: str
    rarity: str
    is_alert: bool
    reasons: list[ReasonLine]
    nearest: str | None
    values: list[tuple[str, str]]
    n_like_it: int
    like_it: str  # their names


class ColumnRow(NamedTuple):
    """A column as shown."""

    name: str
    kind: str
    detail: str
    missing: str
    importance: str
    width: float  # of its bar, in percent of the largest


def make_fit_page(facts: FitFacts) -> str:
    """The page's HTML: one file, without network access; a script sorts and filters alerts.

    Parameters
    ----------
    facts : FitFacts
        Charts leave out scores that are not finite.
    """
    unlabelled, labelled = (_finite(part) for part in (facts.unlabelled, facts.labelled))
    cards = [*map(_card_maker(facts), facts.alerts[:MOST_ALERTS])]
    columns = _column_rows(facts)
    shown = {
        **facts._asdict(),
        "n_unlabelled": len(unlabelled),
        "n_drawn": len(labelled),  # labelled anomalies in the charts
        "is_denser": _is_denser(facts, len(labelled), len(unlabelled)),
        "has_threshold": bool(np.isfinite(facts.threshold)),
        "above": _shares_above(unlabelled, labelled, facts.threshold),
        "cards": cards,
        "has_spreads": any(reason.picture for card in cards for reason in card.reasons),
        "n_open_alerts": N_OPEN_ALERTS,
        "columns": columns[:MOST_COLUMNS],
        "n_columns": len(columns),
        "n_open_columns": N_OPEN_COLUMNS,
        "has_importance": bool(facts.importance),
        "left_out": list(facts.left_out.items())[:MOST_COLUMNS],
        "pictures": _pictures(facts, unlabelled, labelled),
        "least_rows": LEAST_ROWS,
        "least_labelled": LEAST_LABELLED,
    }
    functions: dict[str, Callable[..., Any]] = {
        "score_text": score_text,
        "parameter_text": parameter_text,
        "count": count_text,
    }
    return render("fit.html", shown, functions)


def _pictures(facts: FitFacts, unlabelled: np.ndarray, labelled: np.ndarray) -> dict[str, Any]:
    """SVG by name; empty if there is nothing to draw."""
    pictures = dict.fromkeys(("scores", "calibration", "precision_recall", "roc"), "")
    areas = {}
    if len(unlabelled) + len(labelled):
        pictures["scores"] = score_chart(unlabelled, labelled, facts.threshold)
    calibration = curve_to_draw(unlabelled, facts.nominal)
    if calibration is not None:
        pictures["calibration"] = calibration_chart(calibration)
    if facts.labelled_unseen and len(unlabelled) and len(labelled):
        curves = ranking_curves(facts.method, unlabelled, labelled)
        pictures["precision_recall"] = precision_recall_chart([curves.precision_recall])
        pictures["roc"] = roc_chart([curves.roc])
        areas = {name: area_text(curve.area) for name, curve in curves._asdict().items()}
    return {**pictures, "areas": areas}


def _is_denser(facts: FitFacts, n_labelled: int, n_unlabelled: int) -> bool:
    """Whether labelled anomalies are less rare in the charts than in the table."""
    return n_labelled * (facts.n_rows - facts.n_labelled) > n_unlabelled * facts.n_labelled


def _shares_above(
    unlabelled: np.ndarray, labelled: np.ndarray, threshold: float
) -> dict[str, Any] | None:
    if not (len(unlabelled) and len(labelled) and np.isfinite(threshold)):
        return None
    share = float((unlabelled > threshold).mean())
    return {
        "has_unlabelled": share > 0,
        "unlabelled": share_text(share),
        "labelled": f"{(labelled > threshold).sum():,} of {len(labelled):,}",
    }


def _card_maker(facts: FitFacts) -> Callable[[Alert], AlertCard]:
    """Bars of all alerts share one scale, so that they can be compared."""
    shown = facts.alerts[:MOST_ALERTS]
    sizes = _finite(np.array([abs(r.contribution) for one in shown for r in one.reasons]))
    largest = sizes.max(initial=0.0) or 1.0

    def line(reason: Reason) -> ReasonLine:
        part = reason.contribution
        words = reason.text.removesuffix(f": {contribution_text(part)}")  # shown separately
        width = 100 * abs(part) / largest if np.isfinite(part) else 0.0
        amount = if_known(part, contribution_text).replace("-", "−")
        picture = "" if reason.place is None else spread_chart(short(reason.column), reason.place)
        return ReasonLine(short(reason.column), short(words), amount, width, part < 0, picture)

    def make(alert: Alert) -> AlertCard:
        return AlertCard(
            row=short(alert.row),
            score=score_text(alert.score),
            rarity=one_in_text(alert.p_value),
            is_alert=alert.score > facts.threshold,
            reasons=[*map(line, alert.reasons)],
            nearest=None if alert.nearest is None else short(alert.nearest),
            values=_values(alert.values or {}),
            n_like_it=len(alert.like_it),
            like_it=some_names([*map(short, alert.like_it)], N_LIKE),
        )

    return make


def _values(values: dict[str, Any]) -> list[tuple[str, str]]:
    """A row's values as shown, by column; an empty text where one is missing."""
    shown = list(values.items())[:MOST_COLUMNS]
    return [(short(name), "" if value is None else short(value)) for name, value in shown]


def _column_rows(facts: FitFacts) -> list[ColumnRow]:
    """The most important first, or in table order if importance is unknown."""
    importance = facts.importance
    columns = sorted(facts.columns, key=lambda column: -importance.get(column.name, 0.0))
    largest = max(importance.values(), default=0.0) or 1.0
    return [
        ColumnRow(
            short(column.name),
            short(column.kind),
            short(column.detail),
            if_known(column.missing, share_text) if column.missing else "",
            if_known(importance.get(column.name, 0.0), share_text),
            100 * max(0.0, importance.get(column.name, 0.0)) / largest,
        )
        for column in columns
    ]


def _finite(scores: np.ndarray) -> np.ndarray:
    values = np.asarray(scores, dtype=float).ravel()
    finite: np.ndarray = values[np.isfinite(values)]
    return finite
