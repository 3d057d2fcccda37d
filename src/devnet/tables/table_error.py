"""What is raised where a table cannot be used."""


class TableError(ValueError):
    """A table that cannot be used; the message says why and what to do."""
