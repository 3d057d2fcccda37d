"""The model in use: the file is watched, and a new one that is whole takes over.

A request keeps the model that it began with. A file that cannot be used is refused once; the model
before it stays in use, and health and log say so.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple, final

from devnet.core import model_file
from devnet.core.wording import path_text, visible
from devnet.serving.service.served_model import ServedModel

SECONDS = 1.0  # between two looks at the file
logger = logging.getLogger(__name__)


class _Stamp(NamedTuple):
    """What tells one version of a file from the next."""

    device: int
    inode: int
    size: int
    modified: int  # nanoseconds


class Refused(NamedTuple):
    """A file that was not taken."""

    at: datetime
    why: str


@final
class ModelInUse:
    """The model of a file, as it is now.

    Parameters
    ----------
    path : Path
    threshold : float, optional
        The score above which rows are alerts, instead of the policy of the model.
    on_swap : callable, optional
        Told whether a new file was taken.

    Attributes
    ----------
    now : ServedModel
    since : datetime
    refused : Refused or None
        The file that is there now, if it was not taken.
    """

    def __init__(
        self,
        path: Path,
        threshold: float | None = None,
        on_swap: Callable[[bool], None] = lambda is_taken: None,
    ) -> None:
        self._path, self._threshold, self._on_swap = path, threshold, on_swap
        self._looked_at = _stamp(path)
        self._changing: _Stamp | None = None
        self.now = ServedModel(model_file.contents(path), threshold)
        self.since = datetime.now(UTC)
        self.refused: Refused | None = None

    def look(self) -> None:
        """Take a file that has changed, once it stays the same from one look to the next."""
        found = _stamp(self._path)
        if found == self._looked_at:
            self._changing = None
        elif found != self._changing:
            self._changing = found  # perhaps it is still being written
        else:
            self._looked_at, self._changing = found, None
            self._take()

    def _take(self) -> None:
        try:
            taken = ServedModel(model_file.contents(self._path), self._threshold)
        except Exception as error:  # whatever is wrong with it, the watch goes on
            self.refused = Refused(datetime.now(UTC), str(error))
            logger.warning(
                "The new model is not used, and the one before it stays: %s", visible(str(error))
            )
        else:
            self.now, self.since, self.refused = taken, datetime.now(UTC), None
            name = path_text(self._path)
            logger.info("A new model is in use: %s, sha256 %s", name, taken.fingerprint)
        self._on_swap(self.refused is None)

    @contextmanager
    def watched(self, seconds: float = SECONDS) -> Iterator[None]:
        """Look at the file again and again, in a thread of its own."""
        ended = Event()

        def watch() -> None:
            while not ended.wait(seconds):
                self.look()

        thread = Thread(target=watch, name="watch-model", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _stamp(path: Path) -> _Stamp | None:
    """The version of a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return _Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
