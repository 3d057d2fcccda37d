"""Rank-normal encoding: a value becomes the normal quantile of its rank among unlabelled rows."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from devnet.core.model_file import ascends, edited, size_of, tensor

MAX_KNOTS = 256  # of a column; between knots the encoding is linear
EXTREME = 4.0  # the largest normal score, that of one row in 30,000
LARGEST = np.float32(1e38)  # values beyond are clipped, so that differences stay finite
RESOLUTION = 128  # normal scores are multiples of 1 / 128
N_CELLS = 512  # of the grid that locates the knots around a value
FEW_ROWS = 64  # up to which all columns are encoded together
TENSORS = ("encoding_knots", "encoding_normal", "encoding_start")


class RankNormal:
    """Maps each column to normal scores, whatever its scale, skew or outliers.

    A column's knots are its distinct values among the training rows, or quantiles of them if there
    are many. A knot maps to the normal quantile of its mid-rank, so that ties share one score. A
    value beyond the knots maps to the score of the outermost knot; in a constant column, any other
    value maps to an extreme. Scores are rounded to a grid on which products with weights can be
    summed without rounding.

    Parameters
    ----------
    knots, normal : float32 arrays of shape (n_knots,)
        Values, ascending within a column, and their normal scores, column after column.
    start : int64 array of shape (d,)
        Index of each column's first knot.
    """

    def __init__(self, knots: np.ndarray, normal: np.ndarray, start: np.ndarray) -> None:
        self._knots = knots
        self._normal = normal
        self._start = start
        self._groups = _group(knots, normal, start)

    @classmethod
    def learn(cls, rows: np.ndarray) -> Self:
        """Learn from rows (n, d)."""
        columns = [_knots(column) for column in np.sort(rows, axis=0).T]
        sizes = [len(knots) for knots, _ in columns]
        start = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        knots, normal = zip(*columns, strict=True)
        return cls(np.concatenate(knots), np.concatenate(normal).astype(np.float32), start)

    @property
    def n_columns(self) -> int:
        """Number of columns d."""
        return len(self._start)

    @property
    def n_knots(self) -> np.ndarray:
        """Number of knots of each column, (d,)."""
        return np.diff(self._start, append=len(self._knots))

    def padded(self) -> tuple[np.ndarray, np.ndarray]:
        """Knots and normal scores by column, (n_knots, d); the last of a column is repeated."""
        sizes = self.n_knots
        index = np.minimum(np.arange(sizes.max())[:, None], sizes - 1) + self._start
        return self._knots[index], self._normal[index]

    def select(self, columns: np.ndarray) -> Self:
        """The encoding of these columns alone."""
        sizes = self.n_knots[columns]
        kept = np.isin(np.repeat(np.arange(self.n_columns), self.n_knots), columns)
        start = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        return type(self)(self._knots[kept], self._normal[kept], start)

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Normal scores of rows, (b, d) -> (b, d) float32, in multiples of 1 / RESOLUTION."""
        if len(self._groups) == 1:
            return self._groups[0].encode(rows)
        if len(rows) <= FEW_ROWS:
            return self._together.encode(rows)
        encoded = np.empty(rows.shape, np.float32)
        for group in self._groups:
            encoded[:, group.columns] = group.encode(rows[:, group.columns])
        return encoded

    @cached_property
    def _together(self) -> "_Group":
        """All columns, for few rows: steps that a column does not need lead nowhere."""
        return _Group(np.arange(self.n_columns), _columns(self._knots, self._normal, self._start))

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return dict(zip(TENSORS, (self._knots, self._normal, self._start), strict=True))

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore the encoding from the arrays of a model file, after checking them."""
        size = size_of(tensors, TENSORS[0])
        knots = tensor(tensors, TENSORS[0], (size,))
        normal = tensor(tensors, TENSORS[1], (size,))
        start = tensor(tensors, TENSORS[2], (n_columns,), "int64")
        is_first = np.zeros(size + 1, dtype=bool)
        in_order = start[0] == 0 and ascends(start) and start[-1] < size
        if in_order and (np.diff(start, append=size) >= 2).all():
            is_first[start] = True
            rises = [(np.diff(part) > 0) | is_first[1:size] for part in (knots, normal)]
            is_bounded = np.abs(knots).max() <= LARGEST and np.abs(normal).max() <= EXTREME
            if np.all(rises) and is_bounded:
                return cls(knots, normal, start)
        raise edited(
            "the encoding", "each column must have at least two knots, ascending and within bounds"
        )


def _knots(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots of sorted values (n,), and their normal scores."""
    column = np.clip(column, -LARGEST, LARGEST)
    values, counts = np.unique(column, return_counts=True)
    if len(values) == 1:
        neighbours = (np.nextafter(values, end) for end in (-LARGEST, LARGEST))
        values, constant = np.unique([*neighbours, values]), values  # LARGEST has only one
        return values, EXTREME * np.sign(values - constant)
    below = np.cumsum(counts) - counts
    rank = (below + counts / 2) / len(column)
    if len(values) > MAX_KNOTS:
        positions = np.linspace(0, len(column) - 1, MAX_KNOTS).round()
        chosen = np.unique(np.searchsorted(below, positions, side="right") - 1)
        values, rank = values[chosen], rank[chosen]
    return values, np.clip(ndtri(rank), -EXTREME, EXTREME)


