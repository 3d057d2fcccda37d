"""Leases: who looks at which card, for some minutes. They live in the memory of one server."""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from devnet.review.desk.ranked_table import Standing
from devnet.review.events import Dealt

LEASE_SECONDS = 5 * 60.0
MOST_PAST = 1000  # cards that were taken back and are remembered, the latest


@dataclass
class Lease:
    """A card that somebody looks at."""

    holder: str
    leader: Standing
    like_it: tuple[Standing, ...]  # rows folded into the card
    dealt: Dealt
    model: int  # number of the model that ranked it
    ends: float = 0.0
    looked_at: float = 0.0  # when it was the card shown, by the desk's clock
    writing: str = ""  # token of the verdict that is being recorded

    @property
    def rows(self) -> list[int]:
        """The numbers of its rows, that of the card first."""
        return [self.leader.row, *(one.row for one in self.like_it)]


class Leases:
    """All cards that are being looked at; no row is in two of them.

    Not safe for threads: the desk has one lock for everything.
    """

    def __init__(self) -> None:
        self._by_row: dict[int, Lease] = {}
        self._hands: dict[str, list[Lease]] = {}
        self._past: OrderedDict[tuple[str, int], Lease] = OrderedDict()

    def give(self, lease: Lease, now: float, *, first: bool = False) -> None:
        """Lease a card that nobody has; `first` puts it before the others of its holder."""
        lease.ends = now + LEASE_SECONDS
        self._past.pop((lease.holder, lease.leader.row), None)
        self._by_row.update(dict.fromkeys(lease.rows, lease))
        hand = self._hands.setdefault(lease.holder, [])
        hand.insert(0 if first else len(hand), lease)

    def hand(self, holder: str) -> list[Lease]:
        """The cards of somebody, in order."""
        return list(self._hands.get(holder, ()))

    def hands(self) -> list[list[Lease]]:
        """The cards of everybody who has some."""
        return [list(hand) for hand in self._hands.values() if hand]

    def of_row(self, row: int) -> Lease | None:
        """The lease that a row is in."""
        return self._by_row.get(row)

    def renew(self, holder: str, now: float) -> None:
        """Extend everything that somebody holds."""
        for lease in self._hands.get(holder, ()):
            lease.ends = now + LEASE_SECONDS

    def end(self, lease: Lease) -> None:
        """A card is done."""
        for row in lease.rows:
            if self._by_row.get(row) is lease:
                del self._by_row[row]
        hand = self._hands.get(lease.holder, [])
        hand[:] = [one for one in hand if one is not lease]
        self._past.pop((lease.holder, lease.leader.row), None)

    def take_back(self, lease: Lease) -> None:
        """Take a card from somebody who may still judge it: see `past`."""
        self.end(lease)
        self._past[lease.holder, lease.leader.row] = lease
        while len(self._past) > MOST_PAST:
            self._past.popitem(last=False)

    def past(self, holder: str, row: int) -> Lease | None:
        """The card of a row that was taken back from somebody, as they saw it."""
        return self._past.get((holder, row))

    def run_out(self, now: float) -> list[Lease]:
        """Take back the cards whose time is over, but for those that are being judged."""
        over = [lease for lease in self if lease.ends <= now and not lease.writing]
        for lease in over:
            self.take_back(lease)
        return over

    def __iter__(self) -> Iterator[Lease]:
        return iter([lease for hand in self._hands.values() for lease in hand])
