"""Which columns of a matrix encode the same column of a table."""

from dataclasses import dataclass

import numpy as np

from devnet.core.parameters import Constraint

MAX_COLUMNS = 1 << 27  # of a matrix


@dataclass(frozen=True)
class Layout:
    """The columns of a matrix in blocks, one for each column of a table, in their order.

    Parameters
    ----------
    widths : tuple of int
        Columns of the matrix in each block: 1 for a number, one per value for a category.
    is_wide : tuple of bool
        Whether a block is a text or a vector with thousands of entries, nearly all of them zero
        in any one row.

    Examples
    --------
    >>> from devnet.core.layout import Layout
    >>> layout = Layout((1, 3), (False, False))
    >>> layout.block.tolist()
    [0, 1, 1, 1]
    """

    widths: tuple[int, ...]
    is_wide: tuple[bool, ...]

    def __post_init__(self) -> None:
        if len(self.widths) != len(self.is_wide) or not self.widths:
            raise ValueError(
                f"a layout has {len(self.widths)} widths, but {len(self.is_wide)} is_wide values; "
                "give one of each per column of the table, and at least one."
            )
        if not all(type(width) is int and 0 < width <= MAX_COLUMNS for width in self.widths):
            raise ValueError("the widths of a layout must be whole numbers of at least 1.")
        if not all(type(mark) is bool for mark in self.is_wide):
            raise ValueError("whether a block of a layout is wide must be True or False.")
        if self.n_columns > MAX_COLUMNS:
            raise ValueError(f"a layout has at most {MAX_COLUMNS:,} columns.")

    @property
    def n_columns(self) -> int:
        """Columns of the matrix."""
        return sum(self.widths)

    @property
    def block(self) -> np.ndarray:
        """Which block each column of the matrix belongs to, (n_columns,)."""
        return np.repeat(np.arange(len(self.widths)), self.widths)

    def spans(self) -> list[slice]:
        """The columns of each block."""
        ends = np.cumsum(self.widths).tolist()
        return [slice(end - width, end) for end, width in zip(ends, self.widths, strict=True)]

    def narrow(self) -> "Layout | None":
        """The layout without the wide blocks; None if nothing is left."""
        widths = tuple(w for w, wide in zip(self.widths, self.is_wide, strict=True) if not wide)
        return Layout(widths, (False,) * len(widths)) if widths else None

    def check_width(self, n_columns: int) -> None:
        """Refuse a matrix with another number of columns."""
        if self.n_columns != n_columns:
            raise ValueError(
                f"X has {n_columns} columns, but the layout has {self.n_columns}; give the layout "
                "of these columns, or none."
            )


LAYOUT = Constraint(lambda value: value is None or isinstance(value, Layout), "a Layout, or None")
