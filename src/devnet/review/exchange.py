"""Labels from tables and to tables: what others labelled comes in, and all verdicts go out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from devnet.core.sentence import Setting
from devnet.core.wording import cut
from devnet.review.events import ANOMALY, NORMAL, REOPENED, UNSURE, Event, GivenLabel
from devnet.review.row_keys import RowKeys, id_texts
from devnet.review.store import LabelStore, ModelRecord
from devnet.tables.label_column import label_text, same_label
from devnet.tables.output import open_output
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.source import Source
from devnet.tables.table_error import TableError

ID, VERDICT, NOTE, WHO = "id", "verdict", "note", "who"  # columns, unless others are named
_TIME = pa.timestamp("us", "UTC")
_COLUMNS = {  # of a table of verdicts -> type
    ID: pa.string(),
    VERDICT: pa.string(),
    NOTE: pa.string(),
    WHO: pa.string(),
    "at": _TIME,
    "model": pa.string(),
    "score": pa.float64(),
    "rank": pa.int64(),
    "reason": pa.string(),
    "dealt_at": _TIME,
    "probability": pa.float64(),
    "together": pa.int64(),
    "number": pa.int64(),
    "token": pa.string(),
    "undoes": pa.int64(),
}

_MODEL_COLUMNS = {  # of a table of models -> type
    "number": pa.int64(),
    "name": pa.string(),
    "checksum": pa.string(),
    "at": _TIME,
    "who": pa.string(),
    "n_anomalies": pa.int64(),
    "n_normal": pa.int64(),
    "last_event": pa.int64(),
    "figures": pa.string(),
    "parent": pa.int64(),
}


class LabelFile(NamedTuple):
    """How a table of labels is to be read."""

    verdict: str = VERDICT
    anomaly: str = ANOMALY  # the values that mean it
    normal: str = NORMAL
    who: str | None = None  # for rows without a name in the column "who"


class Imported(NamedTuple):
    """What became of a table of labels."""

    n_added: int
    n_known: int  # the store has the same verdict already
    n_other: int  # the store has another one, which stays unless it is to be replaced
    n_without: int  # rows without a verdict
    n_gone: int | None  # rows that the reviewed table does not have; None if it was not given


def import_labels(
    store: LabelStore,
    table: Any,
    file: LabelFile,
    *,
    keys: RowKeys | None = None,
    replace: bool = False,
) -> Imported:
    """Take over the labels of a table, all or none; a second time adds nothing.

    Parameters
    ----------
    store : LabelStore
    table : path, frame, Arrow table or dict of columns
        With a column of ids, named as in the reviewed table or "id", and one of verdicts; perhaps
        columns "note" and "who".
    file : LabelFile
    keys : RowKeys, optional
        Of the reviewed table, to count labels of rows that it does not have. They are kept.
    replace : bool, default=False
        Whether they also count where the store has another verdict on the row.
    """
    labels, n_without = read_labels(table, file, store.table.id_column)
    gone = None if keys is None else int((keys.find([one.row for one in labels]) < 0).sum())
    return Imported(*store.take_over(labels, replace=replace), n_without, gone)


def read_labels(
    table: Any, file: LabelFile, id_column: str | None = None
) -> tuple[list[GivenLabel], int]:
    """The labels in a table, and the number of rows without a verdict.

    A row that has the same verdict twice counts once; two different ones are refused.
    """
    source = open_table(table, inferred=[])  # ids of a text file stay as they are written
    column = id_column if id_column in source.schema.names else ID
    labels: dict[str, GivenLabel] = {}
    n_without = 0
    for number, given in _rows(source, file, str(column)):
        if given is None:
            n_without += 1
            continue
        before = labels.setdefault(given.row, given)
        if before.verdict != given.verdict:
            raise TableError(
                f"{source.name} calls {cut(given.row)!r} both {before.verdict} and "
                f"{given.verdict}, the latter in row {number:,}, counted from 0; keep one of them."
            )
    return list(labels.values()), n_without


def _rows(
    source: Source, file: LabelFile, id_column: str
) -> Iterator[tuple[int, GivenLabel | None]]:
    """Number and label of each row."""
    others = [name for name in (NOTE, WHO) if name in source.schema.names]
    number = 0
    for batch in source.batches([id_column, file.verdict, *others]):
        ids = id_texts(batch[id_column], id_column, source.name, number).to_pylist()
        verdicts = label_text(batch[file.verdict]).to_pylist()
        notes, names = (
            label_text(batch[name]).to_pylist() if name in others else [None] * len(ids)
            for name in (NOTE, WHO)
        )
        for key, written, note, who in zip(ids, verdicts, notes, names, strict=True):
            yield number, _label(key, written, note or "", who, file, source.name)
            number += 1


def _label(
    key: str, written: str | None, note: str, who: str | None, file: LabelFile, table: str
) -> GivenLabel | None:
    if written is None:
        return None
    words = {file.anomaly: ANOMALY, file.normal: NORMAL, UNSURE: UNSURE}
    meant = next((words[word] for word in words if same_label(word, [written])), None)
    if meant is None:
        raise TableError(
            f"{table} has the verdict {cut(written)!r}, which is neither {file.anomaly!r}, "
            f"{file.normal!r} nor {UNSURE!r}; say what means what: ",
            *(Setting("anomaly"), ", ", Setting("normal"), "."),
        )
    if who is None and file.who is None:
        raise TableError(
            f"{table} does not say who judged {cut(key)!r}: give a column 'who', or a name with ",
            *(Setting("who"), "."),
        )
    return GivenLabel(key, meant, note, who or str(file.who))


def write_labels(
    store: LabelStore,
    path: str | PathLike[str],
    *,
    all_events: bool = False,
    spreadsheet_safe: bool = False,
) -> int:
    """Write the latest verdict of each row, or all events; returns how many.

    Parameters
    ----------
    store : LabelStore
    path : str or path
        The suffix gives the format: .csv, .tsv, .parquet, .pq, .arrow or .feather.
    all_events : bool, default=False
        Everything that was ever recorded, in its order.
    spreadsheet_safe : bool, default=False
        Whether texts of a text file that begin like a formula get an apostrophe.
    """
    with store.snapshot():
        events = store.events() if all_events else judged(store.latest())
        models = {one.number: one.name for one in store.models()}
    table = events_table(events, models)
    with open_output(Path(path), table.schema, spreadsheet_safe=spreadsheet_safe) as write:
        for batch in table.to_batches():
            write(batch)
    return len(events)


def models_table(models: Sequence[ModelRecord]) -> pa.Table:
    """Models as a table; what was measured of each is JSON."""
    rows = [{**one._asdict(), "figures": json.dumps(one.figures)} for one in models]
    return pa.Table.from_pylist(rows, pa.schema(list(_MODEL_COLUMNS.items())))


def judged(latest: Mapping[str, Event]) -> list[Event]:
    """The latest events of rows that were not reopened."""
    return [event for event in latest.values() if event.verdict != REOPENED]


def events_table(events: list[Event], models: dict[int, str]) -> pa.Table:
    """Events as a table; a model is named."""
    rows = [{**event._asdict(), ID: event.row} for event in events]
    for row in rows:
        row["model"] = None if row["model"] is None else models[int(row["model"])]
    return pa.Table.from_pylist(rows, pa.schema(list(_COLUMNS.items())))
