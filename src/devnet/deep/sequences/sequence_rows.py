"""Sequences as the flat rows that the engine draws, tiles and scores.

A row is the sequence's length, its values step by step, whether each was observed, and how
surprising it is. Rows are as wide as the longest of them; what is beyond a sequence's length is
zero, and never observed.
"""

import numpy as np

from devnet.deep.sequences.encoding import Encoding
from devnet.deep.sequences.padding import pad
from devnet.deep.sequences.reading import Steps, place
from devnet.deep.sequences.surprise import Surprise

CHECKED_VALUES = 1 << 20  # values per step of a check for finite values


def row_width(n_steps: int, n_channels: int) -> int:
    """Width of rows for sequences of at most this many steps."""
    return 1 + 3 * n_steps * n_channels


class SequenceRows:
    """Rows (n, 1 + 3 * t * c) made from steps when they are asked for."""

    is_sparse = False

    def __init__(self, steps: Steps, encoding: Encoding, surprise: Surprise) -> None:
        self._steps = steps
        self._encoding = encoding
        self.surprise = surprise
        self.lengths = steps.lengths
        self.is_array = steps.is_array
        self.n_channels = len(encoding.mean)
        self.n_steps = int(self.lengths.max())
        self.shape = (len(self.lengths), row_width(self.n_steps, self.n_channels))

    def dense(self, selection: slice | np.ndarray) -> np.ndarray:
        """Rows (b, d) as float32."""
        padded = pad(self._steps, self._encoding, selection, self.n_steps)
        parts = (padded.values, padded.observed, self.surprise.of(padded))
        rows = np.empty((len(padded.length), self.shape[1]), np.float32)
        rows[:, 0] = padded.length
        with np.errstate(over="ignore"):  # see check_finite
            rows[:, 1:] = np.stack(parts, axis=1).reshape(len(rows), -1)
        return rows

    def select(self, selection: np.ndarray) -> "SequenceRows":
        """A copy of these rows."""
        lengths = self.lengths[selection]
        first = self._steps.offsets[:-1][selection]
        offsets = np.append(0, np.cumsum(lengths))
        index = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], lengths)
        steps = Steps(self._steps.values[index], offsets, self.is_array)
        return SequenceRows(steps, self._encoding, self.surprise)

    def check_finite(self, rows: slice = slice(None)) -> None:
        """Refuse an infinite value, or a sequence without any value, and say where it is."""
        start, stop, _ = rows.indices(self.shape[0])
        height = max(1, CHECKED_VALUES // self.shape[1])
        for first in range(start, stop, height):
            part = self.dense(slice(first, min(first + height, stop)))
            if not np.isfinite(part).all():
                self._refuse_infinite(first + int(np.argwhere(~np.isfinite(part))[0, 0]))

    def refuse_unobserved(self) -> None:
        """Refuse a sequence in which every value is missing."""
        height = max(1, CHECKED_VALUES // self.shape[1])
        for first in range(0, self.shape[0], height):
            part = self.dense(slice(first, first + height))
            seen = part[:, 1:].reshape(len(part), 3, -1)[:, 1].any(axis=1)
            if not seen.all():
                raise ValueError(
                    f"all values of row {first + int(np.argmin(seen))} of X are missing (NaN), so "
                    "it cannot be scored; leave it out."
                )

    def _refuse_infinite(self, row: int) -> None:
        start, stop = self._steps.offsets[row : row + 2]
        values = np.asarray(self._steps.values[start:stop])
        with np.errstate(over="ignore"):
            encoded = self._encoding.apply(values).astype(np.float32)
        step, channel = np.argwhere(np.isinf(encoded))[0]
        raise ValueError(
            f"X contains infinity or a value too large: {values[step, channel]} at "
            f"{place(int(start + step), self._steps.offsets)}, channel {channel}. Clip the values "
            "first, or write NaN if it is missing."
        )
