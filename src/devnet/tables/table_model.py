"""TableModel: from a raw table with few labels to scores, alerts and reasons."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from devnet.core import model_file
from devnet.core.names import known
from devnet.core.seeds import as_generator, draw_seed
from devnet.core.sentence import Sentence
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.methods import METHODS, RECOMMENDED
from devnet.significance.calibration import Calibration, calibrate
from devnet.significance.policies import Alarm, AlertPolicy, FalseAlarmRate, Threshold
from devnet.tables.chosen_rows import choose_id_column, row_ids, take_rows
from devnet.tables.encoder import TableEncoder
from devnet.tables.explainer import Explainer, Explanation
from devnet.tables.label_column import has_label
from devnet.tables.scored_rows import ScoredBatch, score_batches
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.source import Source
from devnet.tables.table_file import from_file, to_file
from devnet.tables.training_rows import OnRows, TrainingRows, read_training_rows

DEFAULT_POLICY = FalseAlarmRate(0.01)


class TableModel:
    """Learns from a raw table with a column of few labels, and scores raw tables.

    Files and frames are read batch by batch, so tables may be larger than memory: one pass learns
    how to encode the columns and keeps a uniform sample of the rows, which a detector learns from.

    Parameters
    ----------
    method : str, default="deviation ensemble"
        The detector: a name in `devnet.detectors.methods.METHODS`.
    parameters : mapping, optional
        Its parameters.
    ignore : collection of str
        Columns that are not used.
    categorical : collection of str
        Columns that are categories although they hold numbers or dates.
    anomaly : str, optional
        The label that marks anomalies. By default the larger of two numbers, the rarer of two
        texts, or the only value beside missing ones.
    id_column : str, optional
        The column that names rows in alerts; it is not learned from. By default the first one
        whose values all differ.
    policy : AlertPolicy, default=FalseAlarmRate(0.01)
        Which rows are alerts. It may be exchanged at any time, without fitting again.
    random_state : int, numpy RandomState or Generator, optional

    Attributes
    ----------
    encoder_ : TableEncoder
    detector_ : FewLabelDetector
    calibration_ : Calibration
        Scores of rows by scorers that did not see them, which p-values are ranks among.
    explainer_ : Explainer
    label_, anomaly_ : str
        The label column, and its value that marks anomalies.
    id_column_ : str or None
        The column that names rows.
    n_rows_, n_labelled_ : int
        Rows of the training table, and labelled anomalies among them.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.tables import TableModel
    >>> amount = np.random.default_rng(0).lognormal(size=2000)
    >>> shop = np.where(amount > 9, "casino", "grocer")
    >>> fraud = [1 if value > 12 else None for value in amount]
    >>> payments = {"amount": amount, "shop": shop, "fraud": fraud}
    >>> model = TableModel(random_state=0).fit(payments, "fraud")
    >>> model.predict({"amount": [1.0, 30.0], "shop": ["grocer", "casino"]}).tolist()
    [0, 1]
    """

    encoder_: TableEncoder
    detector_: FewLabelDetector
    calibration_: Calibration
    explainer_: Explainer
    label_: str
    anomaly_: str
    id_column_: str | None
    n_rows_: int
    n_labelled_: int

    def __init__(
        self,
        method: str = RECOMMENDED,
        *,
        parameters: Mapping[str, Any] | None = None,
        ignore: Collection[str] = (),
        categorical: Collection[str] = (),
        anomaly: str | None = None,
        id_column: str | None = None,
        policy: AlertPolicy = DEFAULT_POLICY,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.parameters = dict(parameters or {})
        self.ignore = tuple(ignore)
        self.categorical = tuple(categorical)
        self.anomaly = anomaly
        self.id_column = id_column
        self.policy = policy
        self.random_state = random_state

    def __repr__(self) -> str:
        is_fitted = hasattr(self, "label_")
        state = f", fitted to {self.label_} = {self.anomaly_}" if is_fitted else ""
        return f"TableModel({self.method!r}{state})"

    def fit(self, table: Any, label: str, *, on_rows: OnRows | None = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        table : path, glob, frame, Arrow table or dict of columns
            See `devnet.tables.open_table`.
        label : str
            The column that marks labelled anomalies. All other rows are unlabelled.
        on_rows : callable, optional
            Is told the number of rows read so far.
        """
        generator = as_generator(self.random_state)
        method = METHODS[known(self.method, METHODS, "method")]
        detector = method(random_state=draw_seed(generator), **self.parameters)
        source = open_table(table, types=dict.fromkeys(self.categorical, pa.string()))
        rows = read_training_rows(
            source,
            label,
            anomaly=self.anomaly,
            ignore=self.ignore,
            id_column=self.id_column,
            categorical=self.categorical,
            generator=generator,
            on_rows=on_rows,
        )
        self._learn(rows, detector, generator)
        return self

    def _learn(self, rows: TrainingRows, detector: Any, generator: np.random.Generator) -> None:
        encoder = TableEncoder.learn(rows.summary, rows.unlabelled.rows)
        unlabelled, labelled = (
            encoder.encode(sample.rows) for sample in (rows.unlabelled, rows.labelled)
        )
        stack = sp.vstack if encoder.is_sparse else np.concatenate
        matrix = stack([unlabelled, labelled])
        y = np.arange(matrix.shape[0]) >= unlabelled.shape[0]
        self.calibration_ = calibrate(detector, matrix, y, random_state=draw_seed(generator))
        self.detector_, self.encoder_ = detector, encoder
        self.id_column_ = self.id_column or choose_id_column(encoder.left_out)
        ids = row_ids(rows.labelled.rows, self.id_column_, rows.labelled.number)
        self.explainer_ = Explainer.learn(encoder, detector, unlabelled, labelled, ids)
        self.label_, self.anomaly_ = rows.label, rows.anomaly
        self.n_rows_, self.n_labelled_ = rows.n_rows, rows.n_labelled

    def open(self, table: Any) -> tuple[Source, list[str]]:
        """A table to score, looked at, and what is odd about its columns in words."""
        if not hasattr(self, "encoder_"):
            raise ValueError("this TableModel is not fitted; call fit(table, label) first.")
        source = open_table(table, types=self.encoder_.csv_types(), inferred=[self.label_])
        return source, self.encoder_.check(source.schema, source.name, source.inferred)

    def scored_batches(
        self,
        source: Source,
        columns: Collection[str] = (),
        *,
        known: bool = True,
        on_rows: OnRows | None = None,
    ) -> Iterator[ScoredBatch]:
        """Score an opened table batch by batch.

        Parameters
        ----------
        source : Source
        columns : collection of str
            Columns that batches should have besides those that are needed.
        known : bool, default=True
            False leaves out rows that the table's own label column says are anomalies.
        on_rows : callable, optional
            Is told the number of rows that are done.
        """
        label = self.label_ if not known and self.label_ in source.schema.names else None
        read = self.encoder_.read_columns()
        needed = [*read, *columns, *([label] if label else [])]
        source = source.with_codes({*read} - {*columns, label})
        batches = source.batches(list(dict.fromkeys(needed)))

        def unknown(batch: pa.RecordBatch) -> np.ndarray:
            return np.flatnonzero(~has_label(batch[label], self.anomaly_))

        keep = None if label is None else unknown
        for done, one in score_batches(batches, self.detector_, self.encoder_.encode, keep):
            yield one
            if on_rows is not None:
                on_rows(done)

    def threshold(
        self,
        source: Source,
        policy: AlertPolicy | None = None,
        *,
        known: bool = True,
        on_rows: OnRows | None = None,
    ) -> Threshold:
        """From which score on rows of an opened table are alerts.

        Budgets and false discovery rates depend on the whole table: it is scored once for them.
        """
        policy = policy or self.policy
        scored = self.scored_batches(source, known=known, on_rows=on_rows)
        scores = (one.scores for one in scored)
        return policy.threshold(self.calibration_, scores, self.detector_.prior_quantile)

    def fixed_threshold(self) -> float | None:
        """The score that alerts exceed, where it is the same for every table."""
        if self.policy.needs_scores:
            return None
        threshold = self.policy.threshold(self.calibration_, (), self.detector_.prior_quantile)
        return threshold.score if np.isfinite(threshold.score) else None

    def policy_notes(self, policy: AlertPolicy | None = None) -> list[str | Sentence]:
        """A sentence, where a policy can never raise an alert."""
        warning = (policy or self.policy).warning(self.calibration_, self.detector_.prior_quantile)
        return [] if warning is None else [warning]

    def p_value(self, scores: np.ndarray) -> np.ndarray:
        """Calibrated p-values of scores: ranks among unlabelled rows that were not learned from."""
        return self.calibration_.ranks().p_value(scores)

    def nominal_p_value(self, scores: np.ndarray) -> np.ndarray | None:
        """P-values as the prior has them; None for detectors whose scores have no scale."""
        return self.detector_.nominal_p_value(scores)

    def score(self, table: Any) -> pa.Table:
        """Scores, p-values and alerts of a table that fits into memory, a row each.

        `devnet.tables.score_table` writes them from file to file.
        """
        source, _ = self.open(table)
        scores = np.concatenate([np.empty(0), *(s.scores for s in self.scored_batches(source))])
        threshold = self.policy.threshold(
            self.calibration_, [scores], self.detector_.prior_quantile
        )
        return pa.table(self.columns_of(scores, Alarm(threshold)))

    def columns_of(self, scores: np.ndarray, alarm: Alarm) -> dict[str, np.ndarray]:
        """What `score` says of the next rows of a table, by column."""
        columns = {"anomaly_score": scores, "p_value": self.p_value(scores)}
        nominal = self.nominal_p_value(scores)
        if nominal is not None:
            columns["nominal_p_value"] = nominal
        return {**columns, "is_alert": alarm(scores)}

    def predict(self, table: Any) -> np.ndarray:
        """1 for rows that are alerts by `policy`, 0 for others."""
        alerts: np.ndarray = self.score(table)["is_alert"].to_numpy().astype(int)
        return alerts

    def explain(self, table: Any, rows: int | Sequence[int]) -> list[Explanation]:
        """Why some rows have their scores, given their numbers, counted from 0."""
        rows = [rows] if isinstance(rows, int) else rows
        source, _ = self.open(table)
        columns = [*self.encoder_.read_columns(), *self.id_columns(source)]
        return self.explain_rows(take_rows(source, rows, columns), np.asarray(rows))

    def explain_rows(self, rows: pa.Table, number: np.ndarray) -> list[Explanation]:
        """Why raw rows have their scores, given their numbers in the table."""
        ids = row_ids(rows, self.id_column_, number)
        return self.explainer_.explain(rows, number, ids, self.calibration_.ranks())

    def id_columns(self, source: Source) -> list[str]:
        """The column that names rows, where an opened table has it."""
        return [name for name in source.schema.names if name == self.id_column_]

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file without pickle; read it with `devnet.load`."""
        header, tensors = to_file(self)
        model_file.write(path, header, tensors)

    @classmethod
    def restore(cls, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """Take over what a model file holds, all of it checked."""
        model = cls()
        from_file(model, header, tensors)
        return model
