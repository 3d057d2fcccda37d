"""A model that is ready to answer: what it takes, what it says of columns, and its scores."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any, Literal, final

import pyarrow as pa

from devnet.core.cores import n_cores
from devnet.core.rows import spans
from devnet.core.sentence import UserError
from devnet.detectors.base import ScoreError
from devnet.serving.service.json_columns import json_columns
from devnet.serving.service.refusal import Refusal
from devnet.tables.scorer import Scorer
from devnet.tables.sources.plain_columns import plain_schema

Reasons = Literal["alerts", "all"] | None
REASONS: tuple[Reasons, ...] = (None, "alerts", "all")
NAME = "the request"
PIECE = 2048  # rows that are worth their own thread
KEPT = 64  # sets of columns whose notes are remembered
MORE_COLUMNS, LONGEST_NAME = 1000, 100  # that a request may have besides those of the model


@final
class ServedModel:
    """A model of tables, ready to score.

    Parameters
    ----------
    contents : bytes
        Of the model file.
    threshold : float, optional
        The score above which rows are alerts, instead of the model's policy.

    Attributes
    ----------
    model : TableModel
    encoder : TableEncoder
    id_column : str or None
        The column that names rows.
    fingerprint : str
        SHA-256 of the file.
    threshold : float
    json_columns : list of JsonColumn
        The columns that the model takes.
    """

    def __init__(self, contents: bytes, threshold: float | None = None) -> None:
        self._scorers = {
            one: Scorer(contents, columns=[], threshold=threshold, reasons=one) for one in REASONS
        }
        self.model = self._scorers[None].model
        self.encoder, self.id_column = self.model.encoder_, self.model.id_column_
        self.threshold = self._scorers[None].threshold
        self.fingerprint = hashlib.sha256(contents).hexdigest()
        self.json_columns = json_columns(self.encoder)
        self._is_safe = self.model.detector_.is_thread_safe
        self._alone: AbstractContextManager[Any] = nullcontext() if self._is_safe else Lock()
        self.notes_about = lru_cache(KEPT)(self._notes_about)
        self.score(pa.RecordBatch.from_pylist([{}], self.taken))  # what is made on first use

    @cached_property
    def taken(self) -> pa.Schema:
        """The columns that the model takes."""
        return pa.schema([(one.name, one.empty) for one in self.json_columns])

    def score(self, batch: pa.RecordBatch, reasons: Reasons = None) -> pa.RecordBatch:
        """Scores, p-values and alerts of rows, and reasons if they are wanted."""
        if reasons is None and self._is_safe and len(batch) >= 2 * PIECE:
            return self._in_pieces(batch)
        with self._alone:
            return self._scorers[reasons](batch)

    def _in_pieces(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Scores of many rows, by all cores, as the command does."""
        cut = spans(len(batch), n_cores(), PIECE)
        pieces = [batch.slice(one.start, one.stop - one.start) for one in cut]
        with ThreadPoolExecutor(len(cut)) as pool:
            jobs = [pool.submit(self._scorers[None], piece) for piece in pieces]
        found = []
        for one, job in zip(cut, jobs, strict=True):
            try:
                found.append(job.result())
            except ScoreError as error:
                raise error.at(one.start + error.row) from None
        return pa.concat_batches(found)

    def answered(self, reasons: Reasons = None) -> pa.Schema:
        """The columns of an answer, but for the one that names rows."""
        return self._scorers[reasons].schema(self.taken)

    def _notes_about(self, names: frozenset[str]) -> tuple[str, ...]:
        """Notes about the columns of JSON rows, or a refusal if one is missing."""
        types = {one.name: one.type for one in self.taken}
        fields = [(name, types.get(name, pa.null())) for name in sorted(names)]
        return self.check_schema(pa.schema(fields))

    def check_schema(self, schema: pa.Schema) -> tuple[str, ...]:
        """Notes about columns, or a refusal if one is missing or has values of another kind."""
        self._refuse_many(schema.names)
        missing = [one for one in self.encoder.read_columns() if one not in schema.names]
        try:
            return tuple(map(str, self.encoder.check(plain_schema(schema, NAME), NAME)))
        except UserError as error:
            sentence = f"{str(error).rstrip('.')}."
            if not missing:
                raise Refusal(422, sentence) from None
            sentence += " Where a value is missing, send null."
            raise Refusal(422, sentence, column=missing[0]) from None

    def _refuse_many(self, names: Sequence[str]) -> None:
        """Refuse names that take long to look at: a request has those of the model, and a few."""
        most = MORE_COLUMNS + len(self.json_columns)
        if len(names) > most or sum(map(len, names)) > LONGEST_NAME * most:
            raise Refusal(
                413,
                f"the request has {len(names):,} columns, of which the model takes "
                f"{len(self.json_columns):,}; send fewer of the others, with shorter names.",
            )
