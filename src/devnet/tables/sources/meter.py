"""How far text files have been read, for those who wait: bytes on disk, packed or not."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, final

_METERS: set["Meter"] = set()  # of the whole process, as files are read by any of its threads


@final
class Meter:
    """Counts what passes over tables read of their files; see `metered`."""

    def __init__(self) -> None:
        self._files: dict[Path, Any] = {}  # None before the file is opened

    def n_read(self) -> int:
        """Bytes read of all files, each by its latest pass."""
        return sum(_position(*one) for one in list(self._files.items()))

    def begin(self, path: Path) -> None:
        """Note that a pass begins."""
        self._files[path] = None

    def opened(self, path: Path, file: Any) -> None:
        """Note the file of a pass; what is opened before a pass only looks at its beginning."""
        if path in self._files:
            self._files[path] = file


@contextmanager
def metered() -> Iterator[Meter]:
    """A meter of the passes that begin within the block."""
    meter = Meter()
    _METERS.add(meter)
    try:
        yield meter
    finally:
        _METERS.discard(meter)


def note_pass(path: Path) -> None:
    """Tell all meters that a pass over a file begins."""
    for meter in list(_METERS):
        meter.begin(path)


def noted(path: Path, file: Any) -> Any:
    """The file, of which all meters know."""
    for meter in list(_METERS):
        meter.opened(path, file)
    return file


def _position(path: Path, file: Any) -> int:
    if file is None:
        return 0
    with suppress(ValueError, OSError):  # if it is closed, or is being closed, by its reader
        return int(file.tell())
    with suppress(OSError):  # if it is gone, which the source tells
        return path.stat().st_size
    return 0
