"""What each analyst said last, with the cards, so that it can be taken back."""

from collections import defaultdict, deque
from contextlib import suppress
from typing import NamedTuple

from devnet.review.desk.leases import Lease

MOST_UNDONE = 100  # verdicts of one analyst that can be taken back, the latest


class Said(NamedTuple):
    """A verdict, by the token of its request, and the card that it was given on."""

    token: str
    lease: Lease


class Sayings:
    """The latest verdicts of everybody since the page was started.

    Not safe for threads: the desk has one lock for everything.
    """

    def __init__(self) -> None:
        self._by_name: defaultdict[str, deque[Said]] = defaultdict(
            lambda: deque(maxlen=MOST_UNDONE)
        )

    def add(self, who: str, said: Said) -> None:
        """Remember a verdict."""
        self._by_name[who].append(said)

    def has(self, who: str, token: str) -> bool:
        """Whether a request is remembered."""
        return any(one.token == token for one in self._by_name[who])

    def latest(self, who: str) -> Said | None:
        """The latest verdict of somebody that was not taken back."""
        said = self._by_name[who]
        return said[-1] if said else None

    def forget(self, who: str, said: Said) -> None:
        """A verdict was taken back, or cannot be any more."""
        with suppress(ValueError):  # two pages of one person may take back the same
            self._by_name[who].remove(said)
