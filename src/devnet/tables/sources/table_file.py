"""One file of a table: the same file, with the same rows, however often it is read."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, final

from devnet.core.wording import path_text
from devnet.tables.table_error import TableError


class _Version(NamedTuple):
    """What differs if a file is replaced or written to."""

    device: int
    inode: int
    size: int
    modified: int  # in nanoseconds


@final
class TableFile:
    """A file as it was when its table was opened.

    Scores and thresholds of two passes belong together only if both read the same rows. So
    whatever reads the file asks it, before rows are passed on, whether it is still the same.

    Parameters
    ----------
    path : Path
    name : str
        Its name in messages.

    Attributes
    ----------
    path : Path
        From the root, as another process may work in another folder.
    typed : Path
        As it was given.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.typed, self.name = path.absolute(), path, name
        self._version = _version_of(path)
        self._n_rows: int | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the device's number of this machine: it differs between those that share a file."""
        self.__dict__.update(state)
        with suppress(OSError):  # `check` says so
            self._version = self._version._replace(device=self.path.stat().st_dev)

    def check(self) -> None:
        """Refuse a file that is not what it was."""
        try:
            version = _version_of(self.path)
        except FileNotFoundError:
            raise TableError(
                f"{self.name} was moved or deleted while it was read; put it back, or give a copy "
                "that nothing else uses."
            ) from None
        if version != self._version:
            raise changed(self.name, self.typed)

    def check_rows(self, n_rows: int) -> None:
        """Refuse a file that had another number of rows, by its index or in an earlier pass."""
        if self._n_rows is None:
            self._n_rows = n_rows
        if self._n_rows != n_rows:
            raise TableError(
                f"{self.name} had {self._n_rows:,} rows and has {n_rows:,} now, so it is damaged, "
                "or was changed while it was read. Try again when nothing writes to it, or copy "
                "or write it again."
            )

    def of_rows(self, n_rows: int) -> "TableFile":
        """The same file, of which only so many rows are read."""
        part = copy(self)
        part._n_rows = n_rows
        return part

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse what was read meanwhile, or went wrong in it, if the file was changed."""
        try:
            yield
        except Exception as error:
            try:
                self.check()
            except TableError as reason:
                raise reason from error
            raise
        self.check()


def changed(name: str, path: Path | str = "FILE") -> TableError:
    """The error about a table of which two passes would read different rows."""
    return TableError(
        f"{name} was changed while it was read, so its rows may be those of two tables. Try again "
        f"when nothing writes to it, or give a copy: cp {quote(path_text(path))} COPY"
    )


def _version_of(path: Path) -> _Version:
    found = path.stat()
    return _Version(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
