"""The parts of a table, each a task: a file, or a range of row groups of a Parquet file."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from devnet.core.wording import path_text
from devnet.serving.cluster.fingerprints import digest
from devnet.tables.sources.source import Source
from devnet.tables.table_error import TableError

LEAST_DIGITS = 5  # of a part's number


class Part(NamedTuple):
    """Some rows of a table."""

    number: int
    source: Source  # of these rows alone, in the columns and types of the whole table
    version: str  # a digest of which rows of which version of which file they are
    first_row: int | None  # in the table; None until rows of text files are counted
    n_rows: int | None

    def name(self, n_parts: int) -> str:
        """The name of its file, which sorts by its number."""
        return f"part-{self.number:0{max(LEAST_DIGITS, len(str(n_parts - 1)))}d}"

    def digest(self) -> str:
        """A digest of the rows and of their place in the table."""
        return digest([self.version, self.first_row, self.n_rows])

    @property
    def shown(self) -> str:
        """The file in messages."""
        return path_text(self.source.paths[0])

    def in_words(self) -> str:
        """The part in a sentence."""
        if self.first_row is None or not self.n_rows:
            return self.shown
        last = self.first_row + self.n_rows - 1
        return f"{self.shown} (rows {self.first_row:,} to {last:,} of the table)"

    def found(self) -> Source:
        """Its rows, if this process sees the file."""
        if not all(path.is_file() for path in self.source.paths):
            raise TableError(
                f"a worker does not find {self.shown}; workers read the table themselves, so all "
                "of them must see it under the same name."
            )
        return self.source


def cut(source: Source) -> list[Part]:
    """The parts of a table, in the order of its rows; at least one."""
    sources = source.parts()
    versions = [_version(one, number) for number, one in enumerate(sources)]
    parts = [
        Part(number, one, version, None, one.n_rows)
        for number, (one, version) in enumerate(zip(sources, versions, strict=True))
    ]
    n_rows = [one.n_rows for one in sources if one.n_rows is not None]
    return counted(parts, n_rows) if len(n_rows) == len(parts) else parts


def counted(parts: Sequence[Part], n_rows: Sequence[int]) -> list[Part]:
    """The parts, given the rows of each."""
    first_rows = accumulate(n_rows, initial=0)
    pairs = zip(parts, first_rows, n_rows, strict=False)
    return [part._replace(first_row=first, n_rows=n) for part, first, n in pairs]


def _version(source: Source, number: int) -> str:
    """A digest of the file of a part; its rows follow from that and from the part's number."""
    (path,) = source.paths
    found = path.stat()
    return digest([str(path), found.st_size, found.st_mtime_ns, number])
