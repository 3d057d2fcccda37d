"""Sparse random projection of wide rows, as in the paper, for methods that need narrow ones.

P. Li, T. Hastie, K. Church. Very sparse random projections. KDD 2006.
"""

from math import isqrt
from typing import Self

import numpy as np
import scipy.sparse as sp

from devnet.core.model_file import ModelFileError, ascends, edited, size_of, tensor
from devnet.core.rows import Rows, to_single

N_COMPONENTS = 1000
TILE_ROWS = 4096  # rows projected together
LARGEST = 1e6  # in a model file; those that are drawn are below 10
FEWEST_VALUES = 900  # per sqrt(d); a drawn matrix of d columns has 1,000, give or take a few
TENSORS = {"projection_value": "float64", "projection_column": "int64", "projection_start": "int64"}


class Projection:
    """A sparse matrix (n_components, n_columns) that multiplies rows."""

    def __init__(self, components: sp.csr_array) -> None:
        self._components = components
        self._transposed = components.T.tocsr()
        self.n_components: int = components.shape[0]

    @classmethod
    def draw(cls, n_columns: int, seed: int) -> Self:
        """Draw a projection for rows of this width."""
        from sklearn.random_projection import SparseRandomProjection

        transformer = SparseRandomProjection(N_COMPONENTS, random_state=seed)
        transformer.fit(sp.csr_array((1, n_columns)))
        return cls(sp.csr_array(transformer.components_))

    def apply(self, rows: sp.csr_array) -> np.ndarray:
        """Project rows (b, d) -> (b, n_components), float32; each row independently."""
        projected: np.ndarray = (rows.astype(np.float64) @ self._transposed).toarray()
        return to_single(projected)

    def to_tensors(self) -> dict[str, np.ndarray]:
        """Named arrays of a model file: the three arrays of a CSR matrix."""
        parts = (self._components.data, self._components.indices, self._components.indptr)
        typed = zip(TENSORS.items(), parts, strict=True)
        return {name: part.astype(kind) for (name, kind), part in typed}

    @classmethod
    def from_tensors(cls, tensors: dict[str, np.ndarray], n_columns: int) -> Self:
        """Build the projection of a model file from exactly these arrays."""
        size = size_of(tensors, "projection_value")
        if size < FEWEST_VALUES * isqrt(n_columns):
            raise edited("the projection", f"it has too few values for {n_columns} columns")
        shapes = ((size,), (size,), (N_COMPONENTS + 1,))
        value, column, start = (
            tensor(tensors, name, shape, kind, LARGEST if name == "projection_value" else np.inf)
            for (name, kind), shape in zip(TENSORS.items(), shapes, strict=True)
        )
        in_order = start[0] == 0 and start[-1] == size and ascends(start, strictly=False)
        if not (in_order and ((column >= 0) & (column < n_columns)).all()):
            raise ModelFileError(
                f"the projection of the model file is not a matrix of {N_COMPONENTS} rows and "
                f"{n_columns} columns; the file was edited or damaged."
            )
        return cls(sp.csr_array((value, column, start), shape=(N_COMPONENTS, n_columns)))


class ProjectedRows:
    """Rows that are projected on demand."""

    def __init__(self, rows: Rows, projection: Projection) -> None:
        self.shape = (rows.shape[0], projection.n_components)
        self._rows = rows
        self._projection = projection

    def dense(self, selection: slice | np.ndarray) -> np.ndarray:
        """Rows (b, n_components) as float32, projected in tiles."""
        chosen = np.arange(self.shape[0])[selection]
        made = np.empty((len(chosen), self.shape[1]), np.float32)
        for start in range(0, len(chosen), TILE_ROWS):
            tile = slice(start, start + TILE_ROWS)
            part = self._rows.sparse(chosen[tile])
            if not np.isfinite(part.data).all():  # columns of weight zero would hide it
                self._rows.check_finite()
            made[tile] = self._projection.apply(part)
        return made

    def check_finite(self, rows: slice = slice(None)) -> None:
        """Refuse a value that is missing, infinite or beyond float32, and say where it is."""
        self._rows.check_finite(rows)
