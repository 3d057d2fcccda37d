"""Batches of a table, scored by several threads at once."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.read_ahead import map_ahead


class ScoredBatch(NamedTuple):
    """A batch of a table and what its rows got."""

    batch: pa.RecordBatch
    number: np.ndarray  # (n,) of its rows in the table, counted from 0
    scores: np.ndarray  # (n,)


def score_batches(
    batches: Iterator[pa.RecordBatch],
    detector: Any,
    encode: Callable[[pa.RecordBatch], Any],
    keep: Callable[[pa.RecordBatch], np.ndarray] | None = None,
) -> Iterator[tuple[int, ScoredBatch]]:
    """The scored batches in their order, each with the number of rows that are done.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
    detector : FewLabelDetector
    encode : callable
        A batch as the matrix that the detector scores.
    keep : callable, optional
        Places of a batch's rows that are scored; all of them if not given.
    """

    def score(numbered: tuple[int, pa.RecordBatch]) -> tuple[int, ScoredBatch]:
        start, batch = numbered
        done = start + len(batch)
        number = np.arange(start, done)
        if keep is not None:
            places = keep(batch)
            batch, number = batch.take(places), number[places]
        return done, ScoredBatch(batch, number, detector.anomaly_score(encode(batch)))

    return map_ahead(score, _numbered(batches), None if detector.is_thread_safe else 1)


def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    start = 0
    for batch in batches:
        yield start, batch
        start += len(batch)
