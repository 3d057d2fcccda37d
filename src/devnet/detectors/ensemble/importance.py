"""Which columns matter to an ensemble; those that do not take no memory."""

from typing import Any, NamedTuple, Self

import numpy as np

from devnet.core.layout import MAX_COLUMNS
from devnet.core.model_file import edited, size_of
from devnet.detectors.ensemble.pool import read_ascending, read_shares

ROUNDING = 1e-6  # by which the sum of all shares may exceed 1


class Importance(NamedTuple):
    """Shares of columns in the contributions to the scores of labelled anomalies."""

    columns: np.ndarray  # (i,) those with a share above 0, ascending
    share: np.ndarray  # (i,) adds up to 1
    n_columns: int

    @classmethod
    def of(cls, contributions: Any) -> Self:
        """Mean absolute contributions (n, d), dense or CSR, relative to their sum."""
        size = np.asarray(abs(contributions).sum(axis=0)).ravel()
        share = size / (size.sum() or 1.0)
        columns = np.flatnonzero(share)
        return cls(columns, share[columns], len(share))

    def of_all(self) -> np.ndarray:
        """The share of every column, (d,)."""
        shares = np.zeros(self.n_columns)
        shares[self.columns] = self.share
        return shares

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file."""
        return {"important_column": self.columns, "importance": self.share}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Restore from the arrays of a model file, after checking them."""
        if n_columns > MAX_COLUMNS:
            raise edited("the ensemble", f"{n_columns} columns are more than it can learn from")
        size = size_of(tensors, "important_column")
        columns = read_ascending(tensors, "important_column", size, n_columns)
        share = read_shares(tensors, "importance", size)
        if share.sum() > 1 + ROUNDING:
            raise edited("the ensemble", "the importance of columns must add up to 1")
        return cls(columns, share, n_columns)
