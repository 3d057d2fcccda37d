"""What to show next: the highest rows, some random ones, and some unlike the others.

Random rows tell without bias how many anomalies are missed, so a random card is one row that was
drawn uniformly from all rows that were open, and is never folded. What is dealt depends on scores,
seed and what was dealt and judged before, and on nothing else.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from devnet.core.seeds import as_generator
from devnet.core.sentence import UserError
from devnet.review.events import HIGHEST, RANDOM, REOPENED, UNLIKE, Event

FOLDED_AT_ONCE = 1000  # rows, in the order of their scores; near-duplicates are looked for in them
LOOKED_AT = 4096  # rows at once, in search of an open one
EVEN_STEP = (5**0.5 - 1) / 2  # the golden ratio: multiples of it are spread evenly

Fold = Callable[[np.ndarray], list[list[int]]]
"""Groups of positions among rows that are given by number, the highest first."""


class Shares(NamedTuple):
    """Shares of cards that are not the highest; they are spread evenly over the cards."""

    random: float = 0.05
    unlike: float = 0.05


class Card(NamedTuple):
    """A row to judge, by number, perhaps with others that are nearly the same."""

    row: int
    like_it: tuple[int, ...]
    reason: str  # highest, random or unlike
    probability: float  # with which this row was dealt, of all that were open
    score: float
    rank: int  # 1 is the highest of all rows

    @property
    def rows(self) -> tuple[int, ...]:
        """The row and those like it."""
        return (self.row, *self.like_it)


class Queue:
    """The cards of a table, by the scores of one model. Callers with threads need a lock.

    A row is open until it is settled. A dealt card's rows are held: no other card has them until
    they are settled or put back.

    Parameters
    ----------
    scores : array of shape (n_rows,)
    seed : int, default=0
        Of the random cards, and of their places among the others.
    shares : Shares
    fold : callable, optional
        Groups near-duplicates, see `devnet.tables.folding`. It is asked about the next rows when
        they are about to be dealt. By default, nothing is folded.
    unlike : array of shape (n_rows,), optional
        How unlike the others rows are. By default, no card is dealt for that reason.
    reviewed : iterable of int
        Rows that are settled already, see `reviewed_rows`.
    n_dealt : int, default=0
        Cards dealt before.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.review.queue import Queue
    >>> queue = Queue(np.array([0.1, 7.5, 6.0]), reviewed=[1])
    >>> queue.deal()
    Card(row=2, like_it=(), reason='highest', probability=1.0, score=6.0, rank=2)
    """

    def __init__(
        self,
        scores: np.ndarray,
        *,
        seed: int = 0,
        shares: Shares = Shares(),  # noqa: B008 - immutable
        fold: Fold | None = None,
        unlike: np.ndarray | None = None,
        reviewed: Iterable[int] = (),
        n_dealt: int = 0,
    ) -> None:
        check_shares(shares)
        self.shares, self.n_dealt = shares, n_dealt
        self._scores, self._fold = scores, fold
        generator = as_generator(seed)
        self._phase = float(generator.random())
        by_score = _descending(scores)
        self._rank = np.empty_like(by_score)
        self._rank[by_score] = np.arange(1, len(scores) + 1)
        self._lines = {HIGHEST: _Line(by_score), RANDOM: _Line(_permuted(len(scores), generator))}
        if unlike is not None:
            self._lines[UNLIKE] = _Line(_descending(unlike))
        self._groups: dict[int, dict[int, list[int]]] = {}  # block -> row -> rows of its group
        self._is_settled = np.zeros(len(scores), bool)
        self._is_held = np.zeros(len(scores), bool)
        self._is_free, self._n_free = np.ones(len(scores), bool), len(scores)
        self.settle(reviewed)

    @property
    def n_open(self) -> int:
        """Rows that are not settled, held ones included."""
        return len(self._is_settled) - int(self._is_settled.sum())

    def deal(self) -> Card | None:
        """The next card, whose rows are held from now on; None if no row is left."""
        reason = self._next_reason()
        row = self._lines[reason].first(self._is_free)
        if row is None:
            return None
        card = Card(
            row,
            self._like(row) if reason == HIGHEST else (),
            reason,
            1 / self._n_free if reason == RANDOM else 1.0,
            float(self._scores[row]),
            int(self._rank[row]),
        )
        self.n_dealt += 1
        self.hold(card.rows)
        return card

    def upcoming(self, n_cards: int) -> list[Card]:
        """The next cards, without dealing them."""
        n_dealt = self.n_dealt
        cards: list[Card] = []
        while len(cards) < n_cards and (card := self.deal()) is not None:
            cards.append(card)
        for card in cards:
            self.put_back(card.rows)
        self.n_dealt = n_dealt
        return cards

    def blocks_ahead(self) -> list[np.ndarray]:
        """The rows that `fold` will be asked about: those of the highest open row, and the next."""
        row = self._lines[HIGHEST].first(self._is_free)
        if row is None:
            return []
        first = self._block(row)
        blocks = [self._rows_of(block) for block in (first, first + 1)]
        return [rows for rows in blocks if len(rows)]

    def is_open(self, row: int) -> bool:
        """Whether a row is not settled."""
        return not self._is_settled[row]

    def hold(self, rows: Iterable[int]) -> None:
        """Keep rows from being dealt, such as one that somebody searched for and looks at."""
        self._mark(rows, is_held=True)

    def put_back(self, rows: Iterable[int]) -> None:
        """Give rows back that were held and not judged."""
        self._mark(rows, is_held=False)

    def settle(self, rows: Iterable[int]) -> None:
        """Take rows out that were judged."""
        self._mark(rows, is_held=False, is_settled=True)

    def reopen(self, rows: Iterable[int]) -> None:
        """Bring rows back whose verdict was taken back."""
        self._mark(rows, is_settled=False)

    def _mark(
        self, rows: Iterable[int], *, is_held: bool | None = None, is_settled: bool | None = None
    ) -> None:
        """Change what is known about rows, and which of them are free."""
        changed = np.unique(np.fromiter(rows, dtype=np.int64))
        if is_held is not None:
            self._is_held[changed] = is_held
        if is_settled is not None:
            self._is_settled[changed] = is_settled
        free = ~(self._is_settled[changed] | self._is_held[changed])
        self._n_free += int(free.sum()) - int(self._is_free[changed].sum())
        if (free & ~self._is_free[changed]).any():
            for line in self._lines.values():
                line.start_over()
        self._is_free[changed] = free

    def _next_reason(self) -> str:
        """Why the next card is dealt: evenly spread, each reason as often as its share says."""
        place = (self._phase + self.n_dealt * EVEN_STEP) % 1
        if place < self.shares.random:
            return RANDOM
        return UNLIKE if UNLIKE in self._lines and place >= 1 - self.shares.unlike else HIGHEST

    def _like(self, row: int) -> tuple[int, ...]:
        """The free rows that are nearly the same, the highest first."""
        if self._fold is None:
            return ()
        block = self._block(row)
        if block not in self._groups:
            rows = self._rows_of(block)
            groups = [rows[positions].tolist() for positions in self._fold(rows)]
            self._groups[block] = {one: group for group in groups for one in group}
        group = self._groups[block].get(row, [row])
        return tuple(one for one in group if one != row and self._is_free[one])

    def _block(self, row: int) -> int:
        """Which of the blocks that are folded at once a row is in."""
        return (int(self._rank[row]) - 1) // FOLDED_AT_ONCE

    def _rows_of(self, block: int) -> np.ndarray:
        start = block * FOLDED_AT_ONCE
        return self._lines[HIGHEST].rows[start : start + FOLDED_AT_ONCE]


class _Line:
    """Rows in an order, and how far it was found to have none that is free."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self._start = rows, 0

    def start_over(self) -> None:
        self._start = 0

    def first(self, is_free: np.ndarray) -> int | None:
        """The first free row."""
        while self._start < len(self.rows):
            rows = self.rows[self._start : self._start + LOOKED_AT]
            free = is_free[rows]
            if free.any():
                self._start += int(free.argmax())
                return int(self.rows[self._start])
            self._start += len(rows)
        return None


def reviewed_rows(latest: Mapping[str, Event]) -> list[str]:
    """Keys of rows that need no review: all that have a verdict and were not reopened."""
    return [row for row, event in latest.items() if event.verdict != REOPENED]


def check_shares(shares: Shares) -> None:
    """Refuse shares that cannot be."""
    if min(shares) < 0 or sum(shares) > 1:
        raise UserError(
            f"the shares of random rows, {shares.random:g}, and of rows unlike the others, "
            f"{shares.unlike:g}, must be at least 0, and together at most 1."
        )


def _descending(values: np.ndarray) -> np.ndarray:
    """Positions by value, the largest first; equal ones as they come."""
    return np.argsort(-values, kind="stable").astype(np.int32)


def _permuted(n_rows: int, generator: np.random.Generator) -> np.ndarray:
    return generator.permutation(np.arange(n_rows, dtype=np.int32))
