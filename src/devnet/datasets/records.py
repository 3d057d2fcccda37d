"""What is known about a data set: the types of the catalogue."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from devnet.datasets.parsers import RawSet


class File(NamedTuple):
    """One file of a copy."""

    name: str  # in the folder of the data sets
    address: str = ""  # where anyone can download it; empty: to be got by hand
    sha256: str = ""  # empty where none is published


class PublishedCopy(NamedTuple):
    """One form in which a set may lie in a folder."""

    files: tuple[File, ...]
    parse: Callable[..., RawSet]  # takes the files' paths
    format: str
    note: str = ""  # how it differs from the paper's set
    is_substitute: bool = False  # other rows: results cannot be compared with the paper's


class SetRecord(NamedTuple):
    """One data set of Table 1."""

    domain: str
    anomaly: str
    n_rows: int
    n_columns: int
    labelled_share_of_training: float  # the paper's f1, in percent
    labelled_share_of_anomalies: float  # the paper's f2, in percent
    address: str  # its page, from the paper's Table 3
    licence: str
    citation: str
    sources: tuple[PublishedCopy, ...]  # the first one whose files are there is read

    def find(self, folders: list[Path]) -> tuple[PublishedCopy, list[Path]] | None:
        """The source to read, and its files."""
        for source in self.sources:
            for folder in folders:
                paths = [folder / file.name for file in source.files]
                if all(path.is_file() for path in paths):
                    return source, paths
        return None

    def public_source(self) -> PublishedCopy | None:
        """The first source that anyone can download."""
        for source in self.sources:
            if all(file.address for file in source.files):
                return source
        return None
