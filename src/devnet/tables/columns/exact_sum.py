"""A sum of floating-point numbers without any rounding."""

from fractions import Fraction

import numpy as np

MANTISSA = 53  # bits
LOW = 27  # of them are summed separately, so that no partial sum is rounded
SHIFT = 1074  # makes exponents of all numbers positive
CHUNK = 1 << 20


class ExactSum:
    """Sum and count of finite float64 numbers, the same in any order and any batches.

    Mantissas are whole numbers. Those of equal exponent are summed in floating point, in two
    parts so small that nothing is lost, and the few sums in Python's unlimited integers.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.tables.columns.exact_sum import ExactSum
    >>> total = ExactSum()
    >>> total.add(np.array([1e308, 1e308, 3.0, -1e308, -1e308]))
    >>> total.mean()
    0.6
    """

    def __init__(self) -> None:
        self.count = 0
        self._total = 0  # in units of 2 ** -(SHIFT + MANTISSA)

    def add(self, values: np.ndarray) -> None:
        """Add an array."""
        self.count += len(values)
        for start in range(0, len(values), CHUNK):
            self._add_chunk(values[start : start + CHUNK])

    def _add_chunk(self, values: np.ndarray) -> None:
        mantissa, exponent = np.frexp(values)
        whole = np.ldexp(mantissa, MANTISSA).astype(np.int64)
        least = int(exponent.min())
        exponent -= least
        for part, bits in ((whole >> LOW, LOW), (whole & ((1 << LOW) - 1), 0)):
            sums = np.bincount(exponent, weights=part)
            for shift in np.flatnonzero(sums).tolist():
                self._total += int(sums[shift]) << (shift + least + SHIFT + bits)

    def __add__(self, other: "ExactSum") -> "ExactSum":
        found = ExactSum()
        found.count, found._total = self.count + other.count, self._total + other._total
        return found

    def mean(self) -> float:
        """The mean, rounded once; 0 if empty."""
        if not self.count:
            return 0.0
        return float(Fraction(self._total, self.count << (SHIFT + MANTISSA)))
