"""What a worker does: score a part of a table, or decide which of its rows are alerts.

Done twice, it does nothing twice: a part that is finished is taken over.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from devnet.core import model_file
from devnet.core.sentence import Setting, UserError
from devnet.core.wording import path_text
from devnet.serving.cluster.fingerprints import bytes_checksum, digest
from devnet.serving.cluster.folder import MODEL
from devnet.serving.cluster.part_files import (
    PartKey,
    PartNames,
    PartRecord,
    finish_part,
    finished_part,
    write_rows,
    write_table,
)
from devnet.serving.cluster.parts import Part
from devnet.serving.cluster.stores import Store, store_of
from devnet.significance.policies import Alarm, AlertPolicy, Threshold
from devnet.tables.opened_table import OpenedTable
from devnet.tables.readings.reading import Reading
from devnet.tables.score_columns import ALERT, SCORE
from devnet.tables.seen_rows import SeenRows
from devnet.tables.sources.plain_columns import plain_batch
from devnet.tables.sources.source import BATCH_ROWS
from devnet.tables.sources.table_file import changed
from devnet.tables.table_error import TableError
from devnet.tables.table_model import TableModel, restore
from devnet.tables.written_rows import WrittenRows

N_THREADS = 1  # of a task, as a worker has one task per thread
NO_ALERTS = Threshold(np.inf)


class Work(NamedTuple):
    """What all tasks of a job share."""

    run: str  # names this run of the job, which may be one of several
    place: str  # address of the output folder
    model: str  # checksum of its model file
    settings: str  # fingerprint of what else decides about the output
    readings: dict[str, Reading]
    only_id: bool
    schema: pa.Schema  # of the rows that are written
    distinct: list[str]  # columns with nearly all values distinct
    policy: AlertPolicy
    threshold: Threshold | None  # None if it depends on all scores
    ends: np.ndarray  # scores between which rows are counted
    n_parts: int
    n_rows: int  # of the table

    def names(self, part: Part) -> PartNames:
        """The names of a part's files."""
        return PartNames.of(part.name(self.n_parts))


class Done(NamedTuple):
    """A part that is finished."""

    number: int
    record: PartRecord
    was_done: bool  # by an earlier run of the job


class Failed(NamedTuple):
    """Why a part cannot be done, however often it is tried."""

    number: int
    sentence: tuple[str | Setting, ...]


def count_rows(work: Work, part: Part) -> int | Failed:
    """The rows of a part of a text table, which only reading it tells."""
    try:
        return part.found().count_rows()
    except ValueError as error:
        return _failed(part, error)


def score_part(work: Work, part: Part) -> Done | Failed:
    """Score a part; it goes to its final name, or to the staging folder if the policy waits."""
    store, names = store_of(work.place), work.names(part)
    key = PartKey(work.model, part.digest(), work.settings)
    try:
        found = finished_part(store, names.scored, key)
        record = found or finish_part(store, names.scored, _score(work, part, store, key))
    except ValueError as error:
        return _failed(part, error)
    return Done(part.number, record, record.run != work.run)


def _score(work: Work, part: Part, store: Store, key: PartKey) -> PartRecord:
    """Write the files of a part."""
    model, names = _model(work.place, work.model), work.names(part)
    opened = OpenedTable(model, part.found(), readings=work.readings, first_row=part.first_row or 0)
    rows = WrittenRows(opened, only_id=work.only_id)
    seen = SeenRows(model.encoder_.read_columns(), work.ends, work.n_rows)
    alarm, name = Alarm(work.threshold or NO_ALERTS), names.final
    if work.threshold is None:
        name = names.staged
    batches = rows.batches(alarm, seen=seen, n_threads=N_THREADS)
    written = write_rows(store, name, work.schema, work.distinct, batches)
    if written.n_rows != part.n_rows:
        raise changed(part.shown, part.shown)
    checksums = {name: written.checksum}
    checksums[names.seen] = write_table(store, names.seen, seen.to_table())
    if work.threshold is None:
        summary = _summary(work, model, store, names)
        checksums[names.summary] = write_table(store, names.summary, summary)
    return PartRecord(work.run, key, written.n_rows, written.n_alerts, checksums, opened.unread)


def _summary(work: Work, model: TableModel, store: Store, names: PartNames) -> pa.Table:
    """What the policy has to know of a part's scores."""
    with store.copy(names.staged) as path, _staged(path, store, names) as file:
        scores = (batch[SCORE].to_numpy() for batch in file.iter_batches(columns=[SCORE]))
        return pa.table({"summary": work.policy.summary(model.calibration_, scores)})


def alert_part(work: Work, part: Part, threshold: Threshold) -> Done | Failed:
    """Give a staged part its final name, with its alerts.

    `n_equal` of the threshold is what the parts before have left for this one.
    """
    store, names = store_of(work.place), work.names(part)
    settings = digest([work.settings, repr(threshold.score), threshold.n_equal])
    key = PartKey(work.model, part.digest(), settings)
    try:
        found = finished_part(store, names.alerts, key)
        record = found or finish_part(
            store, names.alerts, _alert(work, store, names, key, threshold)
        )
    except ValueError as error:
        return _failed(part, error)
    return Done(part.number, record, record.run != work.run)


def _alert(
    work: Work, store: Store, names: PartNames, key: PartKey, threshold: Threshold
) -> PartRecord:
    """Write the final rows of a part."""
    with store.copy(names.staged) as path, _staged(path, store, names) as file:
        batches = _with_alerts(file, work.schema, Alarm(threshold))
        written = write_rows(store, names.final, work.schema, work.distinct, batches)
    return PartRecord(
        work.run, key, written.n_rows, written.n_alerts, {names.final: written.checksum}, {}
    )


def _with_alerts(file: pq.ParquetFile, schema: pa.Schema, alarm: Alarm) -> Iterator[pa.RecordBatch]:
    """Rows that were staged, with their alerts."""
    position = schema.get_field_index(ALERT)
    for batch in file.iter_batches(BATCH_ROWS):
        is_alert = pa.array(alarm(batch[SCORE].to_numpy()))
        yield plain_batch(batch.set_column(position, ALERT, is_alert), schema)


def _staged(path: Path | None, store: Store, names: PartNames) -> pq.ParquetFile:
    if path is None:
        raise TableError(
            f"{names.staged} is gone from {store.shown}; leave the folder alone, and run the "
            "command again."
        )
    return pq.ParquetFile(path)


@lru_cache(maxsize=1)
def _model(place: str, checksum: str) -> TableModel:
    """The model of a job, loaded once per process."""
    content = store_of(place).read(MODEL)
    if content is None or bytes_checksum(content) != checksum:
        raise TableError(
            f"a worker does not find the model of the job in {path_text(place)}; all workers must "
            "see the folder under the same name, and nothing else may write to it."
        )
    return restore(*model_file.unpack(content), None)


def _failed(part: Part, error: ValueError) -> Failed:
    said = error.sentence.parts if isinstance(error, UserError) else (str(error),)
    return Failed(part.number, said)
