"""The types of the catalogue: what is known about a data set."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from devnet.datasets.parsers import RawSet


class File(NamedTuple):
    """One file of a copy."""

    name: str  # in the folder of the data sets
    address: str = ""  # where anyone can download it; empty: only by hand
    sha256: str = ""  # empty if none is published


class Likeness(StrEnum):
    """How a copy compares with the paper's set."""

    EXACT = "exact"
    DIFFERS = "differs"  # in its encoding or its size
    SUBSTITUTE = "substitute"  # other rows: results cannot be compared with the paper's


class Size(NamedTuple):
    """How large a copy is."""

    n_rows: int
    n_columns: int
    n_anomalies: int


class PublishedCopy(NamedTuple):
    """One form in which a set is published."""

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
    sources: tuple[PublishedCopy, ...]  # the first whose files exist is read

    def find(self, folders: list[Path]) -> tuple[PublishedCopy, list[Path]] | None:
        """The source to read, and its files."""
        for source in self.sources:
            for folder in folders:
                paths = [folder / file.name for file in source.files]
                if all(path.is_file() for path in paths):
                    return source, paths
        return None

    def describe(self, name: str, source: PublishedCopy, size: Size) -> str:
        """A copy in a sentence that says how it differs from the paper's set."""
        differs = [source.note] if source.note else []
        if size[:2] != (self.n_rows, self.n_columns):
            shape = f"the paper's has {self.n_rows:,} rows and {self.n_columns:,} columns"
            differs.insert(0, shape)
        return (
            f"{name}: {size.n_rows:,} rows, {size.n_columns:,} columns, {size.n_anomalies:,} "
            f"anomalies ({self.anomaly}); {'; '.join(differs) or 'as in the paper'}."
        )

    def likeness(self, source: PublishedCopy, size: Size) -> Likeness:
        """How a copy of this size compares with the paper's set."""
        if source.is_substitute:
            return Likeness.SUBSTITUTE
        is_same_size = size[:2] == (self.n_rows, self.n_columns)
        return Likeness.EXACT if is_same_size and not source.note else Likeness.DIFFERS

    def public_source(self) -> PublishedCopy | None:
        """The first source that anyone can download."""
        for source in self.sources:
            if all(file.address for file in source.files):
                return source
        return None
