"""Where columns of a very wide matrix stand among the few that a model knows."""

from functools import cached_property

import numpy as np

TABLE_COLUMNS = 1 << 24  # up to this width, a table of all columns takes at most 64 MB


class KnownColumns:
    """Finds columns among c known ones.

    In a table with an entry for each column of the matrix, or by bisection if that would be large:
    the width may be a number in a file, to which no memory should be given.

    Parameters
    ----------
    columns : (c,) int64 array, ascending
    n_columns : int
        Width of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.core.known_columns import KnownColumns
    >>> KnownColumns(np.array([2, 5]), 10**12).positions(np.array([5, 3, 2, 9])).tolist()
    [1, -1, 0, -1]
    """

    def __init__(self, columns: np.ndarray, n_columns: int) -> None:
        self._columns = columns
        self._n_columns = n_columns

    def positions(self, columns: np.ndarray) -> np.ndarray:
        """Position of each column among the known ones, or -1, int32."""
        if self._n_columns <= TABLE_COLUMNS:
            return self._table.take(columns)
        if not len(self._columns):
            return np.full(len(columns), -1, dtype=np.int32)
        found = np.searchsorted(self._columns, columns)
        np.minimum(found, len(self._columns) - 1, out=found)
        is_known = self._columns.take(found) == columns
        return np.where(is_known, found, -1).astype(np.int32)

    @cached_property
    def _table(self) -> np.ndarray:
        table = np.full(self._n_columns, -1, dtype=np.int32)
        table[self._columns] = np.arange(len(self._columns), dtype=np.int32)
        return table
