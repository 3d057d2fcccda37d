"""A table opened for a model: checked once, then scored batch by batch, or explained row by row."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.read_ahead import map_ahead
from devnet.significance.policies import Alarm, AlertPolicy, Threshold
from devnet.tables.chosen_rows import python_rows, row_ids, take_rows
from devnet.tables.columns.arrow_values import SINGULAR, kind_of
from devnet.tables.explainer import Explanation
from devnet.tables.label_column import has_label
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.plain_columns import plain_batch
from devnet.tables.sources.source import Source
from devnet.tables.training_rows import OnRows

if TYPE_CHECKING:
    from devnet.tables.table_model import TableModel


TEXT_ROWS = 4096  # rows with text that are scored at once


class ScoredBatch(NamedTuple):
    """A batch of a table with the scores of its rows."""

    batch: pa.RecordBatch
    number: np.ndarray  # (n,) of its rows in the table, counted from 0
    scores: np.ndarray  # (n,)


class OpenedTable:
    """A table and the model that scores it.

    Parameters
    ----------
    model : TableModel
        Fitted.
    table : path, glob, frame, Arrow table or dict of columns

    Attributes
    ----------
    source : Source
    notes : list of str
        What is odd about the columns. A table that cannot be scored raises a TableError.
    id_columns : list of str
        The column that names rows, if the table has it.
    """

    def __init__(self, model: "TableModel", table: Any) -> None:
        if not hasattr(model, "encoder_"):
            raise ValueError("this TableModel is not fitted; call fit(table, label) first.")
        self._model = model
        encoder = model.encoder_
        self.source = open_table(table, types=encoder.csv_types(), inferred=[model.label_])
        self.notes = encoder.check(self.source.schema, self.source.name, self.source.inferred)
        self.id_columns = [name for name in self.source.schema.names if name == model.id_column_]

    def scored_batches(
        self,
        columns: Collection[str] = (),
        *,
        known: bool = True,
        on_rows: OnRows | None = None,
    ) -> Iterator[ScoredBatch]:
        """Score the rows in their order.

        Parameters
        ----------
        columns : collection of str
            Columns that batches should have besides those that are needed.
        known : bool, default=True
            False leaves out rows that the table's own label column marks as anomalies.
        on_rows : callable, optional
            Gets the number of rows scored so far.
        """
        model, schema = self._model, self.source.schema
        label = model.label_ if not known and model.label_ in schema.names else None
        read = model.encoder_.read_columns()
        needed = [*read, *columns, *([label] if label else [])]
        source = self.source.with_codes({*read} - {*columns, label})
        batches = source.batches(list(dict.fromkeys(needed)))

        def unknown(batch: pa.RecordBatch) -> np.ndarray:
            return np.flatnonzero(~has_label(batch[label], model.anomaly_))

        keep = None if label is None else unknown
        for done, one in _score_batches(batches, model, keep):
            yield one
            if on_rows is not None:
                on_rows(done)

    def threshold(
        self,
        policy: AlertPolicy | None = None,
        *,
        known: bool = True,
        on_rows: OnRows | None = None,
    ) -> Threshold:
        """The score above which rows are alerts, by a policy or by the model's own.

        Budgets and false discovery rates depend on all rows, so the table is scored for them.
        """
        scored = self.scored_batches(known=known, on_rows=on_rows)
        return alert_threshold(self._model, policy, (one.scores for one in scored))

    def explain(self, numbers: Sequence[int]) -> list[Explanation]:
        """Why rows have their scores, given their numbers, counted from 0."""
        columns = dict.fromkeys([*self._model.encoder_.read_columns(), *self.own_columns])
        rows = take_rows(self.source, numbers, list(columns))
        number = np.asarray(numbers, dtype=np.int64)
        return self.explain_rows(rows, number, self.own_values(rows, number))

    def explain_rows(
        self, rows: pa.Table, number: np.ndarray, values: pa.Table
    ) -> list[Explanation]:
        """Why rows that were read have their scores.

        Takes their numbers in the table, and what `own_values` says of these.
        """
        model = self._model
        ids, written = (row_ids(one, model.id_column_, number) for one in (rows, values))
        explained = model.explainer_.explain(rows, number, ids, model.calibration_.ranks())
        return [
            one._replace(id=name, values=own)
            for one, name, own in zip(explained, written, python_rows(values), strict=True)
        ]

    @cached_property
    def own_columns(self) -> list[str]:
        """Columns that rows must have been read with for `own_values`, all with single values."""
        if self._written is not None:
            return self.id_columns
        fields = self.source.schema
        return [one.name for one in fields if kind_of(one.type).name in SINGULAR]

    @cached_property
    def _written(self) -> Source | None:
        return self.source.as_written()

    def own_values(self, rows: pa.Table, number: np.ndarray) -> pa.Table:
        """All values of rows that were read, as they are written if the table is text.

        A text is read once more for them. Vectors and other nested values are left out.
        """
        if self._written is not None:
            return take_rows(self._written, number.tolist(), self._written.schema.names)
        schema = pa.schema([self.source.schema.field(name) for name in self.own_columns])
        parts = [plain_batch(part, schema) for part in rows.to_batches()]
        return pa.Table.from_batches(parts, schema)


def alert_threshold(model: "TableModel", policy: AlertPolicy | None, scores: Any = ()) -> Threshold:
    """The score above which rows are alerts, given the scores of a table if they matter."""
    prior_quantile = model.detector_.prior_quantile
    return (policy or model.policy).threshold(model.calibration_, scores, prior_quantile)


def scored_columns(model: "TableModel", scores: np.ndarray, alarm: Alarm) -> dict[str, np.ndarray]:
    """Scores, p-values and alerts of the next rows of a table, by column."""
    columns = {"anomaly_score": scores, "p_value": model.calibration_.ranks().p_value(scores)}
    nominal = model.detector_.nominal_p_value(scores)
    if nominal is not None:
        columns["nominal_p_value"] = nominal
    return {**columns, "is_alert": alarm(scores)}


def _score_batches(
    batches: Iterator[pa.RecordBatch],
    model: "TableModel",
    keep: Callable[[pa.RecordBatch], np.ndarray] | None,
) -> Iterator[tuple[int, ScoredBatch]]:
    """Scored batches in order, each with the number of rows done, by several threads at once.

    `keep` picks the positions of a batch's rows that are scored; None keeps all.
    """

    def score(numbered: tuple[int, pa.RecordBatch]) -> tuple[int, ScoredBatch]:
        start, batch = numbered
        done = start + len(batch)
        number = np.arange(start, done)
        if keep is not None:
            kept = keep(batch)
            batch, number = batch.take(kept), number[kept]
        return done, ScoredBatch(batch, number, _scores(model, batch))

    return map_ahead(score, _numbered(batches), None if model.detector_.is_thread_safe else 1)


def _scores(model: "TableModel", batch: pa.RecordBatch) -> np.ndarray:
    """Scores of a batch; one with text, whose matrix is large, is scored part by part."""
    score, encode = model.detector_.anomaly_score, model.encoder_.encode_checked
    if not model.encoder_.has_text or len(batch) <= TEXT_ROWS:
        return score(encode(batch))
    parts = [batch.slice(start, TEXT_ROWS) for start in range(0, len(batch), TEXT_ROWS)]
    return np.concatenate([score(encode(part)) for part in parts])


def _numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    start = 0
    for batch in batches:
        yield start, batch
        start += len(batch)
