"""Two ways in: with the address that was printed on this machine, or with an account."""

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from getpass import getuser
from math import ceil
from threading import Lock
from typing import ClassVar, final

from devnet.core.sentence import UserError
from devnet.core.wording import count_text
from devnet.review.server.accounts import Accounts
from devnet.review.server.attempts import Attempts
from devnet.review.server.visitors import Role, Visitor

Clock = Callable[[], float]


class NotAdmitted(UserError):
    """Somebody may not come in, and why."""


class Door(ABC):
    """Lets visitors in and knows them by their tickets. Abstract; its subclasses are final."""

    asks_for: ClassVar[str]  # what the sign-in form has: "token" or "password"

    @abstractmethod
    def enter(self, form: Mapping[str, str], address: str) -> tuple[Visitor, str]:
        """Let somebody in; returns who it is, and a ticket. Raises NotAdmitted."""

    @abstractmethod
    def visitor(self, ticket: str) -> Visitor | None:
        """Who has this ticket."""

    @abstractmethod
    def leave(self, ticket: str) -> None:
        """Make a ticket worthless."""


@final
class LocalDoor(Door):
    """Opens once, to whoever brings the token: the person who started the server.

    Attributes
    ----------
    token : str
    """

    asks_for = "token"

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._is_used = False
        self._tickets: dict[str, Visitor] = {}
        self._lock = Lock()

    def enter(self, form: Mapping[str, str], address: str) -> tuple[Visitor, str]:
        """Exchange the token for a ticket."""
        given = form.get("token", "").strip().rpartition("token=")[2]  # the whole address will do
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            raise NotAdmitted("this is not the address that devnet review printed; copy it again.")
        with self._lock:
            if self._is_used:
                raise NotAdmitted(
                    "the address was used already, and opens the page only once. Go on in the "
                    "browser that opened it, or stop devnet review with Ctrl-C and start it again."
                )
            self._is_used = True
            ticket, visitor = secrets.token_urlsafe(32), Visitor(user_name(), Role.LEAD)
            self._tickets[ticket] = visitor
        return visitor, ticket

    def visitor(self, ticket: str) -> Visitor | None:
        """Who has this ticket."""
        return self._tickets.get(ticket)

    def leave(self, ticket: str) -> None:
        """Make a ticket worthless."""
        self._tickets.pop(ticket, None)


@final
class AccountDoor(Door):
    """Opens to accounts with their passwords, tried only so often.

    Parameters
    ----------
    accounts : Accounts
    clock : callable
        Tells when sessions end.
    stopwatch : callable
        Tells how long ago attempts were; it never goes back, as a clock that is set right may.
    """

    asks_for = "password"

    def __init__(
        self, accounts: Accounts, clock: Clock = time.time, stopwatch: Clock = time.monotonic
    ) -> None:
        self._accounts = accounts
        self._attempts = Attempts()
        self._clock, self._stopwatch = clock, stopwatch

    def enter(self, form: Mapping[str, str], address: str) -> tuple[Visitor, str]:
        """Exchange name and password for a ticket."""
        name = form.get("name", "").strip()
        wait = self._attempts.admit(name, address, self._stopwatch())
        if wait:
            minutes = count_text(ceil(wait / 60), "minute", "minutes")
            raise NotAdmitted(f"there were too many attempts to sign in; try again in {minutes}.")
        visitor = self._accounts.with_password(name, form.get("password", ""))
        if visitor is None:
            raise NotAdmitted("there is no account with this name and password; try again.")
        self._attempts.succeeded(name, address)
        return visitor, self._accounts.sign_in(visitor, self._clock())

    def visitor(self, ticket: str) -> Visitor | None:
        """Who has this ticket."""
        return self._accounts.signed_in(ticket, self._clock())

    def leave(self, ticket: str) -> None:
        """Make a ticket worthless."""
        self._accounts.sign_out(ticket)


def user_name() -> str:
    """The name of whoever runs the server."""
    try:
        return getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return "me"
