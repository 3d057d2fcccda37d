"""Places for a job's files, local or by an fsspec address: a file appears whole, or not at all."""

import os
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, final
from uuid import uuid4

from devnet.core.whole_file import write_whole
from devnet.core.wording import cut, path_text
from devnet.serving.cluster.fingerprints import file_checksum
from devnet.serving.cluster.leases import Lease, local_lock
from devnet.tables.table_error import TableError

OBJECT_STORES = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "memory")
LONGEST_REASON = 200  # characters of what a package says
LOCK = "_devnet/lock"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


class Store(ABC):
    """A folder. Names in it may have slashes.

    Attributes
    ----------
    address : str
        By which every process finds it.
    """

    address: str

    @property
    def shown(self) -> str:
        """The address in a sentence."""
        return path_text(self.address)

    @abstractmethod
    def names(self) -> list[str]:
        """What is in the folder itself; nothing if there is none."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """A small file; None if there is none."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Write a small file."""

    @abstractmethod
    def target(self, name: str) -> AbstractContextManager[Path]:
        """A path to write a whole file to; it is in the store when the block ends."""

    @abstractmethod
    def copy(self, name: str) -> AbstractContextManager[Path | None]:
        """A path to read a file from; None if there is none."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it, if it is there."""

    @abstractmethod
    def held(self) -> AbstractContextManager[None]:
        """Keep other jobs away, or raise a TableError if one is there."""

    def checksum(self, name: str) -> str | None:
        """A digest of a file; None if there is none."""
        with self.copy(name) as path:
            return None if path is None else file_checksum(path)


@final
class LocalStore(Store):
    """A local folder, or one of a file system that all workers share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = str(folder)

    def names(self) -> list[str]:
        """What is in the folder itself."""
        if not self._folder.exists():
            return []
        if not self._folder.is_dir():
            raise TableError(f"{self.shown} is a file; the parts need a folder, give its name.")
        return sorted(path.name for path in self._folder.iterdir())

    def read(self, name: str) -> bytes | None:
        """A small file."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a small file."""
        with self.target(name) as path:
            write_whole(path, content)

    @contextmanager
    def target(self, name: str) -> Iterator[Path]:
        """The path itself: `open_output` writes under a temporary name, and renames."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path

    @contextmanager
    def copy(self, name: str) -> Iterator[Path | None]:
        """The path itself."""
        path = self._folder / name
        yield path if path.is_file() else None

    def remove(self, name: str) -> None:
        """Remove a file or a folder."""
        path = self._folder / name
        if path.is_dir():
            for inside in path.iterdir():
                self.remove(f"{name}/{inside.name}")
            path.rmdir()
        else:
            path.unlink(missing_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock that the operating system gives back when the process dies."""
        if not self._folder.parent.is_dir():
            raise TableError(
                f"there is no folder {path_text(self._folder.parent)}; make it, or give another "
                "place for the parts."
            )
        with self.target(LOCK) as path, local_lock(path, self.shown):
            yield


@final
class RemoteStore(Store):
    """A folder by an fsspec address, such as s3://bucket/scores.

    Object stores show an object when all of it is there, so the final key is written once. Others
    get a file under a temporary name, which is then renamed.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._files, self._root = _file_system(self.address)

    def names(self) -> list[str]:
        """What is in the folder itself."""
        with self._used():
            self._files.invalidate_cache()  # others write here, too
            try:
                found = self._files.ls(self._root, detail=False)
            except FileNotFoundError:
                return []
        names = [path.rstrip("/").removeprefix(self._root.rstrip("/") + "/") for path in found]
        return sorted(name for name in names if name and "/" not in name)

    def read(self, name: str) -> bytes | None:
        """A small file."""
        with self._used():
            try:
                return bytes(self._files.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write a small file."""
        with self.target(name) as path:
            path.write_bytes(content)

    @contextmanager
    def target(self, name: str) -> Iterator[Path]:
        """A local path, from which the finished file is copied."""
        with tempfile.TemporaryDirectory(prefix="devnet-") as folder:
            path = Path(folder) / Path(name).name
            yield path
            with self._used():
                self._put(path, self._path(name))

    def _put(self, path: Path, final: str) -> None:
        if _is_object_store(self._files):
            self._files.put_file(str(path), final)
            return
        parent, _, name = final.rpartition("/")
        temporary = f"{parent}/.{name}.devnet-{uuid4().hex[:8]}"
        self._files.makedirs(parent, exist_ok=True)
        self._files.put_file(str(path), temporary)
        if self._files.exists(final):
            self._files.rm_file(final)  # of the same job, so the same
        self._files.mv(temporary, final)

    @contextmanager
    def copy(self, name: str) -> Iterator[Path | None]:
        """A local copy."""
        with tempfile.TemporaryDirectory(prefix="devnet-") as folder:
            path = Path(folder) / Path(name).name
            with self._used():
                try:
                    self._files.get_file(self._path(name), str(path))
                except FileNotFoundError:
                    path.unlink(missing_ok=True)
            yield path if path.exists() else None

    def remove(self, name: str) -> None:
        """Remove a file, or all files whose names begin so."""
        with self._used():
            self._files.invalidate_cache()
            if self._files.exists(self._path(name)):
                self._files.rm(self._path(name), recursive=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold a lease, which has to be renewed: nobody tells when its owner dies."""
        lease = Lease(
            partial(self.read, LOCK),
            partial(self.write, LOCK),
            partial(self.remove, LOCK),
            self.shown,
        )
        with lease.held():
            yield

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Turn whatever a package says into a sentence."""
        try:
            yield
        except (TableError, MemoryError):
            raise
        except Exception as error:
            raise TableError(
                f"{self.shown} cannot be used: {_reason(error)}; check the address, and that you "
                "may read and write there."
            ) from error


def store_of(place: str | os.PathLike[str]) -> Store:
    """The store at a local path or at an fsspec address."""
    text = os.fspath(place)
    scheme = _ADDRESS.match(text)
    if scheme is None:
        return LocalStore(Path(text).absolute())
    if scheme[1].lower() in ("file", "local"):
        return LocalStore(Path(text[scheme.end() :]).absolute())
    return RemoteStore(text)


def is_address(place: str | os.PathLike[str]) -> bool:
    """Whether a place is an fsspec address, and not a local path."""
    return _ADDRESS.match(os.fspath(place)) is not None


def _file_system(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    try:
        import fsspec

        files, root = fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise TableError(
            f"{path_text(address)} needs one more package here and on all workers: "
            f"{_reason(error)}."
        ) from error
    except Exception as error:
        raise TableError(
            f"{path_text(address)} is not a place to write to: {_reason(error)}; give a folder, or "
            "an address such as s3://bucket/folder."
        ) from error
    return files, root


def _is_object_store(files: Any) -> bool:
    protocols = [files.protocol] if isinstance(files.protocol, str) else files.protocol
    return any(one in OBJECT_STORES for one in protocols)


def _reason(error: BaseException) -> str:
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return cut(said, LONGEST_REASON)
