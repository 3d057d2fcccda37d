"""What a pass over a table has seen: a uniform sample of its rows, and its scores, counted."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from devnet.significance.calibration import Calibration
from devnet.tables.columns.arrow_values import plain
from devnet.tables.reservoir import Reservoir, Sample, row_keys

MOST_ROWS = 20_000  # shares are then known to within half a percent
MIN_ROWS = 2_000  # if there are many columns, so that there are at most
MOST_VALUES = 1 << 22
MOST_BYTES = 1 << 26
SPARE = 8  # standard deviations of the number of rows below a key
HIGH = 0.05  # share of training rows that score high
LEVELS = (0.01, 1 - HIGH, 0.99)  # quantiles of scores: where ranges begin, the high, where they end
N_RANGES = 20
COUNTS = "devnet"  # key of the counts in a table's metadata


class SeenRows:
    """Rows and scores of a table, added batch by batch, in bounded memory.

    Which rows are kept depends on their numbers alone, so batches of any length give the same
    sample, and parts of a table that number their rows through can be merged exactly.

    Parameters
    ----------
    columns : sequence of str
        Those of the rows to keep.
    ends : array
        Ascending scores; rows are counted between them. See `LearnedScores`.
    of_rows : int, optional
        Rows of the whole table, if that is known. Then hardly more rows are copied than stay.
    left_out : array of int, optional
        Numbers of rows that do not count, such as those that are labelled elsewhere.

    Attributes
    ----------
    n_rows : int
        Rows that were added.
    scores : array
        Rows up to each of `ends`, and above the last.
    """

    def __init__(
        self,
        columns: Sequence[str],
        ends: np.ndarray,
        of_rows: int | None = None,
        left_out: np.ndarray | None = None,
    ) -> None:
        self.columns = list(columns)
        self.ends = ends
        self.n_rows = 0
        self.scores: np.ndarray = np.zeros(len(ends) + 1, dtype=np.int64)
        size = int(np.clip(MOST_VALUES // max(len(columns), 1), MIN_ROWS, MOST_ROWS))
        self._kept = Reservoir(size, MOST_BYTES)
        self._left_out = np.empty(0, np.int64) if left_out is None else left_out
        self._largest_key = (size + SPARE * size**0.5) / of_rows if of_rows else np.inf

    def add(
        self,
        batch: pa.RecordBatch,
        number: np.ndarray,
        scores: np.ndarray,
        positions: np.ndarray | None = None,
    ) -> None:
        """Add rows with their numbers in the table and their scores; by default all of a batch."""
        if len(self._left_out):
            given = np.arange(len(number)) if positions is None else positions
            positions = given[~np.isin(number[given], self._left_out)]
        if positions is not None:
            number, scores = number[positions], scores[positions]
        self.n_rows += len(scores)
        cells = np.searchsorted(self.ends, scores, side="left")
        self.scores += np.bincount(cells, minlength=len(self.scores))
        key = _key(number)
        stays = np.flatnonzero(key < self._largest_key)
        stays = stays[self._kept.may_stay(key[stays])]
        if len(stays):
            taken = pa.array(stays if positions is None else positions[stays])
            rows = _plain_rows(batch.select(self.columns).take(taken))
            self._kept.add(rows, number[stays], key[stays])

    def merge(self, other: "SeenRows") -> None:
        """Add what another pass has seen, of other rows of the table."""
        self.n_rows += other.n_rows
        self.scores += other.scores
        if other._kept.n_rows:
            rows, number, key = other._kept.sample()
            for batch in rows.combine_chunks().to_batches():
                self._kept.add(batch, number, key)

    def to_table(self) -> pa.Table:
        """The rows kept, then their numbers; the counts are in the metadata."""
        sample = self.sample()
        kept = pa.table([]) if sample is None else sample.rows
        numbers = np.empty(0, np.int64) if sample is None else sample.number
        counts = {"n_rows": self.n_rows, "scores": self.scores.tolist()}
        columns = [*kept.columns, pa.array(numbers)]
        named = pa.Table.from_arrays(columns, [str(i) for i in range(len(columns))])
        return named.replace_schema_metadata({COUNTS: json.dumps(counts)})

    def merge_table(self, table: pa.Table) -> None:
        """Add what another pass has seen, given by its `to_table`."""
        counts = json.loads(table.schema.metadata[COUNTS.encode()])
        self.n_rows += counts["n_rows"]
        self.scores += np.array(counts["scores"], dtype=np.int64)
        if len(table):
            rows = table.select(table.column_names[:-1]).rename_columns(self.columns)
            number = table.column(-1).to_numpy()
            for batch in rows.combine_chunks().to_batches():
                self._kept.add(batch, number, _key(number))

    def sample(self) -> Sample | None:
        """The rows kept, in their order; None if there are none."""
        return self._kept.sample() if self._kept.n_rows else None


class LearnedScores(NamedTuple):
    """Unlabelled training rows by score, as scorers saw them that did not learn from them."""

    ends: np.ndarray  # (k,) scores, ascending
    counts: np.ndarray  # (k + 1,) rows up to each of them, and above the last
    n_rows: float  # as many equally weighted rows carry as much information (Kish)
    high: float  # the score that a share HIGH of the rows exceeds, one of `ends`

    def n_above(self, score: float, counts: np.ndarray) -> float:
        """Rows above one of `ends`, of any rows that were counted between these."""
        return float(counts[np.searchsorted(self.ends, score) + 1 :].sum())


def learned_scores(calibration: Calibration, *thresholds: float) -> LearnedScores:
    """Count the scores of a calibration between ends that include all thresholds.

    Cells are of equal width, not of equal numbers of rows: scores of ordinary rows may differ so
    little that their ranks say nothing.
    """
    order = np.argsort(calibration.unlabelled)
    scores, weight = calibration.unlabelled[order], calibration.weight[order]
    total = weight.sum()
    up_to = np.cumsum(weight) / total
    low, high, highest = scores[np.minimum(np.searchsorted(up_to, LEVELS), len(scores) - 1)]
    ends = np.unique([*np.linspace(low, highest, N_RANGES + 1), high, *thresholds])
    cells = np.searchsorted(ends, scores, side="left")
    n_rows = float(total**2 / (weight**2).sum())
    counts = np.bincount(cells, weight, len(ends) + 1) * n_rows / total
    return LearnedScores(ends, counts, n_rows, float(high))


def _key(number: np.ndarray) -> np.ndarray:
    """A number from 0 to 1 that looks random, for each row number."""
    key: np.ndarray = row_keys(number) / 2.0**64
    return key


def _plain_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Values themselves instead of codes: dictionaries of different batches cannot be joined."""
    columns = [plain(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
