"""The rows of a table as a detector learns from them: a matrix, labels and weights."""

from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from devnet.tables.encoder import TableEncoder
from devnet.tables.reservoir import Sample, smallest
from devnet.tables.training_rows import TrainingRows

UNLABELLED, ANOMALY, NORMAL = 0, 1, 2  # values of y


class EncodedRows(NamedTuple):
    """Encoded rows, in the order unlabelled, known normal, labelled anomalies."""

    matrix: Any  # (n, d)
    y: np.ndarray  # (n,) bool if no row is known to be normal
    weight: np.ndarray | None  # (n,) None if all rows stand for equally many of the table
    others: Any  # (u, d) typical rows: unlabelled, unless more are known to be normal
    labelled: Any  # (k, d)
    sample: Sample  # the labelled anomalies as they are in the table

    @classmethod
    def encode(cls, rows: TrainingRows, encoder: TableEncoder, most: int | None) -> Self:
        """Encode the rows, of each kind at most `most`."""
        samples = [rows.unlabelled, rows.normal, rows.labelled]
        if most is not None:
            samples = [smallest([sample], most) for sample in samples]
        sizes = [len(sample.key) for sample in samples]
        parts = [encoder.encode(sample.rows) for sample in samples if len(sample.key)]
        stack = sp.vstack if encoder.is_sparse else np.concatenate
        matrix = stack(parts)
        labelled = matrix[sizes[0] + sizes[1] :]  # none if the table has no labels
        y = np.repeat([UNLABELLED, NORMAL, ANOMALY], sizes)
        is_typical = sizes[0] >= sizes[1]
        others = parts[0] if is_typical else matrix[: sizes[0] + sizes[1]]
        weight = _weight(rows, sizes)
        return cls(matrix, y if sizes[1] else y == ANOMALY, weight, others, labelled, samples[2])


def _weight(rows: TrainingRows, sizes: list[int]) -> np.ndarray | None:
    """How many rows of the table each row stands for, relative to an unlabelled one, (n,).

    All known normal rows are kept, if only some of the unlabelled ones are.
    """
    if not (sizes[0] and sizes[1]):
        return None
    stands_for = [rows.n_unlabelled / sizes[0], rows.n_normal / sizes[1]]
    if stands_for[0] == stands_for[1]:
        return None
    return np.repeat([1, stands_for[1] / stands_for[0], 1], sizes)
