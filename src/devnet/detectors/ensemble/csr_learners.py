"""What learners of CSR rows share: how rows come to them."""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from devnet.core.rows import Rows, sparse_tiles
from devnet.detectors.ensemble.learners import Learners

POOL_ROWS = 20_000  # more do not help


class CsrLearners(Learners):
    """Learners whose rows are CSR, as nearly all of their columns are zero; abstract."""

    takes_csr = True

    @staticmethod
    def n_pool_rows(n_columns: int) -> int:
        """The same for any number of columns: a row stores few of them."""
        return POOL_ROWS

    @staticmethod
    def gather(rows: Rows, indices: np.ndarray) -> sp.csr_array:
        """Training rows as CSR."""
        return rows.sparse(indices)

    def tiles(self, rows: Rows, span: slice) -> Iterator[tuple[slice, sp.csr_array]]:
        """Yield the rows of a span as CSR tiles."""
        return sparse_tiles(rows, span, self._n_made)

    @property
    @abstractmethod
    def _n_made(self) -> int:
        """How many values scores and contributions make of one row, besides its own."""
