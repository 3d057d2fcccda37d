"""Rank-normal encoding: a value becomes the normal quantile of its rank among unlabelled rows."""

from typing import Any, Self

import numpy as np
from scipy.special import ndtri

from devnet.core.model_file import edited, size_of, tensor

MAX_KNOTS = 256  # of a column; between two of them the encoding is linear
EXTREME = 4.0  # the farthest normal score, that of one row in 30,000
LARGEST = np.float32(1e38)  # values beyond it are taken for it, so that differences stay finite
RESOLUTION = 128  # normal scores are multiples of 1 / 128
N_CELLS = 512  # of the grid that finds the knots around a value
TENSORS = ("encoding_knots", "encoding_normal", "encoding_start")


class RankNormal:
    """Maps each column to normal scores, whatever its scale, skew or outliers.

    A column's knots are its distinct values among the rows it was learned on, or quantiles of them
    where there are many. A knot is worth the normal quantile of its mid-rank, so that ties share
    one. A value beyond the knots is worth the outermost one, and in a column that was constant
    any other value is worth an extreme. What comes out is rounded to a grid, on which products
    with weights can be summed without rounding.

    Parameters
    ----------
    knots, normal : float32 arrays of shape (n_knots,)
        Values, ascending, and normal scores of one column after the other.
    start : int64 array of shape (d,)
        Where each column begins.
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
        """Columns d."""
        return len(self._start)

    @property
    def n_knots(self) -> np.ndarray:
        """Knots of each column, (d,)."""
        return np.diff(self._start, append=len(self._knots))

    def select(self, columns: np.ndarray) -> Self:
        """The encoding of these columns alone."""
        sizes = self.n_knots[columns]
        kept = np.isin(np.repeat(np.arange(self.n_columns), self.n_knots), columns)
        start = np.cumsum([0, *sizes[:-1]], dtype=np.int64)
        return type(self)(self._knots[kept], self._normal[kept], start)

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Normal scores of rows, (b, d) float32 twice, in multiples of 1 / RESOLUTION."""
        if len(self._groups) == 1:
            return self._groups[0].encode(rows)
        encoded = np.empty(rows.shape, np.float32)
        for group in self._groups:
            encoded[:, group.columns] = group.encode(rows[:, group.columns])
        return encoded

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return dict(zip(TENSORS, (self._knots, self._normal, self._start), strict=True))

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Take over the encoding of a model file, or say what is wrong with it."""
        size = size_of(tensors, TENSORS[0])
        knots = tensor(tensors, TENSORS[0], (size,))
        normal = tensor(tensors, TENSORS[1], (size,))
        start = tensor(tensors, TENSORS[2], (n_columns,), "int64")
        sizes = np.diff(start, append=size)
        is_first = np.zeros(size + 1, dtype=bool)
        if start[0] == 0 and (sizes >= 2).all():
            is_first[start] = True
            ascends = [(np.diff(part) > 0) | is_first[1:size] for part in (knots, normal)]
            is_bounded = np.abs(knots).max() <= LARGEST and np.abs(normal).max() <= EXTREME
            if np.all(ascends) and is_bounded:
                return cls(knots, normal, start)
        raise edited(
            "the encoding", "each column must have two knots or more, ascending and within bounds"
        )


def _knots(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots and their normal scores, of sorted values (n,)."""
    column = np.clip(column, -LARGEST, LARGEST)
    values, counts = np.unique(column, return_counts=True)
    if len(values) == 1:
        beside = (np.nextafter(values, end) for end in (-LARGEST, LARGEST))
        values, constant = np.unique([*beside, values]), values  # nothing is beside the largest
        return values, EXTREME * np.sign(values - constant)
    below = np.cumsum(counts) - counts
    rank = (below + counts / 2) / len(column)
    if len(values) > MAX_KNOTS:
        places = np.linspace(0, len(column) - 1, MAX_KNOTS).round()
        chosen = np.unique(np.searchsorted(below, places, side="right") - 1)
        values, rank = values[chosen], rank[chosen]
    return values, np.clip(ndtri(rank), -EXTREME, EXTREME)


