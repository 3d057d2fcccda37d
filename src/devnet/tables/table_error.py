"""The error about a table that cannot be used."""

from typing import Self

from devnet.core.sentence import Setting, UserError


class TableError(UserError):
    """A table that cannot be used; the message says why and what to do."""


class UnfitValueError(TableError):
    """A value of a text file whose type differs from that of the values before it in its column."""

    def __init__(self, column: str, *parts: str | Setting) -> None:
        self.column = column
        super().__init__(*parts)

    def __reduce__(self) -> tuple[type[Self], tuple[str | Setting, ...]]:  # from process to process
        return type(self), (self.column, *self.sentence.parts)
