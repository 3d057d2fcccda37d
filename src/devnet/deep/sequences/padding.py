"""Sequences of different lengths side by side."""

from typing import NamedTuple

import numpy as np

from devnet.deep.sequences.encoding import Encoding
from devnet.deep.sequences.reading import Steps


class Padded(NamedTuple):
    """Encoded steps; values are 0 where one is missing, or beyond a sequence's length."""

    values: np.ndarray  # (b, t, c): standardised numbers, or codes of symbols
    observed: np.ndarray  # (b, t, c) bool
    length: np.ndarray  # (b,)


def pad(steps: Steps, encoding: Encoding, selection: slice | np.ndarray, n_steps: int) -> Padded:
    """The first `n_steps` of some sequences."""
    length = np.minimum(steps.lengths[selection], n_steps)
    first = steps.offsets[:-1][selection]
    step = np.arange(n_steps)
    is_inside = step < length[:, None]  # (b, t)
    index = np.minimum(first[:, None] + step, len(steps.values) - 1)
    values = encoding.apply(steps.values[index.ravel()]).reshape(*index.shape, -1)
    observed = is_inside[:, :, None] & ~np.isnan(values)
    return Padded(np.where(observed, values, 0.0), observed, length)
