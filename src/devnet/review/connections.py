"""The connections to a store: one that writes, behind a lock, and as many readers as are needed."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from devnet.review.store_file import connect, in_words


class Connections:
    """All connections of this process to one file.

    Threads come and go, so a reader does not belong to one: it is lent to whoever reads.

    Parameters
    ----------
    path : Path
    may_make : bool
        Whether a file that does not exist is made.
    """

    def __init__(self, path: Path, *, may_make: bool) -> None:
        self.path = path
        self.writer = connect(path, "rwc" if may_make else "rw")
        self._writing, self._lending = threading.Lock(), threading.Lock()
        self._is_closed = False
        self._free: list[sqlite3.Connection] = []  # readers
        self._lent = threading.local()

    def close(self) -> None:
        """Close all of them; a reader that is lent, when it comes back."""
        with self._writing, self._lending:
            self._is_closed = True
            for connection in (*self._free, self.writer):
                connection.close()
            self._free.clear()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A reader that sees the store as it is now until the block ends; blocks may be nested."""
        lent: sqlite3.Connection | None = getattr(self._lent, "reader", None)
        if lent is not None:
            yield lent
            return
        with self._lending:
            reader = self._free.pop() if self._free else None
        reader = connect(self.path, "ro") if reader is None else reader
        self._lent.reader = reader
        try:
            with in_words(self.path):
                reader.execute("BEGIN")
                yield reader
        finally:
            self._lent.reader = None
            self._take_back(reader)

    def _take_back(self, reader: sqlite3.Connection) -> None:
        if reader.in_transaction:
            reader.execute("ROLLBACK")
        with self._lending:
            if self._is_closed:
                reader.close()
            else:
                self._free.append(reader)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The one writer, until what the block did is on disk, or undone after an error."""
        with self._writing, in_words(self.path):
            self.writer.execute("BEGIN IMMEDIATE")
            try:
                yield self.writer
                self.writer.execute("COMMIT")
            except BaseException:
                if self.writer.in_transaction:  # SQLite may have ended it
                    self.writer.execute("ROLLBACK")
                raise
