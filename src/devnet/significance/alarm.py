"""Which rows of a table are alerts, given from which score on."""

from typing import NamedTuple

import numpy as np


class Threshold(NamedTuple):
    """The score above which rows are alerts, and how many that are just as high are alerts too."""

    score: float  # infinite where no row is an alert
    n_equal: int = 0  # the first ones of the table


class Alarm:
    """Tells which rows of a table are alerts, batch by batch, in the order of the rows."""

    def __init__(self, threshold: Threshold) -> None:
        self._threshold = threshold.score
        self._n_equal = threshold.n_equal

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Whether each row of the next batch is an alert."""
        is_alert: np.ndarray = scores > self._threshold
        if self._n_equal:
            equal = np.flatnonzero(scores == self._threshold)[: self._n_equal]
            is_alert[equal] = True
            self._n_equal -= len(equal)
        return is_alert
