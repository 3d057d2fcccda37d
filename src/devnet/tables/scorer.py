"""The Arrow door: record batches in, scored record batches out, in any process of any engine."""

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core import model_file
from devnet.core.names import known
from devnet.core.sentence import Setting
from devnet.core.wording import path_text
from devnet.detectors.base import ScoreError
from devnet.significance.policies import Alarm, AlertPolicy, Threshold
from devnet.significance.ranks import ConformalRanks
from devnet.tables.chosen_rows import row_ids
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.readings.table_reader import Tally
from devnet.tables.row_scores import RowScores, alert_threshold, scored_columns
from devnet.tables.sources.flattened import is_nested
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.plain_columns import check_names, plain_type
from devnet.tables.sources.source import Source
from devnet.tables.table_error import TableError
from devnet.tables.table_model import TableModel, restore, to_file

REASONS = "reasons"  # the column of texts
BATCH = "the batch"  # its name in messages
MODELS_KEPT = 4  # in a process


class Scorer:
    """Scores record batches by a model file, alike in every process.

    It pickles as the path or the contents of the model file, so an engine can send it to its
    workers; each of them loads the model once. A row's score does not depend on its batch.

    Parameters
    ----------
    model : path, bytes or TableModel
        A model file, which all workers must be able to read; its contents; or a fitted model.
    columns : sequence of str, optional
        Columns of the batch that are passed on. By default the one that names rows, if the batch
        has it.
    policy : AlertPolicy, optional
        Used instead of the model's. One that depends on all rows of a table, such as a budget,
        is refused.
    threshold : float, optional
        The score above which rows are alerts, instead of a policy.
    reasons : {"alerts", "all"}, optional
        Adds a column of reasons, at most three texts per row: for alerts, or for all rows.

    Attributes
    ----------
    model : TableModel
    threshold : float
        The score above which rows are alerts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from devnet import Scorer, TableModel
    >>> from devnet.datasets.payments import make_payments
    >>> payments = make_payments(2000, seed=1).table
    >>> scorer = Scorer(TableModel("DevNet", random_state=0).fit(payments, "fraud"))
    >>> scorer.schema(payments.schema).names
    ['payment_id', 'anomaly_score', 'p_value', 'nominal_p_value', 'is_alert']
    >>> scored = [scorer(batch) for batch in payments.to_batches(max_chunksize=500)]
    >>> sum(len(batch) for batch in scored)
    2000
    """

    def __init__(
        self,
        model: str | PathLike[str] | bytes | TableModel,
        *,
        columns: Sequence[str] | None = None,
        policy: AlertPolicy | None = None,
        threshold: float | None = None,
        reasons: Literal["alerts", "all"] | None = None,
    ) -> None:
        if isinstance(columns, str):
            raise TypeError(f"columns is a list of names; give [{columns!r}].")
        if reasons is not None:
            known(reasons, ("alerts", "all"), "kind of reasons")
        self._file = _ModelFile.of(model)
        self._columns = None if columns is None else tuple(columns)
        self._reasons = reasons
        self.threshold = _threshold(self.model, policy, threshold)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what can be loaded again."""
        names = ("_file", "_columns", "_reasons", "threshold")
        return {name: self.__dict__[name] for name in names}

    @cached_property
    def model(self) -> TableModel:
        """The model, shared by all scorers of a process."""
        return _loaded(self._file)

    @cached_property
    def _scores(self) -> RowScores:
        return RowScores(self.model, self.model.encoder_.reader)

    @cached_property
    def _ranks(self) -> ConformalRanks:
        return self.model.calibration_.ranks()

    def schema(self, of: pa.Schema) -> pa.Schema:
        """The columns that it returns for batches of a schema; a TableError if it cannot score."""
        return self._plan(of).schema

    def check(self, schema: pa.Schema) -> list[str]:
        """Notes about batches of a schema, such as unknown columns; a TableError as `schema`."""
        return self._plan(schema).notes

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The passed columns, scores, p-values and alerts of a batch, row by row."""
        if not isinstance(batch, pa.RecordBatch):
            raise TypeError(
                f"a scorer takes a pyarrow.RecordBatch, not a {type(batch).__name__}; score a "
                "table batch by batch: map(scorer, table.to_batches())."
            )
        plan = self._plan(batch.schema)
        parts = plan.parts(batch, self.model)
        scores = np.concatenate([np.empty(0), *self._each(parts)])
        alarm = Alarm(Threshold(self.threshold))
        added = scored_columns(self.model, scores, alarm, self._ranks)
        columns = [batch.column(name) for name in plan.passed]
        columns += [pa.array(values) for values in added.values()]
        if self._reasons is not None:
            is_told = added["is_alert"] if self._reasons == "alerts" else np.ones(len(batch), bool)
            columns.append(self._texts(parts, is_told))
        return pa.RecordBatch.from_arrays(columns, schema=plan.schema)

    def _each(self, parts: list[pa.RecordBatch]) -> list[np.ndarray]:
        """Scores of the parts of a batch."""
        found: list[np.ndarray] = []
        for part in parts:
            try:
                found.append(self._scores(part, Tally()))
            except ScoreError as error:
                raise error.at(error.row + sum(map(len, found))) from None
        return found

    def _texts(self, parts: list[pa.RecordBatch], is_told: np.ndarray) -> pa.Array:
        """The reasons of some rows, and none of others."""
        texts: list[list[str] | None] = [None] * len(is_told)
        number = np.flatnonzero(is_told)
        if len(number):
            reader, model = self.model.encoder_.reader, self.model
            rows = pa.Table.from_batches([reader.read(part, Tally()) for part in parts])
            rows = rows.take(number)
            ids = row_ids(rows, model.id_column_, number)
            for one in model.explainer_.explain(rows, number, ids, self._ranks):
                texts[one.row] = [reason.text for reason in one.reasons]
        return pa.array(texts, pa.list_(pa.string()))

    def _plan(self, schema: pa.Schema) -> "_Plan":
        """What to do with batches of a schema; the last one is kept."""
        last: _Plan | None = self.__dict__.get("_last")
        if last is None or not last.of.equals(schema):
            last = self.__dict__["_last"] = _Plan.make(self, schema)
        return last


