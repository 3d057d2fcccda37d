"""Files that appear under their name only when they are complete."""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shlex import quote
from stat import S_IMODE

from devnet.core.temporary_file import temporary_file

DATABASE = b"SQLite format 3\0"  # how such a file begins, a store of labels among them
BESIDE = ("-wal", "-shm", "-journal")  # suffixes of files that belong to a database
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that fits into memory."""
    with whole_file(path) as temporary, writing(path):
        temporary.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to the target; it is renamed to the target on success.

    On any error an earlier file of that name stays as it was, and nothing half-written remains.
    What a killed process leaves is removed by the next one that writes to the same target. Of
    several that write to it at once, each finishes, and the last one wins. A symbolic link stays a
    link: the file that it points to is written.
    """
    with _opened(path) as temporary:
        yield temporary
        with writing(path):
            _put_in_place(temporary, _resolved(path))


def check_target(path: Path) -> None:
    """Refuse a path that cannot be written to, before any work is done.

    A temporary file such as will be written is created there, and removed.
    """
    with _opened(path):
        pass


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses while a file is written into a clear error."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # already clear
            raise
        raise type(error)(
            f"{path} cannot be written: {os.strerror(error.errno)}; {_advice(error.errno, path)}."
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[Path]:
    """A temporary file for a path that can be written to."""
    with ExitStack() as stack:
        with writing(path):
            _refuse_impossible(path)
            _refuse_database(path)
            temporary = stack.enter_context(temporary_file(_resolved(path), path.suffix))
        yield temporary


def _refuse_impossible(path: Path) -> None:
    """Refuse a path that is no place for a file."""
    with suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()  # what else it may raise, such as for a long name, is told
    folder = _resolved(path).parent if path.is_symlink() else path.parent
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    if path.is_symlink() and _resolved(path).is_symlink():
        raise FileNotFoundError(f"{path} is a link that leads to itself; give another name.")
    if path.exists() and not path.is_file():
        raise OSError(
            f"{path} is a pipe or device, not a file that can be replaced; give the name of a file."
        )
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file, so {path.name} cannot be saved in it.")
    if not folder.exists():
        raise FileNotFoundError(
            f"the folder {folder} does not exist; create it before saving {path.name} there: "
            f"mkdir -p {quote(str(folder))}"
        )
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(
            f"{path} is write-protected; give another name, or: chmod u+w {quote(str(path))}"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"the folder {folder} is not writable, so {path.name} cannot be saved there; give "
            "another one."
        )


def _refuse_database(path: Path) -> None:
    """Refuse to replace a database or its log: what it holds exists nowhere else."""
    if _is_database(path) or any(_is_database(one) for one in _owners(path)):
        raise FileExistsError(
            f"{path} is part of a database, such as a store of labels, and is never replaced; give "
            "another name."
        )


def _is_database(path: Path) -> bool:
    """Whether a file is a database."""
    if not path.is_file():
        return False
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(DATABASE)) == DATABASE
    return False


def _owners(path: Path) -> list[Path]:
    """The files whose log a file of this name would be."""
    names = [path.name.removesuffix(end) for end in BESIDE if path.name.endswith(end)]
    return [path.with_name(name) for name in names if name]


def _put_in_place(temporary: Path, target: Path) -> None:
    """Rename a file that is on disk, with the rights of the one that it replaces."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
    temporary.chmod(S_IMODE(mode))
    temporary.replace(target)


def _advice(number: int, path: Path) -> str:
    """What to do about an error of the operating system."""
    if number == errno.ENAMETOOLONG:
        return "give a shorter name"
    if number in _FULL:
        return "free some space or write to another disk, then try again. Nothing was left there"
    return f"choose a folder that you may write to (ls -ld {quote(str(path.parent))})"


def _resolved(path: Path) -> Path:
    """The file itself if the path is a symbolic link."""
    return Path(os.path.realpath(path))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
