"""Files that appear under their name only when they are whole."""

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
    """A temporary name beside the target to write to; it is renamed when all went well.

    Whatever goes wrong, an earlier file of the name is left as it was, and nothing half-written
    stays. Only a process that is killed leaves its temporary file, whose name starts with a dot.
    A symbolic link stays: the file that it leads to is written.
    """
    check_target(path)
    target = _led_to(path)
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
    """Refuse a name that nothing can be written to, before work is done for it."""
    folder = _led_to(path).parent if path.is_symlink() else path.parent
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    if path.is_symlink() and _led_to(path).is_symlink():
        raise FileNotFoundError(f"{path} is a link that leads to itself; give another name.")
    if path.exists() and not path.is_file():
        raise OSError(
            f"{path} is a pipe or device, where a file cannot appear whole; give the name of a "
            "file."
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


def _led_to(path: Path) -> Path:
    """The file itself, where the path is a symbolic link to it."""
    return Path(os.path.realpath(path))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
