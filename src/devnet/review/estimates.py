"""What verdicts tell: precision of alerts, anomalies that remain, and how the work goes.

How many anomalies remain among the rows that nobody reviewed is estimated from random cards that
were judged singly, and from nothing else. The k-th of them was drawn uniformly from M_k open rows,
of which A_k were anomalies. Those that were found since, F_k, are known, so A_k - F_k remain, and
the mean of M_k X_k - F_k over all draws, X_k being 1 for an anomaly, is an unbiased estimate: it
does not matter that other rows were chosen by models that learned from these verdicts. A card that
somebody was unsure about may be either: it counts as half an anomaly, as none at the lower end of
the interval and as one at its upper end.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy import stats

from devnet.review.events import (
    ANOMALY,
    HIGHEST,
    IMPORTED,
    LABELS,
    NORMAL,
    RANDOM,
    UNSURE,
    Event,
    standing,
)

CONFIDENCE = 0.95
LONGEST_SECONDS = 3600.0  # of a review; a card that lay open longer was not looked at
COUNTS = {ANOMALY: 1.0, UNSURE: 0.5, NORMAL: 0.0}  # as anomalies
SAME_SIZE = 0.9  # of the rows that are open now; a table that had fewer has grown since


class Precision(NamedTuple):
    """The share of a model's alerts that were confirmed, with an exact interval."""

    model: int | None
    n_confirmed: int
    n_judged: int  # cards, a folded one counted once
    n_unsure: int  # cards that are not among these
    low: float
    high: float

    @property
    def share(self) -> float:
        """Confirmed cards of those judged."""
        return self.n_confirmed / self.n_judged if self.n_judged else float("nan")


class Remaining(NamedTuple):
    """Anomalies that are estimated to remain among open rows."""

    estimate: float  # unbiased, but for being cut to the interval and for unsure cards
    low: float
    high: float
    n_random: int  # random cards that tell it
    n_found: int  # anomalies among them
    n_unsure: int  # of them, that may be either


class Day(NamedTuple):
    """The work of a day."""

    day: date
    n_reviewed: int  # rows whose verdict is of this day
    n_confirmed: int  # anomalies among them


class _Draw(NamedTuple):
    """A random card."""

    at: datetime  # when it was dealt
    n_open: int  # rows that it was drawn from
    counts: float  # as so many anomalies: 1, 0, or in between


def precision_by_model(events: Iterable[Event]) -> list[Precision]:
    """How often each model's alerts were anomalies, in the order of the models.

    Its alerts are the highest cards that it dealt, and random cards that rank among them: those
    would have come as one of the highest. A card counts with the latest verdict on its first row.
    """
    stood = standing(events)
    verdict = {event.row: event.verdict for event in stood}
    counts: dict[int | None, Counter[str]] = {}
    for card in _alerts(stood):
        counts.setdefault(card.model, Counter())[verdict[card.row]] += 1
    models = sorted(counts, key=lambda model: model or 0)
    return [_precision(model, counts[model]) for model in models]


def _alerts(stood: Sequence[Event]) -> list[Event]:
    """The first event of each highest card, and of each random card that ranks among them."""
    first = {event.token: event for event in reversed(stood) if event.reason in (HIGHEST, RANDOM)}
    lowest: dict[int | None, int] = {}  # rank of the highest cards of a model
    for card in first.values():
        if card.reason == HIGHEST:
            lowest[card.model] = max(card.rank or 0, lowest.get(card.model, 0))
    return [
        card
        for card in sorted(first.values(), key=lambda one: one.number)
        if card.reason == HIGHEST or 1 <= (card.rank or 0) <= lowest.get(card.model, 0)
    ]


def _precision(model: int | None, found: Counter[str]) -> Precision:
    n_judged = sum(found[label] for label in LABELS)
    ends = share_interval(found[ANOMALY], n_judged)
    return Precision(model, found[ANOMALY], n_judged, found[UNSURE], *ends)


