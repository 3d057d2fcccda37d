"""Limits on sign-in: how often an account and an address may try."""

import ipaddress
from collections import OrderedDict, deque
from threading import Lock

WINDOW = 15 * 60.0  # seconds in which attempts are counted
BY_ACCOUNT, BY_ADDRESS = 5, 20  # attempts in that time
MOST_KEPT = 10_000  # accounts and addresses that are remembered, the latest ones


class Attempts:
    """Counts attempts to sign in, in memory.

    An attempt counts before its password is looked at, so that many at once are not more than
    one after the other. A success clears its account, and takes back its own attempt from the
    address: somebody with an account must not be able to try others without end. What is refused
    leaves no trace: nobody can push others out of memory with names that cost nothing to refuse.
    """

    def __init__(self) -> None:
        self._times: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        self._lock = Lock()

    def admit(self, account: str, address: str, now: float) -> float:
        """Count an attempt; return the seconds to wait if it is one too many, else 0."""
        with self._lock:
            limits = _limits(account, address)
            both = [(self._recent(key, now), most) for key, most in limits]
            waits = [times[-most] + WINDOW - now for times, most in both if len(times) >= most]
            if not waits:
                for (key, _), (times, _) in zip(limits, both, strict=True):
                    times.append(now)
                    self._keep(key, times)
            return max(waits, default=0.0)

    def succeeded(self, account: str, address: str) -> None:
        """Take back what a successful attempt counted."""
        with self._lock:
            (by_account, _), (by_address, _) = _limits(account, address)
            self._times.pop(by_account, None)
            if times := self._times.get(by_address):
                times.pop()

    def _recent(self, key: tuple[str, str], now: float) -> deque[float]:
        """Times of the attempts that still count."""
        times = self._times.get(key, deque[float]())
        while times and times[0] <= now - WINDOW:
            times.popleft()
        return times

    def _keep(self, key: tuple[str, str], times: deque[float]) -> None:
        """Remember the attempts of an account or an address as the latest."""
        self._times[key] = times
        self._times.move_to_end(key)
        while len(self._times) > MOST_KEPT:
            self._times.popitem(last=False)


def _limits(account: str, address: str) -> list[tuple[tuple[str, str], int]]:
    return [
        (("account", account.casefold()), BY_ACCOUNT),
        (("address", _network(address)), BY_ADDRESS),
    ]


def _network(address: str) -> str:
    """An IPv4 address, or the 64 bits of an IPv6 address that one household has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(getattr(found, "ipv4_mapped", None) or found)
