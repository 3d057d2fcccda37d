"""Sentences that name settings, which each surface spells in its own way.

The library says `ignore=['amount']`, the command line `--ignore amount`. So an error or a note is a
sequence of texts and settings, and is put into words only where it is shown.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """A parameter that a caller may set, with the advised value if there is one."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


Spell = Callable[[Setting], str]


class Sentence:
    """A sequence of texts and settings; `str` spells settings as Python does.

    Examples
    --------
    >>> from devnet.core.sentence import Sentence, Setting
    >>> note = Sentence("leave it out with ", Setting("ignore", ["amount"]), ".")
    >>> str(note)
    "leave it out with ignore=['amount']."
    >>> note.spelled(lambda setting: f"--{setting.name} {setting.value[0]}")
    'leave it out with --ignore amount.'
    """

    def __init__(self, *parts: str | Setting) -> None:
        self.parts = parts

    def spelled(self, spell: Spell) -> str:
        """The sentence with its settings spelled by a surface."""
        return "".join(part if isinstance(part, str) else spell(part) for part in self.parts)

    def __str__(self) -> str:
        return self.spelled(str)

    def __repr__(self) -> str:
        return f"Sentence({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sentence) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(str(self))


class UserError(ValueError):
    """An error that the caller can fix: it says what is wrong and what to do about it."""

    def __init__(self, *parts: str | Setting) -> None:
        self.sentence = Sentence(*parts)
        super().__init__(str(self.sentence))

    def spelled(self, spell: Spell) -> str:
        """The sentence with its settings spelled by a surface."""
        return self.sentence.spelled(spell)
