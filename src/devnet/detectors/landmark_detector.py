"""LandmarkDetector: scores a row by the distance of its representation to landmarks."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from devnet.core.arrays import Array, namespace, to_numpy
from devnet.core.model_file import tensor
from devnet.core.parameters import Constraint, number
from devnet.core.rows import Rows
from devnet.detectors.network_detector import NetworkDetector

LANDMARK_ROWS = 4096  # unlabelled rows used for a mean representation
LARGEST_LANDMARK = 1e100  # in a model file; squared distances stay finite


class LandmarkDetector(NetworkDetector):
    """Trains a representation without an output unit, and keeps points in it as landmarks.

    Abstract. A detector finds its landmarks before or after training, and defines how they score
    a representation. The scores have no scale of their own, so the threshold is the score that a
    share `confidence` of the unlabelled rows stays below.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        **NetworkDetector._constraints,
        "confidence": number(0, below=1),
    }

    landmarks_: np.ndarray

    @abstractmethod
    def _landmark_shape(self, n_outputs: int) -> tuple[int, ...]:
        """Shape of a member's landmarks."""

    def _has_output_unit(self) -> bool:
        return False

    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        return self._unlabelled_quantile(rows, is_anomaly, self.confidence)

    def _n_made(self) -> int:
        return int(np.prod(self.landmarks_.shape[:2]))  # distances

    def _represent(self, rows: Rows) -> np.ndarray:
        """Representations of a few rows by the trained network, (m, n, k) in double precision."""
        span = slice(0, rows.shape[0])
        parts = [to_numpy(outputs).copy() for _, outputs in self.network_.outputs(rows, span)]
        return np.concatenate(parts, axis=1)

    def _tensors(self) -> dict[str, np.ndarray]:
        return {**super()._tensors(), "landmarks": self.landmarks_}

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        others = {name: array for name, array in tensors.items() if name != "landmarks"}
        super()._restore(header, others)
        shape = (self.n_members, *self._landmark_shape(self.network_.n_outputs))
        self.landmarks_ = tensor(tensors, "landmarks", shape, "float64", LARGEST_LANDMARK)


def some(rows: np.ndarray) -> np.ndarray:
    """An even selection of row indices, enough for a mean."""
    return rows[:: -(-len(rows) // LANDMARK_ROWS)]


def squared_distances(outputs: Array, points: Array) -> Array:
    """Squared distances (m, b, p) between representations (m, b, k) and points (m, p, k).

    One product of (x, |x|^2, 1) and (-2 p, 1, |p|^2) passes over the b * p distances once.
    Rounding may leave a tiny negative distance.
    """
    xp = namespace(outputs)
    x_square, p_square = ((part * part).sum(2)[:, :, None] for part in (outputs, points))
    left = xp.concatenate([outputs, x_square, xp.ones_like(x_square)], 2)
    right = xp.concatenate([-2 * points, xp.ones_like(p_square), p_square], 2)
    return left @ right.swapaxes(1, 2)