class _Plan(NamedTuple):
    """How batches of a schema are scored."""

    of: pa.Schema
    passed: list[str]
    schema: pa.Schema  # of what is returned
    needed: list[str]  # columns that are read
    is_plain: bool  # whether the model takes them as they are
    notes: list[str]

    @classmethod
    def make(cls, scorer: Scorer, schema: pa.Schema) -> "_Plan":
        """Check the columns of batches."""
        check_names(schema.names, BATCH)
        model = scorer.model
        encoder = model.encoder_
        flat = _with_dates(_source(schema.empty_table(), model).schema, model)
        notes = encoder.check(encoder.reader.schema(flat), BATCH)
        needed = list(dict.fromkeys([*encoder.read_columns(), *_id_of(model, flat)]))
        passed = [*(_id_of(model, schema) if scorer._columns is None else scorer._columns)]
        for name in passed:
            _refuse_unknown(name, schema)
        added = _added(scorer)
        _refuse_double(passed, added)
        out = pa.schema([*(schema.field(name) for name in passed), *added])
        return cls(schema, passed, out, needed, _is_plain(schema, needed, model), notes)

    def parts(self, batch: pa.RecordBatch, model: TableModel) -> list[pa.RecordBatch]:
        """The columns that are read, in types that the model takes."""
        if self.is_plain:
            return [batch.select(self.needed)]
        source = _source(batch, model)
        model.encoder_.check(source.schema, BATCH)  # whether its texts are dates
        return list(source.batches(self.needed))


