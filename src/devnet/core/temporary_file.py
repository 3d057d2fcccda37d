"""Temporary files beside a target: named after it, and locked while they are written.

A killed process leaves its temporary file behind. The next one that writes to the same target
removes it: the operating system has released the lock, so nobody writes it any more.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: nothing is locked, and leftovers stay
    fcntl = None  # type: ignore[assignment]

MARK = ".devnet-"  # between the name of the target and the random part
RANDOM = "[a-z0-9_]{8}"  # as mkstemp draws it
LONGEST_NAME, LONGEST_SUFFIX = 100, 16  # bytes; some file systems allow 143 in all


@contextmanager
def temporary_file(target: Path, suffix: str) -> Iterator[Path]:
    """A new file beside the target, locked until the block ends; removed then, unless renamed.

    Leftovers of the same target are removed first.

    Parameters
    ----------
    target : Path
        The file itself, not a link to it.
    suffix : str
        Of the temporary file, as writers may go by it.

    Raises
    ------
    OSError
        If no file can be created there.
    """
    _remove_leftovers(target)
    path, handle = _create(target, suffix)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def _create(target: Path, suffix: str) -> tuple[Path, int | None]:
    """A new file, and the handle that locks it."""
    suffix = suffix if len(os.fsencode(suffix)) <= LONGEST_SUFFIX else ""
    while True:
        handle, name = tempfile.mkstemp(prefix=_prefix(target), suffix=suffix, dir=target.parent)
        if fcntl is None:
            os.close(handle)  # an open file cannot be renamed there
            return Path(name), None
        if _lock(handle) is not False and os.fstat(handle).st_nlink:
            return Path(name), handle
        os.close(handle)  # taken for a leftover and removed, before it was locked


def _prefix(target: Path) -> str:
    """How names of the target's temporary files begin; a digest stands for a long name."""
    name = os.fsencode(target.name)
    short = target.name if len(name) <= LONGEST_NAME else hashlib.sha256(name).hexdigest()
    return f".{short}{MARK}"


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of the target that nobody holds."""
    is_temporary = re.compile(re.escape(_prefix(target)) + RANDOM + r"(\.[^.]+)?").fullmatch
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(target.parent) as files:  # a folder may be unreadable
        for name in [file.name for file in files if is_temporary(file.name)]:
            _remove_unless_held(target.with_name(name))


def _remove_unless_held(path: Path) -> None:
    with suppress(OSError):  # another user's, or gone already
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if S_ISREG(os.fstat(handle).st_mode) and _lock(handle):
                path.unlink()
        finally:
            os.close(handle)


def _lock(handle: int) -> bool | None:
    """Whether the lock on a file is ours now; None if the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