class _Group:
    """Columns whose values are located among the knots in the same number of steps.

    A regular grid over the inner knots of a column gives a first knot at or below a value;
    bisection then separates the knots that share a cell. That takes a fifth of the time of
    `numpy.interp`, which searches all knots of one column at a time.
    """

    def __init__(self, columns: np.ndarray, parts: list["_Column"]) -> None:
        self.columns = columns
        sizes = [len(part.knots) for part in parts]
        start = np.cumsum([0, *sizes[:-1]])
        self._low, self._high = (
            np.array([part.knots[end] for part in parts]) for end in (0, -2)
        )  # the last but one: an infinite knot follows those of each column
        self._grid_low = np.array([part.grid_low for part in parts])
        self._cells_per_unit = np.array([part.cells_per_unit for part in parts])
        self._knots = np.concatenate([part.knots for part in parts])
        self._normal = np.concatenate([part.normal for part in parts])
        self._slope = np.concatenate([part.slope for part in parts])
        self._end = start + np.array(sizes) - 1
        self._first = np.concatenate([s + part.first for s, part in zip(start, parts, strict=True)])
        self._cell_start = np.arange(len(parts)) * N_CELLS
        self._n_steps = max(part.n_steps for part in parts)

    def encode(self, rows: np.ndarray) -> np.ndarray:
        values: np.ndarray = np.minimum(np.maximum(rows, self._low), self._high)  # (b, d)
        index = _cell(values, self._grid_low, self._cells_per_unit)
        index += self._cell_start
        knot = self._first.take(index)
        for step in range(self._n_steps - 1, -1, -1):
            ahead = np.minimum(knot + (1 << step), self._end, out=index)
            knot = np.where(values >= self._knots.take(ahead), ahead, knot)
        values -= self._knots.take(knot)
        values *= self._slope.take(knot)
        values += self._normal.take(knot)
        np.rint(values, out=values)
        values /= RESOLUTION
        return values


class _Column:
    """What a group needs to know about a column."""

    def __init__(self, knots: np.ndarray, normal: np.ndarray) -> None:
        inner = knots[1:-1] if len(knots) > 3 else knots
        span = float(inner[-1]) - float(inner[0])
        self.grid_low = inner[0]
        self.cells_per_unit = np.float32(min(N_CELLS / max(span, 1e-30), 1e30))
        cell = _cell(knots, self.grid_low, self.cells_per_unit)
        # A value is above all knots of the cells before its own, and may be above those in its own.
        self.first = np.maximum(np.searchsorted(cell, np.arange(N_CELLS)) - 1, 0)
        last = np.searchsorted(cell, np.arange(N_CELLS), side="right") - 1
        self.n_steps = int(np.max(last - self.first)).bit_length()
        self.knots = np.append(knots, np.float32(np.inf))
        self.normal = np.append(normal, normal[-1]) * np.float32(RESOLUTION)
        rise, width = np.diff(self.normal[:-1]), np.diff(knots.astype(np.float64))
        # Only between neighbouring floats is a slope too steep for float32: nothing to interpolate.
        self.slope = np.append(np.minimum(rise / width, LARGEST), [0, 0]).astype(np.float32)


def _cell(values: np.ndarray, low: Any, cells_per_unit: Any) -> np.ndarray:
    """Index of the cell of each value; values beyond the grid go to the outermost cells."""
    cell: np.ndarray = values - low
    with np.errstate(over="ignore"):
        cell *= cells_per_unit
    np.maximum(cell, 0, out=cell)
    np.minimum(cell, N_CELLS - 1, out=cell)
    return cell.astype(np.intp)


def _columns(knots: np.ndarray, normal: np.ndarray, start: np.ndarray) -> list[_Column]:
    pairs = zip(np.split(knots, start[1:]), np.split(normal, start[1:]), strict=True)
    return [_Column(*pair) for pair in pairs]


def _group(knots: np.ndarray, normal: np.ndarray, start: np.ndarray) -> list[_Group]:
    parts = _columns(knots, normal, start)
    n_steps = np.array([part.n_steps for part in parts])
    groups = []
    for steps in np.unique(n_steps):
        columns = np.flatnonzero(n_steps == steps)
        groups.append(_Group(columns, [parts[c] for c in columns]))
    return groups
