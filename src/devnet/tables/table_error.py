"""The error about a table that cannot be used."""

from devnet.core.sentence import UserError


class TableError(UserError):
    """A table that cannot be used; the message says why and what to do."""
