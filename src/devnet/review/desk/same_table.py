"""A reviewed table stays as it was when the page was started: rows are told by their numbers."""

from pathlib import Path
from typing import Any

from devnet.core.sentence import UserError
from devnet.tables.sources.opening import files_of, paths_of
from devnet.tables.table_error import TableError


class SameTable:
    """The files of a table as they are now; a table in memory cannot change.

    Parameters
    ----------
    table : path or object
        See `devnet.tables.open_table`.
    """

    def __init__(self, table: Any) -> None:
        self._name = str(table) if isinstance(table, str | Path) else None
        self._files = [] if self._name is None else files_of(self._name)

    def check(self) -> None:
        """Refuse a table that is not what it was."""
        if self._name is None:
            return
        try:
            for file in self._files:
                file.check()
            is_same = paths_of(self._name) == [file.typed for file in self._files]
        except (TableError, OSError):
            is_same = False
        if not is_same:
            raise UserError(
                f"{Path(self._name).name} was changed since this page was started, so nothing was "
                "recorded: its rows may be others now. All verdicts so far are kept. Whoever runs "
                "the server must start devnet review again."
            )
