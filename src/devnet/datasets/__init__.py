"""The paper's nine data sets: fetched from public addresses, read in their published formats."""

import lzma
import os
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from devnet.core.names import known
from devnet.datasets.catalogue import DATASETS
from devnet.datasets.download import DownloadError, NotServedError, checksum
from devnet.datasets.download import download as download_file
from devnet.datasets.records import File, Likeness, PublishedCopy, SetRecord, Size

__all__ = ["DATASETS", "Dataset", "DownloadError", "fetch", "find", "load", "locate"]

Folder = str | os.PathLike[str]
OnProgress = Callable[[str, int, int | None], object]

# What parsers raise on a file that is truncated, damaged or not what its name says.
DAMAGE = (
    OSError, EOFError, LookupError, ValueError, lzma.LZMAError, tarfile.TarError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


class Dataset(NamedTuple):
    """A prepared data set."""

    name: str
    rows: Any  # (n, d) float32 array or CSR matrix
    is_anomaly: np.ndarray  # (n,) bool
    feature_names: list[str]  # empty if the source has none
    description: str  # says how it differs from the paper's set
    likeness: Likeness  # the same for programs

    @property
    def size(self) -> Size:
        """How large it is."""
        n_rows, n_columns = self.rows.shape
        return Size(n_rows, n_columns, int(self.is_anomaly.sum()))


def load(name: str, folder: Folder | None = None) -> Dataset:
    """Read one of the paper's data sets.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    folder : str or path, optional
        Folder of its files; by default the one that DEVNET_DATA names, then
        `devnet` in the user's cache folder.

    Returns
    -------
    dataset : Dataset

    Raises
    ------
    ValueError
        For an unknown name or a file that cannot be read.
    FileNotFoundError
        If no copy of the set is found; says which files were looked for.
    """
    found = find(name, folder)
    record = DATASETS[name]
    if found is None:
        raise FileNotFoundError(_absent(name, record, folder))
    source, paths = found
    try:
        table = source.parse(*paths)
    except DAMAGE as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(
            f"cannot read {', '.join(map(str, paths))} as {source.format} ({reason}). The copy is "
            f"damaged or a different file; delete it and get it again {_how_to_get(name, folder)}."
        ) from error
    n_rows, n_columns = table.rows.shape
    size = Size(n_rows, n_columns, int(table.is_anomaly.sum()))
    return Dataset(
        name,
        table.rows,
        table.is_anomaly,
        table.names,
        record.describe(name, source, size),
        record.likeness(source, size),
    )


def find(name: str, folder: Folder | None = None) -> tuple[PublishedCopy, list[Path]] | None:
    """The copy that `load` reads: its source and its files, or None."""
    return DATASETS[known(name, DATASETS, "data set")].find(_folders(folder))


def locate(file: str, folder: Folder | None = None) -> Path:
    """The path of a file in one of the folders where `load` looks."""
    folders = _folders(folder)
    for one in folders:
        if (one / file).is_file():
            return one / file
    raise FileNotFoundError(
        f"no {file} in {', '.join(map(str, folders))}; set DEVNET_DATA to the folder that has it."
    )


def fetch(
    name: str, folder: Folder | None = None, on_progress: OnProgress | None = None
) -> list[Path]:
    """Download one of the paper's data sets, if it has a public address.

    Files that exist are not downloaded again.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    folder : str or path, optional
        Folder for the files, created if necessary; by default `devnet` in the user's cache
        folder.
    on_progress : callable, optional
        Called with a file's name, the bytes received so far, and the file's size, or None if the
        server does not give it.

    Returns
    -------
    paths : list of Path
        The files.

    Raises
    ------
    ValueError
        For an unknown name.
    DownloadError
        If a file could not be fetched; says why and what to do.
    """
    record = DATASETS[known(name, DATASETS, "data set")]
    folders = _folders(folder)
    source = record.public_source()
    if source is None:
        wanted = " + ".join(file.name for file in record.sources[0].files)
        raise DownloadError(
            f"{name} cannot be downloaded without a login: get {wanted} by hand from "
            f"{record.address} and put it into {folders[-1]}."
        )
    for one in folders:
        if all(_is_complete(one / file.name, file.sha256) for file in source.files):
            return [one / file.name for file in source.files]
    try:
        return [_fetch_file(file, folders[-1], on_progress) for file in source.files]
    except NotServedError as error:
        raise NotServedError(
            f"{error} By hand: get {_wanted(record)} from {record.address} and put it into "
            f"{folders[-1]}."
        ) from error


def _fetch_file(file: File, folder: Path, on_progress: OnProgress | None) -> Path:
    """Fetch one file if necessary; return its path."""
    target = folder / file.name
    if _is_complete(target, file.sha256):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(
            f"cannot create the folder {target.parent} ({error.strerror}). Name a writable folder."
        ) from error

    def report(done: int, total: int | None) -> None:
        if on_progress is not None:
            on_progress(file.name, done, total)

    download_file(file.address, target, sha256=file.sha256, on_progress=report)
    return target


def _is_complete(path: Path, sha256: str) -> bool:
    return path.is_file() and (not sha256 or checksum(path) == sha256)


def _absent(name: str, record: SetRecord, folder: Folder | None) -> str:
    return (
        f"no copy of {name} in {', '.join(map(str, _folders(folder)))}: looked for "
        f"{_wanted(record)}. Get it {_how_to_get(name, folder)}, or set DEVNET_DATA to the folder "
        "of a copy."
    )


def _wanted(record: SetRecord) -> str:
    """The files of each form of a set."""
    return " or ".join(" + ".join(file.name for file in source.files) for source in record.sources)


def _how_to_get(name: str, folder: Folder | None) -> str:
    record = DATASETS[name]
    if record.public_source() is None:
        return f"by hand from {record.address}"
    arguments = repr(name) if folder is None else f"{name!r}, {os.fspath(folder)!r}"
    return f"with devnet.datasets.fetch({arguments})"


def _folders(folder: Folder | None) -> list[Path]:
    """Folders to search, in this order; new files go to the last."""
    if folder is not None:
        return [Path(folder)]
    named = os.environ.get("DEVNET_DATA")
    return [Path(named), _cache()] if named else [_cache()]


def _cache() -> Path:
    """The platform's cache folder for devnet."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "devnet"
