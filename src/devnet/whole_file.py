"""Files that appear under their name only when they are whole."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that fits into memory."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside the target to write to; it is renamed when all went well.

    Whatever goes wrong, an earlier file of the name is left as it was, and nothing half-written
    stays. Only a process that is killed leaves its temporary file, whose name starts with a dot.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it.")
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        if path.parent.is_dir():
            raise
        raise type(error)(
            f"the folder {path.parent} does not exist; create it before saving {path.name} there."
        ) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