class _Group:
    """Columns whose values are found among the knots in the same number of steps.

    A grid of even cells over the inner knots of a column says which knot a value is behind at
    least; halving then tells the knots apart that share a cell. That takes a fifth of the time of
    `numpy.interp`, which searches all knots of one column at a time.
    """

    def __init__(self, columns: np.ndarray, parts: list["_Column"]) -> None:
        self.columns = columns
        sizes = [len(part.knots) for part in parts]
        start = np.cumsum([0, *sizes[:-1]])
        self._low, self._high = (
            np.array([part.knots[end] for part in parts]) for end in (0, -2)
        )  # the last but one: behind the knots of each column stands an infinite one
        self._grid_low = np.array([part.grid_low for part in parts])
        self._cells_per_unit = np.array([part.cells_per_unit for part in parts])
        self._knots = np.concatenate([part.knots for part in parts])
        self._normal = np.concatenate([part.normal for part in parts])
        self._slope = np.concatenate([part.slope for part in parts])
        self._end = start + np.array(sizes) - 1
        self._first = np.concatenate([s + part.first for s, part in zip(start, parts, strict=True)])
        self._cell_start = np.arange(len(parts)) * N_CELLS
        self._n_steps = parts[0].n_steps

    def encode(self, rows: np.ndarray) -> np.ndarray:
        values: np.ndarray = np.clip(rows, self._low, self._high)  # (b, d)
        places = _cell(values, self._grid_low, self._cells_per_unit)
        places += self._cell_start
        knot = self._first.take(places)
        for step in range(self._n_steps - 1, -1, -1):
            ahead = np.minimum(knot + (1 << step), self._end, out=places)
            knot = np.where(values >= self._knots.take(ahead), ahead, knot)
        values -= self._knots.take(knot)
        values *= self._slope.take(knot)
        values += self._normal.take(knot)
        np.rint(values, out=values)
        values /= RESOLUTION
        return values


class _Column:
    """What a group needs to know of a column."""

    def __init__(self, knots: np.ndarray, normal: np.ndarray) -> None:
        inner = knots[1:-1] if len(knots) > 3 else knots
        span = float(inner[-1]) - float(inner[0])
        self.grid_low = inner[0]
        self.cells_per_unit = np.float32(min(N_CELLS / max(span, 1e-30), 1e30))
        cell = _cell(knots, self.grid_low, self.cells_per_unit)
        # A value of a cell is behind all knots of the cells before, and may be behind its own ones.
        self.first = np.maximum(np.searchsorted(cell, np.arange(N_CELLS)) - 1, 0)
        last = np.searchsorted(cell, np.arange(N_CELLS), side="right") - 1
        self.n_steps = int(np.max(last - self.first)).bit_length()
        self.knots = np.append(knots, np.float32(np.inf))
        self.normal = np.append(normal, normal[-1]) * np.float32(RESOLUTION)
        rise, width = np.diff(self.normal[:-1]), np.diff(knots.astype(np.float64))
        # Steeper than float32 holds only between neighbours, where there is nothing to interpolate.
        self.slope = np.append(np.minimum(rise / width, LARGEST), [0, 0]).astype(np.float32)


def _cell(values: np.ndarray, low: Any, cells_per_unit: Any) -> np.ndarray:
    """Number of the cell that each value is in, also of one far beyond the grid."""
    cell: np.ndarray = values - low
    with np.errstate(over="ignore"):
        cell *= cells_per_unit
    np.clip(cell, 0, N_CELLS - 1, out=cell)
    return cell.astype(np.intp)


def _group(knots: np.ndarray, normal: np.ndarray, start: np.ndarray) -> list[_Group]:
    parts = [
        _Column(*pair)
        for pair in zip(np.split(knots, start[1:]), np.split(normal, start[1:]), strict=True)
    ]
    n_steps = np.array([part.n_steps for part in parts])
    groups = []
    for steps in np.unique(n_steps):
        columns = np.flatnonzero(n_steps == steps)
        groups.append(_Group(columns, [parts[c] for c in columns]))
    return groups