class _ModelFile(NamedTuple):
    """A model file as a scorer carries it: where it is, or what is in it."""

    path: str | None
    packed: bytes | None
    digest: str  # SHA-256 of the contents

    @classmethod
    def of(cls, model: Any) -> "_ModelFile":
        """The file of a path, of its contents or of a model."""
        if isinstance(model, TableModel):
            if not hasattr(model, "encoder_"):
                raise ValueError("this TableModel is not fitted; call fit(table, label) first.")
            model = model_file.pack(*to_file(model))
        if isinstance(model, bytes):
            return cls(None, model, hashlib.sha256(model).hexdigest())
        if not isinstance(model, str | PathLike):
            raise TypeError(
                f"an object of the type {type(model).__name__} is not a model of tables; give the "
                "path of a model file, its contents as bytes, or a fitted TableModel."
            )
        path = str(Path(fspath(model)).absolute())
        return cls(path, None, hashlib.sha256(model_file.contents(path)).hexdigest())

    def contents(self) -> bytes:
        """The bytes of the file, which must be those of the beginning."""
        if self.packed is not None:
            return self.packed
        assert self.path is not None
        found = model_file.contents(self.path)
        if hashlib.sha256(found).hexdigest() != self.digest:
            raise model_file.ModelFileError(
                f"{path_text(self.path)} has changed since the scorer was made, so that some rows "
                "would be scored by another model; make a new scorer."
            )
        return found


@lru_cache(maxsize=MODELS_KEPT)
def _loaded(file: _ModelFile) -> TableModel:
    """The model of a file, loaded once per process."""
    name = "the model" if file.path is None else path_text(file.path)
    header, tensors = model_file.unpack(file.contents(), name)
    if "table" not in header:
        raise model_file.ModelFileError(
            f"{name} is a detector of matrices, and record batches need a model of tables; fit "
            "one with TableModel, or call anomaly_score of the detector."
        )
    return restore(header, tensors, file.path)


def _threshold(model: TableModel, policy: AlertPolicy | None, threshold: float | None) -> float:
    """The score above which rows are alerts."""
    if threshold is not None:
        if policy is not None:
            raise ValueError("policy and threshold both say which rows are alerts; give one.")
        return float(threshold)
    chosen = policy or model.policy
    if chosen.needs_scores:
        raise TableError(
            f"alerts are {chosen.in_words()}, which depends on all rows of a table, and one batch "
            "has only some; give the score above which rows are alerts with ",
            Setting("threshold"),
            ", or another policy.",
        )
    return alert_threshold(model, chosen).score


def _source(batch: pa.RecordBatch | pa.Table, model: TableModel) -> Source:
    """A batch with nested columns taken apart, and dates that are text."""
    encoder = model.encoder_
    return open_table(batch, types=encoder.csv_types(), inferred=[model.label_])


def _is_plain(schema: pa.Schema, needed: Sequence[str], model: TableModel) -> bool:
    """Whether the model takes all columns as they are."""
    if is_nested(schema) or any(name not in schema.names for name in needed):
        return False
    fields = pa.schema([schema.field(name) for name in needed])
    is_known = all(one.type == plain_type(one.type) for one in fields)
    return is_known and fields.equals(_with_dates(fields, model))


def _with_dates(schema: pa.Schema, model: TableModel) -> pa.Schema:
    """The columns of a batch, if all texts that the model takes for dates are dates."""
    types = model.encoder_.csv_types()
    dates = {name: one for name, one in types.items() if pa.types.is_temporal(one)}
    return pa.schema(
        [
            one.with_type(dates[one.name])
            if one.name in dates and kind_of(one.type).name == "text"
            else one
            for one in schema
        ]
    )


def _id_of(model: TableModel, schema: pa.Schema) -> list[str]:
    return [name for name in schema.names if name == model.id_column_]


def _added(scorer: Scorer) -> list[pa.Field]:
    """The columns that scoring adds."""
    nothing: np.ndarray = np.empty(0)
    columns = scored_columns(scorer.model, nothing, Alarm(Threshold(0.0)))
    added = [*pa.RecordBatch.from_pydict(columns).schema]
    if scorer._reasons is not None:
        added.append(pa.field(REASONS, pa.list_(pa.string())))
    return added


def _refuse_unknown(name: str, schema: pa.Schema) -> None:
    try:
        known(name, schema.names, f"column of {BATCH}")
    except ValueError as error:
        raise TableError(str(error)) from None


def _refuse_double(passed: Sequence[str], added: Sequence[pa.Field]) -> None:
    double = [one.name for one in added if one.name in passed]
    if double:
        raise TableError(
            f"{BATCH} has a column {double[0]!r} already; was it scored before? Leave it out of "
            "the columns that are passed on."
        )