def share_interval(n_found: int, n: int) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson, 1934).

    >>> [round(end, 3) for end in share_interval(8, 10)]
    [0.444, 0.975]
    """
    tail = (1 - CONFIDENCE) / 2
    low = float(stats.beta.ppf(tail, n_found, n - n_found + 1)) if n_found else 0.0
    high = float(stats.beta.ppf(1 - tail, n_found + 1, n - n_found)) if n_found < n else 1.0
    return low, high


def remaining_anomalies(
    events: Iterable[Event], n_open: int, gone: Collection[str] = ()
) -> Remaining | None:
    """How many anomalies remain among `n_open` rows that nobody reviewed; None if nothing tells.

    The interval holds the numbers that do not contradict what the random cards found. They are
    exact (hypergeometric) where only random cards were reviewed. Cards that were drawn when the
    table had other rows do not count: those before one on a row that is `gone`, and those from
    fewer rows than are open now.
    """
    stood = standing(events)
    changed = max((_dealt(one) for one in stood if one.row in gone and _is_own(one)), default=None)
    draws = [
        draw
        for draw in sorted(_random_draws(stood))
        if draw.n_open >= SAME_SIZE * n_open and (changed is None or draw.at > changed)
    ]
    if not draws:
        return None
    others = np.sort([at.timestamp() for at in _other_finds(stood)])
    since = len(others) - np.searchsorted(others, [one.at.timestamp() for one in draws], "right")
    counts = np.array([one.counts for one in draws])
    sizes = np.array([one.n_open for one in draws], dtype=float)
    n_found, n_possible = int((counts == 1).sum()), int((counts > 0).sum())
    tail = (1 - CONFIDENCE) / 2
    low = _interval(n_found, sizes, since, n_open, tail)[0]
    high = _interval(n_possible, sizes, since, n_open, tail)[1]
    estimate = np.clip(unbiased_estimate(counts, sizes, since), low, high)
    return Remaining(float(estimate), low, high, len(draws), n_found, n_possible - n_found)


def unbiased_estimate(counts: np.ndarray, sizes: np.ndarray, since: np.ndarray) -> float:
    """The mean of M_k X_k - F_k, given X_k, M_k and what others found since; may be negative."""
    found_since = since + counts[::-1].cumsum()[::-1]
    return float(np.mean(sizes * counts - found_since))


def _random_draws(stood: Sequence[Event]) -> Iterable[_Draw]:
    """Random cards that were judged singly, with the latest single verdict on their row."""
    single = {event.row: event.verdict for event in stood if event.together == 1}
    drawn = {event.row: event for event in reversed(stood) if _is_random(event)}
    for row, event in drawn.items():
        if single[row] in COUNTS and event.probability is not None:
            yield _Draw(_dealt(event), round(1 / event.probability), COUNTS[single[row]])


def _other_finds(stood: Sequence[Event]) -> Iterable[datetime]:
    """When rows that are anomalies were first dealt, but for those of random cards."""
    verdict = {event.row: event.verdict for event in stood}
    drawn = {event.row for event in stood if _is_random(event)}
    first = {event.row: event for event in reversed(stood)}
    return [
        _dealt(event)
        for row, event in first.items()
        if verdict[row] == ANOMALY and row not in drawn
    ]


def _is_random(event: Event) -> bool:
    return event.reason == RANDOM and event.together == 1


def _is_own(event: Event) -> bool:
    """Whether somebody judged the row here, in this table."""
    return event.reason != IMPORTED


def _dealt(event: Event) -> datetime:
    return event.dealt_at or event.at


def _interval(
    n_found: int, sizes: np.ndarray, since: np.ndarray, n_open: int, tail: float
) -> tuple[float, float]:
    """The smallest and the largest number of anomalies that may remain, by inverting a test."""

    def is_too_few(n_left: int) -> bool:  # so many found would be too lucky
        return bool(1 - _chances(n_left + n_found, n_found, sizes, since)[:-1].sum() <= tail)

    def is_plausible(n_left: int) -> bool:  # so few found would not be too unlucky
        return bool(_chances(n_left + n_found, n_found, sizes, since).sum() > tail)

    low = _first(lambda n_left: not is_too_few(n_left), n_open)
    high = _first(lambda n_left: not is_plausible(n_left), n_open + 1) - 1
    return float(low), float(max(low, high))


def _chances(n_all: int, n_found: int, sizes: np.ndarray, since: np.ndarray) -> np.ndarray:
    """Chances that the draws find 0 to `n_found` anomalies, if they and the rest are `n_all`.

    Before draw k, j of them are found, and those that others found since are still among the rows.
    """
    chances = np.zeros(n_found + 1)
    chances[0] = 1.0
    left = n_all - np.arange(n_found + 1)
    for size, n_others in zip(sizes, since, strict=True):
        hit = chances * np.clip((left + n_others) / size, 0, 1)
        chances = chances - hit
        chances[1:] += hit[:-1]
    return chances


def _first(is_true: Callable[[int], bool], end: int) -> int:
    """The first number below `end` from which a rising condition is true, or `end`."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_true(middle) else (middle + 1, high)
    return low


def reviewed(events: Iterable[Event]) -> list[Event]:
    """The verdicts that people gave here and that count now, one of each row."""
    latest = {event.row: event for event in standing(events)}
    return [event for event in latest.values() if event.verdict in COUNTS and _is_own(event)]


def by_day(events: Iterable[Event]) -> list[Day]:
    """Rows `reviewed` and confirmed on each day (UTC) that has any; a row counts once."""
    n_reviewed, n_confirmed = Counter[date](), Counter[date]()
    for event in reviewed(events):
        day = event.at.astimezone(UTC).date()
        n_reviewed[day] += 1
        n_confirmed[day] += event.verdict == ANOMALY
    return [Day(day, n, n_confirmed[day]) for day, n in sorted(n_reviewed.items())]


def seconds_per_card(events: Iterable[Event]) -> float | None:
    """Median time that somebody looked at a card: since it was dealt, or since their last verdict.

    Cards are dealt some at a time, so the later of both is when they turned to it. None if no
    card was judged.
    """
    judged = [event for event in standing(events) if event.verdict in COUNTS]
    last: dict[str, datetime] = {}
    spent = []
    for event in {one.token: one for one in judged}.values():
        if event.dealt_at is not None:
            start = max(event.dealt_at, last.get(event.who, event.dealt_at))
            spent.append((event.at - start).total_seconds())
        last[event.who] = event.at
    looked_at = [one for one in spent if 0 <= one <= LONGEST_SECONDS]
    return median(looked_at) if looked_at else None
