"""Balanced batches: half labelled anomalies, half unlabelled rows (Algorithm 1, step 4)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from devnet.core.arrays import Array, ToDevice
from devnet.core.known_normals import learning_weight
from devnet.core.labels import Labels
from devnet.core.rows import Rows

GATHERED_VALUES = 1 << 18  # values of dense rows gathered from the caller's matrix per call


class Batch(NamedTuple):
    """One step's rows for each of m members.

    A labelled anomaly that is drawn several times appears once, with its multiplicity as weight:
    256 draws from 30 anomalies are 30 rows to compute, and the loss is the same.
    """

    step: int
    rows: Array | list[sp.csr_array]  # (m, b, d) dense, or m CSR matrices (b, d)
    is_anomaly: Array  # (m, b, 1) bool
    weight: Array  # (m, b, 1): draws of the row / batch size; sums to 1 over b


class Halves(NamedTuple):
    """Indices of the training rows, without those of weight zero."""

    labelled: np.ndarray
    unlabelled: np.ndarray
    unlabelled_weight: np.ndarray | None  # None if all weigh the same


def find_halves(is_anomaly: np.ndarray, sample_weight: np.ndarray | None) -> Halves:
    """Find the rows that a sampler can draw."""
    if sample_weight is None:
        return Halves(np.flatnonzero(is_anomaly), np.flatnonzero(~is_anomaly), None)
    counts = sample_weight > 0
    unlabelled = np.flatnonzero(~is_anomaly & counts)
    return Halves(np.flatnonzero(is_anomaly & counts), unlabelled, sample_weight[unlabelled])


class BalancedSampler:
    """Draws with replacement, each member from its own generator.

    Parameters
    ----------
    rows : Rows
        The training rows, labelled and unlabelled.
    labels : Labels
        Of these rows. Without labelled anomalies, batches are half as large.
    batch_size : int
        Draws per step, an even number.
    n_steps : int
        Number of steps to draw.
    generators : sequence of numpy Generators
        One per member.
    sample_weight : (n,) array, optional
        Within its half a row is drawn with probability proportional to its weight; that of known
        normal rows is raised, see `learning_weight`.
    counted : bool, default=True
        Whether a labelled anomaly that is drawn several times appears once, with its multiplicity
        as weight; not where every drawing of an image is changed in a way of its own.
    """

    def __init__(
        self,
        rows: Rows,
        labels: Labels,
        *,
        batch_size: int,
        n_steps: int,
        generators: Sequence[np.random.Generator],
        sample_weight: np.ndarray | None = None,
        counted: bool = True,
    ) -> None:
        self._rows = rows
        is_anomaly, sample_weight = labels.is_anomaly, learning_weight(labels, sample_weight)
        half = batch_size // 2
        labelled = _Pool(np.flatnonzero(is_anomaly), sample_weight)
        unlabelled = _Pool(np.flatnonzero(~is_anomaly), sample_weight)
        indices, counts = [], []
        for generator in generators:
            anomalies, multiplicity = labelled.draw_counted(n_steps, half, generator, counted)
            others = unlabelled.draw(n_steps, half, generator)
            indices.append(np.concatenate([anomalies, others], axis=1))
            counts.append(np.concatenate([multiplicity, np.ones_like(others)], axis=1))
        self._indices = np.stack(indices, axis=1)  # (n_steps, m, b)
        n_draws = batch_size if is_anomaly.any() else half
        self._weights = np.stack(counts, axis=1).astype(np.float32) / np.float32(n_draws)
        row_is_anomaly = np.arange(self._indices.shape[2]) < anomalies.shape[1]
        self._is_anomaly = np.tile(row_is_anomaly, (len(generators), 1))  # (m, b)

    def batches(self, to_device: ToDevice, *, sparse: bool) -> Iterator[Batch]:
        """Yield the drawn batches in order, with dense rows or with CSR rows."""
        is_anomaly = to_device(self._is_anomaly[:, :, None])
        weights = to_device(self._weights[:, :, :, None])
        gathered = self._sparse() if sparse else self._dense(to_device)
        for step, rows in enumerate(gathered):
            yield Batch(step, rows, is_anomaly, weights[step])

    def _dense(self, to_device: ToDevice) -> Iterator[Array]:
        n_steps, m, b = self._indices.shape
        d = self._rows.shape[1]
        block = max(1, GATHERED_VALUES // (m * b * d))  # in steps; one large gather beats many
        for start in range(0, n_steps, block):
            rows = self._rows.dense(self._indices[start : start + block].ravel())
            yield from to_device(rows).reshape(-1, m, b, d)

    def _sparse(self) -> Iterator[list[sp.csr_array]]:
        for step in self._indices:
            yield [self._rows.sparse(member) for member in step]


class _Pool:
    """The rows of one half, drawn uniformly or by weight."""

    def __init__(self, indices: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._indices = indices
        self._probability: np.ndarray | None = None
        if sample_weight is not None:
            weight = sample_weight[indices]
            self._indices = indices[weight > 0]
            self._probability = weight[weight > 0] / weight.sum()

    def draw(self, n_steps: int, size: int, generator: np.random.Generator) -> np.ndarray:
        """Row indices (n_steps, size)."""
        return generator.choice(self._indices, (n_steps, size), p=self._probability)

    def draw_counted(
        self, n_steps: int, size: int, generator: np.random.Generator, counted: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Row indices and how often each was drawn; both (n_steps, b), counts sum to size."""
        distinct = len(self._indices)
        if not distinct:
            return np.zeros((n_steps, 0), dtype=int), np.zeros((n_steps, 0), dtype=int)
        if distinct > size or not counted:
            drawn = self.draw(n_steps, size, generator)
            return drawn, np.ones_like(drawn)
        uniform = np.full(distinct, 1 / distinct)
        probability = uniform if self._probability is None else self._probability
        counts = generator.multinomial(size, probability, size=n_steps)
        return np.tile(self._indices, (n_steps, 1)), counts
