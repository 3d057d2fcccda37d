"""The error about a model or a graph that cannot be used."""

from devnet.core.sentence import UserError


class ExportError(UserError):
    """A model that cannot be exported, or a graph that cannot be run; the message says why."""
