"""How much a piece of a file may unpack to: a gibibyte, or what the environment says.

It belongs to the machine, not to a table: all readers of a process share its memory.
"""

import os
import re
from functools import cache

from devnet.tables.table_error import TableError

VARIABLE = "DEVNET_MAX_UNPACKED"
USUAL = 1 << 30  # bytes
LEAST, MOST = 1 << 20, 1 << 50
MOST_OF_A_LINE = 1 << 30  # Arrow counts the bytes of a block by 31 bits
_UNITS = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_SIZE = re.compile(r"\s*(\d{1,18})\s*([a-z]*)\s*", re.IGNORECASE)


def max_unpacked() -> int:
    """Bytes that one piece of a file (a batch, a page, a workbook) may unpack to."""
    text = os.environ.get(VARIABLE)
    return USUAL if text is None else _bytes(text)


def longest_text() -> int:
    """Bytes of all texts of a row; to work on them takes about thirty times as many."""
    return max_unpacked() // 32


def too_long(name: str, n_bytes: int) -> TableError:
    """The error about a table with a longer one."""
    return TableError(
        f"{name} has a row with {n_bytes:,} bytes of text, and more than {longest_text():,} are "
        f"not read; leave the longest values out of it, or, {more_room(32 * n_bytes)}"
    )


def longest_line(usual: int) -> int:
    """Bytes of a line, which takes several times as many to read: `usual`, or in proportion."""
    return min(usual * max_unpacked() // USUAL, MOST_OF_A_LINE)


def more_room(needed: int) -> str:
    """What to set so that a piece of this size is read."""
    gibibytes = max(-(-needed // _UNITS["gib"]), 1)
    return f"if you trust it, allow more: {VARIABLE}={gibibytes}GiB"


def longer_lines(longest: int) -> str:
    """What to set so that longer lines are read, behind other advice; nothing if none are."""
    return "" if longest >= MOST_OF_A_LINE else f", or, {more_room(2 * max_unpacked())}"


@cache
def _bytes(text: str) -> int:
    found = _SIZE.fullmatch(text)
    unit = _UNITS.get(found[2].lower()) if found else None
    n_bytes = int(found[1]) * unit if found and unit else 0
    if not LEAST <= n_bytes <= MOST:
        raise TableError(
            f"the environment variable {VARIABLE} is {text!r}; set it to the bytes that a piece of "
            "a file may unpack to, from 1MiB, such as 4GiB."
        )
    return n_bytes
