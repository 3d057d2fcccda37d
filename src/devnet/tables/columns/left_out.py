"""Why a column is left out: a reason for programs, a text for people."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from devnet.core.sentence import Sentence, Setting
from devnet.core.wording import cut

MAX_LISTED = 10  # columns that an error names


class Why(StrEnum):
    """Reasons to leave a column out."""

    IGNORED = "ignored"
    EMPTY = "empty"
    CONSTANT = "constant"
    UNUSABLE = "unusable"  # nested or binary values, or a type that we do not read
    TEXT = "text"
    UNIQUE = "unique"  # names rows
    NEARLY_UNIQUE = "nearly unique"
    NAMED = "named like an identifier"
    SCORED = "scored before"  # what a model added
    UNKNOWN = "unknown"  # not recorded, as in files of version 0.1.0


class LeftOut(NamedTuple):
    """A column that is not used, and why; `str` adds how to use it anyway, if advisable."""

    name: str
    reason: Why
    text: str

    @property
    def advice(self) -> Setting | None:
        """The setting that includes the column, if its values may well be categories."""
        return Setting("categorical", [self.name]) if self.reason is Why.NAMED else None

    def sentence(self) -> Sentence:
        """Text and advice."""
        advice = self.advice
        return Sentence(self.text, *(() if advice is None else ("; take it with ", advice)))

    def __str__(self) -> str:
        return str(self.sentence())


def listed(left_out: Mapping[str, LeftOut]) -> str:
    """Columns and why each is left out, in one line."""
    parts = [f"{cut(name)!r} ({one.text})" for name, one in left_out.items()]
    more = f" and {len(parts) - MAX_LISTED:,} more" if len(parts) > MAX_LISTED else ""
    return ", ".join(parts[:MAX_LISTED]) + more
