"""The board: how the work goes, and whether models get better."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from devnet.core.wording import duration_text, interval_text, share_text
from devnet.review.estimates import (
    Precision,
    by_day,
    precision_by_model,
    remaining_anomalies,
    reviewed,
    seconds_per_card,
)
from devnet.review.events import RANDOM, Event
from devnet.review.store import ModelRecord

MOST_DAYS = 60  # the latest


class DayBar(NamedTuple):
    """A day's work, with bars in percent of the busiest day."""

    day: str
    n_reviewed: int
    n_confirmed: int
    reviewed: float
    confirmed: float


class ModelLine(NamedTuple):
    """What a model's alerts turned out to be."""

    model: int
    n_judged: int
    n_confirmed: int
    n_unsure: int
    precision: str  # with its interval


class Board(NamedTuple):
    """Everything on the board."""

    n_reviewed: int
    n_confirmed: int
    remaining: str
    remaining_from: str  # what the estimate rests on
    seconds: str
    days: list[DayBar]
    models: list[ModelLine]
    people: list[tuple[str, int]]


def make_board(
    events: Sequence[Event],
    models: Sequence[ModelRecord],
    n_open: int,
    gone: Collection[str] = (),
) -> Board:
    """What verdicts tell about the work and about models.

    Parameters
    ----------
    events : sequence of Event
        All of a store.
    models : sequence of ModelRecord
    n_open : int
        Rows that nobody judged.
    gone : collection of str
        Rows that were judged and that the table does not have any more.
    """
    days = by_day(events)
    busiest = max((day.n_reviewed for day in days), default=1)
    seconds = seconds_per_card(events)
    remaining, remaining_from = _remaining_text(events, n_open, gone)
    found = {one.model: one for one in precision_by_model(events)}
    lines = [_model_line(model.number, found.get(model.number)) for model in models]
    return Board(
        n_reviewed=sum(day.n_reviewed for day in days),
        n_confirmed=sum(day.n_confirmed for day in days),
        remaining=remaining,
        remaining_from=remaining_from,
        seconds="" if seconds is None else duration_text(seconds),
        days=[
            DayBar(
                f"{day.day:%a %d %b %Y}",
                day.n_reviewed,
                day.n_confirmed,
                100 * day.n_reviewed / busiest,
                100 * day.n_confirmed / busiest,
            )
            for day in days[-MOST_DAYS:]
        ],
        models=lines[::-1],
        people=sorted(Counter(event.who for event in reviewed(events)).items()),
    )


def _remaining_text(events: Sequence[Event], n_open: int, gone: Collection[str]) -> tuple[str, str]:
    found = remaining_anomalies(events, n_open, gone)
    if found is None:
        had_some = any(event.reason == RANDOM for event in events)
        since = "since the rows of the table changed" if had_some else "yet"
        return "not known yet", f"none was judged {since}"
    text = interval_text(found.estimate, found.low, found.high, ",.0f")
    unsure = f", {found.n_unsure:,} unsure, which may be either" if found.n_unsure else ""
    return text, f"{found.n_random:,} judged singly, {found.n_found:,} of them anomalies{unsure}"


def _model_line(number: int, found: Precision | None) -> ModelLine:
    if found is None or not found.n_judged:
        return ModelLine(number, 0, 0, 0 if found is None else found.n_unsure, "")
    low, high = share_text(found.low), share_text(found.high)
    text = f"{share_text(found.share)} ({low} to {high})"
    return ModelLine(number, found.n_judged, found.n_confirmed, found.n_unsure, text)
