"""What all benchmarks share: sections that can be run one by one, and quickly."""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

QUICK_ROWS = 5_000


class Effort(NamedTuple):
    """How much a section measures."""

    is_quick: bool = False  # only see whether it runs; its figures mean nothing
    n_longest: int | None = None  # rows of the longest table, if the user says so

    def rows(self, n: int) -> int:
        """Rows to measure."""
        return min(n, QUICK_ROWS) if self.is_quick else n

    def longest(self, n: int) -> int:
        """Rows of the longest table."""
        return self.n_longest or self.rows(n)

    def repeats(self, n: int) -> int:
        """How often to measure."""
        return 1 if self.is_quick else n


Section = Callable[[Effort], None]


def run(file: str, sections: Sequence[Section], description: str | None) -> None:
    """Run one section, or each in its own process, so that none inherits threads or memory."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    by_name = {section.__name__: section for section in sections}
    parser.add_argument("section", nargs="?", choices=by_name, help="run only this one")
    parser.add_argument("--quick", action="store_true", help="only see whether it runs")
    parser.add_argument("--rows", type=int, metavar="N", help="rows of the longest tables")
    options = parser.parse_args()
    if options.section:
        by_name[options.section](Effort(options.quick, options.rows))
        return
    for name in by_name:
        subprocess.run([sys.executable, file, name, *sys.argv[1:]], check=True)
