"""One job per output folder: a lock of the operating system, or a lease where there is none."""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import final
from uuid import uuid4

from devnet.core.wording import visible
from devnet.tables.table_error import TableError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: nothing is locked
    fcntl = None  # type: ignore[assignment]

BEAT = 5.0  # seconds until a lease is renewed
STALE = 20.0  # seconds without a renewal, after which its owner is taken for dead
LOOK = 0.2  # seconds between two looks at a lease


@contextmanager
def local_lock(path: Path, shown: str) -> Iterator[None]:
    """Hold a file's lock; it is free again when the process ends, or dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _is_locked(descriptor):
            raise _busy(shown)
        yield
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Whether the lock is ours now, or the file system has no locks."""
    if fcntl is None:  # pragma: no cover - Windows
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # pragma: no cover - a file system without locks
        return True
    return True


@final
class Lease:
    """A small file that its owner writes again and again, and that others leave alone meanwhile.

    Whether its owner lives is told by its changes, not by any clock but one's own.

    Parameters
    ----------
    read, write, remove : callables
        Of the file, as `Store` has them.
    shown : str
        The folder in messages.
    """

    def __init__(
        self,
        read: Callable[[], bytes | None],
        write: Callable[[bytes], None],
        remove: Callable[[], None],
        shown: str,
    ) -> None:
        self._read, self._write, self._remove, self._shown = read, write, remove, shown
        self._owner, self._n_beats = uuid4().hex, 0
        self._end = Event()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it; a dead owner's is taken over after a while, a live one's is refused."""
        self._wait_for_a_dead_owner()
        self._renew()
        time.sleep(LOOK)
        if not self._is_ours():  # another one came at the same moment
            raise _busy(self._shown)
        beating = Thread(target=self._beat, daemon=True)
        beating.start()
        try:
            yield
            if not self._is_ours():
                raise TableError(
                    f"another job took over {self._shown} while this one did not answer; its parts "
                    "are whole, but run the command again to be sure that all are there."
                )
        finally:
            self._end.set()
            beating.join()
            if self._is_ours():
                self._remove()

    def _wait_for_a_dead_owner(self) -> None:
        found, start = self._read(), time.monotonic()
        while found is not None and time.monotonic() - start < STALE:
            time.sleep(LOOK)
            now = self._read()
            if now is not None and now != found:
                raise _busy(self._shown, found)
            found = now

    def _beat(self) -> None:
        while not self._end.wait(BEAT):
            with suppress(TableError):  # the store may answer the next time
                if self._is_ours():
                    self._renew()

    def _renew(self) -> None:
        self._n_beats += 1
        who = {"owner": self._owner, "host": socket.gethostname(), "process": os.getpid()}
        self._write(json.dumps({**who, "beat": self._n_beats}).encode())

    def _is_ours(self) -> bool:
        found = self._read()
        return found is not None and self._owner.encode() in found


def _busy(shown: str, found: bytes = b"") -> TableError:
    """The error about a folder that another job writes to."""
    who = ""
    with suppress(ValueError, KeyError, TypeError):
        by = json.loads(found)
        who = f" (process {visible(str(by['process']))} on {visible(str(by['host']))})"
    return TableError(
        f"another job{who} writes to {shown} right now; wait until it ends, or give another folder."
    )
