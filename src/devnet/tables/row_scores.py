"""From the rows of a batch to scores, p-values and alerts: what every way of scoring stands on."""

import sys
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from devnet.detectors.base import ScoreError
from devnet.significance.calibration import Calibration
from devnet.significance.policies import Alarm, AlertPolicy, Threshold, check_policy
from devnet.significance.ranks import ConformalRanks
from devnet.tables.readings.table_reader import TableReader, Tally
from devnet.tables.score_columns import ALERT, NOMINAL, P_VALUE, SCORE

if TYPE_CHECKING:
    from devnet.tables.table_model import TableModel

TEXT_ROWS = 4096  # rows with text that are scored at once
MATRIX_VALUES = 1 << 26  # of a dense matrix that is scored at once
FEW_VALUES = 1 << 16  # of a sparse one that is not worth making if the detector makes it dense


class Calibrated(Protocol):
    """A model that knows what its detector's scores mean."""

    detector_: Any
    calibration_: Calibration
    policy: AlertPolicy


class RowScores:
    """Scores the rows of batches that a model's encoder has accepted.

    Parameters
    ----------
    model : TableModel
    reader : TableReader
        How the values of the batches are read.
    """

    def __init__(self, model: "TableModel", reader: TableReader) -> None:
        self._encoder, self._detector = model.encoder_, model.detector_
        self._columns = self._encoder.read_columns()
        self._reader = reader
        self._may_be_dense = self._detector.makes_rows_dense
        self._step = TEXT_ROWS if self._encoder.has_text else sys.maxsize  # rows at once
        if not self._encoder.is_sparse:
            self._step = min(self._step, max(1, MATRIX_VALUES // self._encoder.n_columns))

    def __call__(self, batch: pa.RecordBatch, tally: Tally) -> np.ndarray:
        """Scores of a batch, (n,), part by part if its matrix is large."""
        size = len(batch)
        rows = self._reader.read(batch.select(self._columns), tally)
        step = min(self._step, max(size, 1))
        parts = [self._part(rows.slice(start, step), start) for start in range(0, size, step)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def _part(self, rows: pa.RecordBatch, start: int) -> np.ndarray:
        """Scores of a part of a batch that begins at row `start`."""
        try:
            is_dense = self._may_be_dense and len(rows) * self._encoder.n_columns <= FEW_VALUES
            matrix = self._encoder.encode_read(rows, dense=is_dense)
            scores: np.ndarray = self._detector.score_encoded(matrix)
        except ScoreError as error:
            raise error.at(start + error.row) from None
        return scores


def alert_threshold(model: Calibrated, policy: AlertPolicy | None, scores: Any = ()) -> Threshold:
    """The score above which rows are alerts, given the scores of a table if they matter."""
    chosen = policy or model.policy
    check_policy(chosen)
    return chosen.threshold(model.calibration_, scores, model.detector_.prior_quantile)


def scored_columns(
    model: Calibrated, scores: np.ndarray, alarm: Alarm, ranks: ConformalRanks | None = None
) -> dict[str, np.ndarray]:
    """Scores, p-values and alerts of the next rows of a table, by column.

    Few rows are scored faster if the model's ranks are given.
    """
    ranks = ranks or model.calibration_.ranks()
    columns = {SCORE: scores, P_VALUE: ranks.p_value(scores)}
    nominal = model.detector_.nominal_p_value(scores)
    if nominal is not None:
        columns[NOMINAL] = nominal
    return {**columns, ALERT: alarm(scores)}
