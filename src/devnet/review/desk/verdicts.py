"""What somebody says about a card, and why it may not be taken."""

from typing import NamedTuple

from devnet.core.sentence import UserError
from devnet.core.wording import cut, visible
from devnet.review.events import Event, JudgedMeanwhile

NOT_TOGETHER = (
    "not all rows that were folded into this card can be judged with it any more: others judged "
    "them or look at them, or the server was started again. Nothing was recorded; open the queue."
)


class DeskError(UserError):
    """A verdict that cannot be taken, and why."""


class Verdict(NamedTuple):
    """What somebody says about a card."""

    row: int  # its number in the table
    mark: str  # of its key: a row of another table has another one
    verdict: str
    seen: int  # number of the row's latest event when the card was shown; 0 is none
    token: str  # names the request
    note: str = ""
    together: bool = False  # whether it is about the rows folded into the card as well

    def check_seen(self, latest: Event | None) -> None:
        """Refuse a verdict of somebody who did not see the latest one."""
        if number_of(latest) == self.seen:
            return
        if latest is not None:
            raise DeskError(str(JudgedMeanwhile(latest)))
        raise DeskError("the row was reopened meanwhile, so nothing was recorded; judge it again.")

    def check_same(self, recorded: Event) -> None:
        """Refuse another verdict from a card that was judged already."""
        if recorded.verdict != self.verdict:
            raise DeskError(
                f"your verdict on {cut(visible(recorded.row))}, {recorded.verdict}, is recorded "
                f"already, so {self.verdict} was not. Undo it if you see the row otherwise."
            )


def number_of(latest: Event | None) -> int:
    """The number of a row's latest event; 0 is none."""
    return 0 if latest is None else latest.number
