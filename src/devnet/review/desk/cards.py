"""What a card shows: a row beside typical values and beside the labelled anomaly most like it."""

from datetime import datetime, time
from math import isfinite
from typing import Any, NamedTuple

from devnet.core.wording import contribution_text, count_text, number_text, one_in_text, score_text
from devnet.report.page import short
from devnet.report.spread_chart import spread_chart
from devnet.review.desk.desk import Desk
from devnet.review.desk.leases import Lease
from devnet.review.events import ANOMALY, CHOSEN, HIGHEST, NORMAL, RANDOM, UNLIKE, Event
from devnet.tables.explainer import Explanation

MOST_COLUMNS = 200  # of a card
MOST_LIKE = 20  # rows folded into a card that are named
MOST_WRITTEN = 1e15  # larger numbers are rounded
WHY = {
    HIGHEST: "one of the highest rows that nobody has judged",
    RANDOM: "drawn at random, to estimate how many anomalies are missed",
    UNLIKE: "unlike the other rows, whatever its score",
    CHOSEN: "you searched for it",
}
OWN = {ANOMALY: "an anomaly", NORMAL: "normal"}  # labels of the table itself


class Value(NamedTuple):
    """A value of a row as a person would write it."""

    text: str
    full: str = ""  # as the table has it, if that is something else


class ReasonLine(NamedTuple):
    """What one column adds to the score."""

    column: str
    text: str
    added: str
    width: float  # of its bar, in percent of the largest
    picture: str  # of the column's values, as SVG; may be empty


class ColumnLine(NamedTuple):
    """One column of the row."""

    name: str
    value: Value
    typical: str
    nearest: Value  # that of the labelled anomaly that is most like the row
    is_reason: bool


class ShownCard(NamedTuple):
    """A card as the page shows it."""

    row: int
    mark: str
    seen: int
    id: str
    score: str
    rank: str
    rarity: str
    why: str
    reasons: list[ReasonLine]
    columns: list[ColumnLine]
    n_more_columns: int
    nearest: str
    has_nearest: bool  # whether the table has the row that is most like it
    like_it: list[str]
    n_like_it: int
    own_label: str  # what the table itself calls the row, in words; empty if nothing
    events: list[Event]  # of the row, the latest first
    has_entity: bool


class QueueLine(NamedTuple):
    """A card in the list of those that come next."""

    row: int
    id: str
    score: str
    reason: str
    n_like_it: int
    kind: str  # why it was dealt


def show_card(desk: Desk, lease: Lease) -> ShownCard:
    """A card with everything on it."""
    leader = lease.leader
    (found,) = desk.shelf.explained([leader.row])
    (key,) = desk.keys.of([leader.row])
    latest = desk.latest_of(key)
    nearest = _nearest_values(desk, found)
    columns = _column_lines(desk, found, nearest)
    return ShownCard(
        row=leader.row,
        mark=desk.names.mark(leader.row),
        seen=latest.number if latest else 0,
        id=short(found.id),
        score=score_text(leader.score),
        rank=f"{leader.rank:,} of {desk.keys.n_rows:,}",
        rarity=one_in_text(found.p_value),
        why=WHY[lease.dealt.reason],
        reasons=_reason_lines(found),
        columns=columns[:MOST_COLUMNS],
        n_more_columns=max(0, len(columns) - MOST_COLUMNS),
        nearest="" if found.nearest is None else short(found.nearest),
        has_nearest=bool(nearest),
        like_it=[*map(short, desk.keys.of([one.row for one in lease.like_it[:MOST_LIKE]]))],
        n_like_it=len(lease.like_it),
        own_label=OWN.get(desk.own_label(leader.row) or "", ""),
        events=desk.store.history(key)[::-1] if latest else [],
        has_entity=desk.entities is not None,
    )


def queue_lines(desk: Desk, hand: list[Lease]) -> list[QueueLine]:
    """The cards that somebody has, in a line each."""
    explained = desk.shelf.explained([lease.leader.row for lease in hand])
    return [
        QueueLine(
            lease.leader.row,
            short(one.id),
            score_text(lease.leader.score),
            one.reasons[0].text if one.reasons else "",
            len(lease.like_it),
            "" if lease.dealt.reason == HIGHEST else lease.dealt.reason,
        )
        for lease, one in zip(hand, explained, strict=True)
    ]


