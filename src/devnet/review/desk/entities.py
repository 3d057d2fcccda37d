"""The rows of one entity, such as a customer: what came before and after a row."""

from typing import Any, Self

import numpy as np
import pyarrow as pa

from devnet.tables.columns.text_values import text_values
from devnet.tables.sources.opening import open_table

NEIGHBOURS = 5  # rows of the entity before a row, and after it


class Entities:
    """Which rows of a table are of one entity, in eight bytes per row.

    Parameters
    ----------
    column : str
        The column that names entities.
    codes : array of shape (n,)
        The entity of each row, -1 where it has none.
    """

    def __init__(self, column: str, codes: np.ndarray) -> None:
        self.column = column
        self._codes = codes
        self._order = np.argsort(codes, kind="stable").astype(np.int32)
        self._starts = np.searchsorted(codes[self._order], np.arange(codes.max(initial=-1) + 2))

    @classmethod
    def read(cls, table: Any, column: str) -> Self:
        """Read the column that names entities."""
        names: dict[str, int] = {}
        parts = [np.empty(0, np.int32)]
        source = open_table(table, types={column: pa.string()})
        for batch in source.batches([column]):
            found = text_values(batch[column])
            codes = [names.setdefault(name, len(names)) for name in found.texts.to_pylist()]
            parts.append(np.array([*codes, -1], np.int32)[found.position])  # -1 is the last
        return cls(column, np.concatenate(parts))

    def around(self, row: int) -> tuple[list[int], int]:
        """Rows of the same entity next to a row, itself among them; and how many there are."""
        code = int(self._codes[row])
        if code < 0:
            return [row], 1
        own = self._order[self._starts[code] : self._starts[code + 1]]
        at = int(np.searchsorted(own, row))
        near = own[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1]
        return near.tolist(), len(own)
