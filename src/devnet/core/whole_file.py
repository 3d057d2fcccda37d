"""Files that appear under their name only when they are complete."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that fits into memory."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to the target; it is renamed to the target on success.

    On any error an earlier file of that name stays as it was, and nothing half-written remains.
    Only a killed process leaves its temporary file, which starts with a dot. A symbolic link stays
    a link: the file that it points to is written.
    """
    check_target(path)
    target = _resolved(path)
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=path.suffix, dir=target.parent
        )
    except OSError as error:
        raise type(error)(
            f"{path} cannot be written ({error.strerror}); give another name."
        ) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        temporary.chmod(S_IMODE(mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_target(path: Path) -> None:
    """Refuse a path that cannot be written to, before any work is done."""
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
            f"mkdir -p {folder}"
        )
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is write-protected; give another name, or: chmod u+w {path}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            f"the folder {folder} is not writable, so {path.name} cannot be saved there; give "
            "another one."
        )


def _resolved(path: Path) -> Path:
    """The file itself if the path is a symbolic link."""
    return Path(os.path.realpath(path))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
