"""Events of a review: who judged which row how, and how the row came before them.

An event is never changed. A correction, an undo and a reopening are events of their own, and the
label of a row is its latest one.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NamedTuple

from devnet.core.sentence import UserError
from devnet.core.wording import cut, visible

ANOMALY, NORMAL, UNSURE, REOPENED = "anomaly", "normal", "unsure", "reopened"
VERDICTS = (ANOMALY, NORMAL, UNSURE, REOPENED)
LABELS = (ANOMALY, NORMAL)  # verdicts that a model learns from

HIGHEST, RANDOM, UNLIKE, CHOSEN, IMPORTED = "highest", "random", "unlike", "chosen", "imported"
REASONS = (HIGHEST, RANDOM, UNLIKE, CHOSEN, IMPORTED)  # chosen: searched for, not dealt

LONGEST_ROW = 1000  # characters
LONGEST_NOTE = 2000
LONGEST_WHO = 100
LONGEST_TOKEN = 64
MOST_TOGETHER = 10_000  # rows that one verdict may be about


class StoreError(UserError):
    """A store that cannot be used, or what it does not take; says why and what to do."""


class Judged(NamedTuple):
    """A row under judgement, and where it stood at that time."""

    row: str  # its key
    score: float | None = None
    rank: int | None = None  # 1 is the highest of all rows


class Dealt(NamedTuple):
    """How a card came before somebody."""

    reason: str = CHOSEN
    at: datetime | None = None
    probability: float | None = None  # with which this row was dealt, of all that were open


class GivenLabel(NamedTuple):
    """A verdict from elsewhere, such as a spreadsheet."""

    row: str
    verdict: str
    note: str = ""
    who: str = ""


class Event(NamedTuple):
    """One verdict on one row, as it was recorded."""

    number: int  # rises with time
    row: str
    verdict: str
    note: str
    who: str
    at: datetime  # UTC
    model: int | None  # its number in the store
    score: float | None
    rank: int | None
    reason: str
    dealt_at: datetime | None
    probability: float | None
    together: int  # rows that got the verdict at once; 1 if it was given singly
    token: str  # of the request, shared by rows that got the verdict at once
    undoes: int | None  # the event that this one takes back


class TakenOver(NamedTuple):
    """What became of verdicts from elsewhere."""

    n_added: int
    n_known: int  # the store has the same verdict already
    n_other: int  # the store has another one, which stays unless it is to be replaced


class JudgedMeanwhile(StoreError):
    """A row has a later verdict than whoever judges it knew.

    Attributes
    ----------
    latest : Event
    """

    def __init__(self, latest: Event) -> None:
        self.latest = latest
        super().__init__(
            f"{cut(visible(latest.row))} was judged meanwhile: {latest.verdict}, by {latest.who}. "
            "Your verdict was not recorded; open the row if you see it otherwise."
        )


def standing(events: Iterable[Event]) -> list[Event]:
    """The verdicts that nobody took back, in their order; an undo that was undone counts again."""
    taken_back: set[int] = set()
    kept = []
    for event in sorted(events, key=lambda one: one.number, reverse=True):
        if event.number in taken_back:
            continue
        if event.undoes is None:
            kept.append(event)
        else:
            taken_back.add(event.undoes)
    return kept[::-1]


def check_text(what: str, text: Any, longest: int, *, may_be_empty: bool = False) -> str:
    """A text that the store takes, or an error that says why not."""
    if not isinstance(text, str):
        raise StoreError(f"the {what} is a {type(text).__name__}; give a text.")
    if not text.strip() and not may_be_empty:
        raise StoreError(f"the {what} is empty; give a text of up to {longest:,} characters.")
    if len(text) > longest:
        raise StoreError(
            f"the {what} {cut(text)!r} has {len(text):,} characters; at most {longest:,} are kept, "
            "so shorten it."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise StoreError(f"the {what} {cut(text)!r} is not valid Unicode; correct it.") from None
    return text


def check_choice(what: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few words, or an error that lists them."""
    if value not in choices:
        raise StoreError(f"the {what} {value!r} is unknown; give one of {', '.join(choices)}.")
    return str(value)


def check_judged(rows: Sequence[Judged]) -> list[Judged]:
    """Rows that one verdict may be about: some, each once."""
    rows = [Judged(*one) for one in rows]
    if not 1 <= len(rows) <= MOST_TOGETHER:
        raise StoreError(
            f"a verdict on {len(rows):,} rows; give 1 to {MOST_TOGETHER:,} rows at once."
        )
    check_judged_once([one.row for one in rows])
    for one in rows:
        if one.score is not None and not isfinite(one.score):
            raise StoreError(f"the row {cut(one.row)!r} has the score {one.score}; give a number.")
        if one.rank is not None and one.rank < 1:
            raise StoreError(f"the row {cut(one.row)!r} has the rank {one.rank}; 1 is the first.")
    return rows


def check_judged_once(rows: Iterable[Any]) -> None:
    """Keys of rows that the store takes, each once."""
    seen: set[str] = set()
    for row in rows:
        check_text("row id", row, LONGEST_ROW)
        if row in seen:
            raise StoreError(f"the row {cut(row)!r} is given twice; give each row once.")
        seen.add(row)


def check_dealt(dealt: Dealt) -> Dealt:
    """A known reason, a time with a zone, and a probability."""
    check_choice("reason", dealt.reason, REASONS)
    if dealt.probability is not None and not 0 < dealt.probability <= 1:
        raise StoreError(
            f"a card was dealt with probability {dealt.probability}; give one above 0 and up to 1."
        )
    if dealt.reason == RANDOM and dealt.probability is None:
        raise StoreError("a random card has no probability; estimates need it, so give it.")
    return dealt


def time_text(at: datetime) -> str:
    """An instant as the store keeps it: UTC, of fixed width.

    >>> time_text(datetime(2026, 11, 17, 10, 5, tzinfo=UTC))
    '2026-11-17T10:05:00.000000Z'
    """
    if at.tzinfo is None:
        raise StoreError(f"the time {at} has no zone; give it in UTC, with tzinfo.")
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def read_time(text: str) -> datetime:
    """Invert `time_text`."""
    return datetime.fromisoformat(text)
