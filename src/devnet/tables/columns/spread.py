"""How the values of a column are spread among labelled anomalies and among other rows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from devnet.core.model_file import edited, field, is_count, is_finite_number, is_text
from devnet.core.wording import number_text, share_text

MOST_POINTS = 20  # distinct numbers that are counted one by one
N_RANGES = 20
ENDS = (0.01, 0.99)  # of the ranges; values beyond are in the first or the last
SKEWED = 5  # times as far from one end to the median as from the other
NEAR = 0.1  # least share of other rows in a range around a value
SAME = 1e-6  # of its size and of the span of all: by so much a value may miss its point
FARTHEST = 1e300  # end of a range; differences of such are finite
FEW = 10  # labelled anomalies; fewer are counted, not given in percent


class Places(NamedTuple):
    """Where rows stand in a column."""

    at: np.ndarray  # (n,) a number, or which of `names`; nan where the value is missing
    names: tuple[str, ...] = ()  # of the values, if these are not numbers
    of: str = ""  # the part of the value that is meant, such as "hour"


class Shares(NamedTuple):
    """Rows with a property."""

    anomalies: int
    others: int
    n_anomalies: int  # with or without it
    n_others: int

    @property
    def of_anomalies(self) -> str:
        """Their share in words; of few anomalies, their number."""
        if self.n_anomalies < FEW:
            return f"{self.anomalies} of {self.n_anomalies} anomalies"
        return f"{share_text(self.anomalies / self.n_anomalies)} of anomalies"

    @property
    def of_others(self) -> str:
        """The share of other rows in words."""
        return f"{share_text(self.others / self.n_others)} of other rows"

    def both(self) -> str:
        """Both in words: "41% of anomalies and 8% of other rows"."""
        return f"{self.of_anomalies} and {self.of_others}"

    @property
    def are_telling(self) -> bool:
        """Whether the property is more common among anomalies, so that it explains a high score."""
        return self.anomalies * self.n_others > self.others * self.n_anomalies

    def clause(self, start: str) -> str:
        """Both behind a value: ", as 41% of anomalies and 8% of other rows"; else nothing."""
        return f", {start} {self.both()}" if self.are_telling else ""

    def in_brackets(self, about: str) -> str:
        """Both behind a sentence: " (from 50: 41% of anomalies, 8% of other rows)"; or nothing."""
        return f" ({about}: {self.of_anomalies}, {self.of_others})" if self.are_telling else ""


@dataclass(frozen=True)
class Spread:
    """Counts of labelled anomalies and of other rows in the cells of a column.

    A cell is a value with a name, a single number, or a range between two of `ends`; one of
    `names`, `points` and `ends` is given.
    """

    anomalies: tuple[int, ...]  # by cell
    others: tuple[int, ...]
    n_anomalies: int  # including those without a value
    n_others: int
    names: tuple[str, ...] = ()
    points: tuple[float, ...] = ()
    ends: tuple[float, ...] = ()
    of: str = ""

    @classmethod
    def learn(cls, others: Places, anomalies: Places) -> Self | None:
        """Count the rows of both; None if there is nothing to count."""
        known = others.at[~np.isnan(others.at)]
        if not len(known) or not len(anomalies.at):
            return None
        cells: dict[str, Any] = {"names": others.names}
        if not others.names:
            points = np.unique(np.concatenate([known, anomalies.at[~np.isnan(anomalies.at)]]))
            is_few = len(points) <= MOST_POINTS
            cells = {"points": _floats(points)} if is_few else {"ends": _ends(known)}
        empty = cls((), (), len(anomalies.at), len(others.at), **cells, of=others.of)
        return replace(
            empty,
            anomalies=_counts(empty.cells(anomalies.at), empty.n_cells),
            others=_counts(empty.cells(others.at), empty.n_cells),
        )

    @cached_property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self.names) or len(self.points) or max(len(self.ends) - 1, 0)

    def cells(self, at: np.ndarray) -> np.ndarray:
        """The cell of each place, -1 where there is none."""
        known = np.where(np.isnan(at), 0.0, at)
        if self.names:
            cell = known.astype(np.int64)
            found = cell < len(self.names)
        elif self.points:
            points = np.asarray(self.points)
            cell = np.searchsorted(points[:-1] / 2 + points[1:] / 2, known)
            found = _is_near(known, points[cell], points[-1] / 2 - points[0] / 2)
        else:
            inner = np.asarray(self.ends[1:-1])
            cell = np.searchsorted(inner, known, side="right")
            found = np.ones(len(at), dtype=bool)
        chosen: np.ndarray = np.where(found & ~np.isnan(at), cell, -1)
        return chosen

    def counts(self, at: np.ndarray) -> np.ndarray:
        """Rows at places with a value, by cell; those that are in none share one more."""
        cells = self.cells(at[~np.isnan(at)])
        return np.bincount(np.where(cells < 0, self.n_cells, cells), minlength=self.n_cells + 1)

    def learned_counts(self) -> np.ndarray:
        """Other rows of training by cell, as `counts` has them."""
        return np.append(self.others, 0)

    def cell(self, at: float | None) -> int | None:
        """The cell of one place; None without one."""
        if at is None:
            return None
        found = int(self.cells(np.array([at]))[0])
        return None if found < 0 else found

    def shares(self, first: int, last: int) -> Shares:
        """Rows in the cells from the first to the last, both included."""
        part = slice(first, last + 1)
        counts = sum(self.anomalies[part]), sum(self.others[part])
        return Shares(*counts, self.n_anomalies, self.n_others)

    def shares_by_cell(self) -> np.ndarray:
        """Shares of other rows and of anomalies in each cell, (2, n_cells)."""
        return np.array([self.others, self.anomalies]) / [[self.n_others], [self.n_anomalies]]

    def missing(self) -> Shares:
        """Rows that are in no cell."""
        inside = self.shares(0, self.n_cells)
        n_anomalies, n_others = self.n_anomalies, self.n_others
        without = n_anomalies - inside.anomalies, n_others - inside.others
        return Shares(*without, n_anomalies, n_others)

    def around(self, cell: int) -> str:
        """The range around a cell that is not too rare, with its shares, in brackets."""
        first = last = cell
        while self.shares(first, last).others < NEAR * self.n_others:
            if first == 0 and last == self.n_cells - 1:
                break
            first, last = max(first - 1, 0), min(last + 1, self.n_cells - 1)
        return self._in_brackets(first, last)

    def as_high(self, cell: int) -> str:
        """The range from a cell up, with its shares, in brackets."""
        return self._in_brackets(cell, self.n_cells - 1)

    def as_low(self, cell: int) -> str:
        """The range from a cell down, with its shares, in brackets."""
        return self._in_brackets(0, cell)

    def _in_brackets(self, first: int, last: int) -> str:
        about = f"{self.of} {self._range(first, last)}".strip()
        return self.shares(first, last).in_brackets(about)

    def _range(self, first: int, last: int) -> str:
        """Cells in words; the first and the last reach further than the ends."""
        low, high = self._text(self.ends[first]), self._text(self.ends[last + 1])
        if first == 0 and last == self.n_cells - 1:
            return "any value"
        if first == 0:
            return f"below {high}"
        return f"from {low}" if last == self.n_cells - 1 else f"{low} to {high}"

    def label(self, cell: int) -> str:
        """A cell in words."""
        if cell == self.n_cells:
            return "other values"
        if self.names:
            return self.names[cell]
        return self._text(self.points[cell]) if self.points else self._range(cell, cell)

    def _text(self, number: float) -> str:
        return f"{number:.4g}" if self.of == "year" else number_text(number)

    def change(self, found: np.ndarray) -> str:
        """The cell, or the half of the ranges, of which other rows than these had another share."""
        here, there = (rows / rows.sum() for rows in (found, self.learned_counts()))
        if not self.ends:
            cell = int(np.abs(here - there).argmax())
            about = f"{self.of} {self.label(cell)}".strip()
        else:
            above = [share[::-1].cumsum()[::-1] for share in (here, there)]
            cell = 1 + int(np.abs(above[0] - above[1])[1:-1].argmax())
            here, there = above
            about = f"{self.of} {self._range(cell, self.n_cells - 1)}".strip()
        return f"{about}: {share_text(here[cell])} of values, {share_text(there[cell])} in training"

    def to_header(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def from_header(cls, header: Any) -> Self:
        """Invert `to_header`, with everything checked."""
        if not isinstance(header, dict):
            raise edited("the spread of a column", "it is not a list of named values")
        anomalies, others = (
            tuple(field(header, name, lambda v: _is_list(v, lambda n: is_count(n, 0))))
            for name in ("anomalies", "others")
        )
        found = cls(
            anomalies,
            others,
            n_anomalies=field(header, "n_anomalies", is_count),
            n_others=field(header, "n_others", is_count),
            names=tuple(field(header, "names", lambda v: _is_list(v, is_text))),
            points=tuple(field(header, "points", _are_ascending)),
            ends=tuple(field(header, "ends", _are_ascending)),
            of=field(header, "of", is_text),
        )
        if not found._is_possible():
            raise edited("the spread of a column", "its counts do not belong to its cells")
        return found

    def _is_possible(self) -> bool:
        n_given = sum(map(bool, (self.names, self.points, self.ends)))
        counts = (self.anomalies, self.others)
        fits = all(len(one) == self.n_cells > 0 for one in counts)
        totals = (self.n_anomalies, self.n_others)
        adds_up = all(sum(one) <= total for one, total in zip(counts, totals, strict=True))
        return n_given == 1 and fits and adds_up


class Place(NamedTuple):
    """Where one row stands in a column."""

    at: float | None  # None if the value is missing
    spread: Spread


def _counts(cells: np.ndarray, n_cells: int) -> tuple[int, ...]:
    return tuple(np.bincount(cells[cells >= 0], minlength=n_cells).tolist())


def _is_near(values: np.ndarray, points: np.ndarray, half_span: float) -> np.ndarray:
    """Whether values are points but for rounding; halves of any numbers have finite differences."""
    leeway = SAME * half_span + SAME / 2 * np.abs(points)
    found: np.ndarray = np.abs(values / 2 - points / 2) <= leeway
    return found


def _ends(known: np.ndarray) -> tuple[float, ...]:
    """Round ends of ranges: of equal width, or of equal ratio where there is a long tail."""
    known = np.clip(known, -FARTHEST, FARTHEST)
    low, high = np.quantile(known, ENDS)
    if not high > low:
        low, high = known.min(), known.max()
    below, above = np.median(known) - low, high - np.median(known)
    steps = np.linspace(0, 1, N_RANGES + 1)
    if max(below, above) <= SKEWED * min(below, above):
        return _rounded(low + (high - low) * steps)
    size = np.abs(known[known != 0])
    bend = max(np.quantile(size, NEAR), size.max() / 1e4)  # where ranges become even again
    start, stop = np.arcsinh(np.array([low, high]) / bend)
    return _rounded(bend * np.sinh(start + (stop - start) * steps))


def _rounded(ends: np.ndarray) -> tuple[float, ...]:
    """Ends with as many digits as it takes to tell them apart."""
    width = np.diff(ends, append=2 * ends[-1] - ends[-2])
    digits = -np.floor(np.log10(np.maximum(width, 1e-300))).astype(int)
    found = [round(float(end), int(n)) for end, n in zip(ends, digits, strict=True)]
    unique = np.unique(found)
    above = unique[0] + max(1.0, abs(unique[0]))
    return _floats(unique if len(unique) > 1 else np.array([unique[0], above]))


def _floats(values: Sequence[float] | np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _is_list(value: Any, accepts: Any) -> bool:
    return isinstance(value, list) and all(map(accepts, value))


def _are_ascending(value: Any) -> bool:
    return _is_list(value, is_finite_number) and value == sorted(set(value))