def _reason_lines(found: Explanation) -> list[ReasonLine]:
    largest = max((abs(one.contribution) for one in found.reasons), default=0.0) or 1.0
    lines = []
    for one in found.reasons:
        added = contribution_text(one.contribution)
        picture = "" if one.place is None else spread_chart(short(one.column), one.place)
        words = short(one.text.removesuffix(f": {added}"))  # shown separately
        width = 100 * abs(one.contribution) / largest
        lines.append(ReasonLine(short(one.column), words, added, width, picture))
    return lines


def _nearest_values(desk: Desk, found: Explanation) -> dict[str, Any]:
    """The values of the labelled anomaly that is most like a row, if the table has it."""
    if found.nearest is None or desk.keys.table.id_column is None:
        return {}
    number = int(desk.keys.find([found.nearest])[0])
    return {} if number < 0 else desk.shelf.values([number])[0]


def _column_lines(desk: Desk, found: Explanation, nearest: dict[str, Any]) -> list[ColumnLine]:
    """The columns, those that raise the score first."""
    typical = {fact.name: fact.detail for fact in desk.ranked.opened.model.encoder_.describe()}
    values = found.values or {}
    added = found.contributions
    names = [name for name in values if name != desk.keys.table.label]
    order = sorted(names, key=lambda name: -added.get(name, 0.0))  # others in table order
    reasons = {one.column for one in found.reasons}
    return [
        ColumnLine(
            short(name),
            _value(values[name]),
            short(typical.get(name, "")),
            _value(nearest.get(name)) if nearest else Value(""),
            name in reasons,
        )
        for name in order
    ]


def _value(value: Any) -> Value:
    if value is None:
        return Value("missing")
    text, full = short(_written(value)), short(value)
    return Value(text, "" if text == full else full)


def _written(value: Any) -> Any:
    """A number without digits that say nothing, and a day without its midnight."""
    if isinstance(value, float) and isfinite(value):
        if value == round(value, 2) and abs(value) < MOST_WRITTEN:
            return f"{value:.0f}" if value == int(value) else f"{value:,}"
        return number_text(value)
    if isinstance(value, datetime) and value.timetz() == time():
        return value.date()
    return value


class HistoryLine(NamedTuple):
    """A row of the same entity."""

    row: int
    id: str
    is_this: bool
    score: str
    verdict: str
    values: list[Value]


class History(NamedTuple):
    """What an entity did before and after."""

    entity: str  # the column and its value
    n_rows: str
    n_shown: int | None  # if not all rows are shown
    columns: list[str]
    lines: list[HistoryLine]


def show_history(desk: Desk, row: int) -> History | None:
    """Rows of the same entity, in the order of the table."""
    if desk.entities is None:
        return None
    desk.names.refuse_unknown(row)
    numbers, n_rows = desk.entities.around(row)
    (found,) = desk.shelf.explained([row])
    columns = [one.column for one in found.reasons if one.column != desk.entities.column]
    rows, ids = desk.shelf.values(numbers), desk.keys.of(numbers)
    scores, own = desk.ranked.scores, rows[numbers.index(row)]
    lines = [
        HistoryLine(
            number,
            short(key),
            number == row,
            score_text(float(scores[number])),
            _verdict(desk, number, key),
            [_value(values.get(column)) for column in columns],
        )
        for number, key, values in zip(numbers, ids, rows, strict=True)
    ]
    entity = f"{desk.entities.column} {own.get(desk.entities.column)}"
    n_shown = None if len(lines) == n_rows else len(lines)
    return History(
        short(entity), count_text(n_rows, "row", "rows"), n_shown, [*map(short, columns)], lines
    )


def _verdict(desk: Desk, row: int, key: str) -> str:
    latest = desk.latest_of(key)
    if latest is not None:
        return latest.verdict
    own = desk.own_label(row)
    return "" if own is None else f"{own}, in the table"
