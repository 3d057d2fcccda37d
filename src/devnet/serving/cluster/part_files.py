"""The files of a part, and the sidecar that vouches for them.

The sidecar is written last. A part without one, or with one of another job, was never finished.
"""

import json
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from devnet.serving.cluster.fingerprints import bytes_checksum, file_checksum
from devnet.serving.cluster.folder import STAGED, WORK
from devnet.serving.cluster.stores import Store
from devnet.tables.output import open_output
from devnet.tables.readings.table_reader import Unread
from devnet.tables.score_columns import ALERT
from devnet.tables.table_error import TableError


class PartNames(NamedTuple):
    """The names of a part's files."""

    final: str  # rows
    staged: str  # rows, before it is known which of them are alerts
    seen: str  # a sample of rows, by which the table is compared with training
    summary: str  # what the policy has to know of the scores
    scored: str  # sidecar of rows, sample and summary
    alerts: str  # sidecar of final rows that were staged

    @classmethod
    def of(cls, name: str) -> "PartNames":
        """The names for a part such as part-00017."""
        return cls(
            f"{name}.parquet",
            f"{STAGED}/{name}.parquet",
            f"{WORK}/scored/{name}.seen.arrow",
            f"{WORK}/scored/{name}.summary.arrow",
            f"{WORK}/scored/{name}.json",
            f"{WORK}/alerts/{name}.json",
        )


class PartKey(NamedTuple):
    """What a part was made from; work is only taken over if all of it is the same."""

    model: str  # checksum of the model file
    input: str  # fingerprint of the rows
    settings: str  # fingerprint of what else decides about the output


class PartRecord(NamedTuple):
    """What a sidecar says."""

    run: str  # of the job that made it
    key: PartKey
    n_rows: int
    n_alerts: int
    checksums: dict[str, str]  # by the name of each file
    unread: dict[str, Unread]  # by column

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        unread = {name: list(one) for name, one in self.unread.items()}
        return {**self._asdict(), "key": self.key._asdict(), "unread": unread}


class WrittenPart(NamedTuple):
    """A file of rows."""

    n_rows: int
    n_alerts: int
    checksum: str


def finished_part(store: Store, sidecar: str, key: PartKey) -> PartRecord | None:
    """The record of a part that is finished and undamaged; None if it has to be made."""
    record = _read(store.read(sidecar))
    if record is None or record.key != key:
        return None
    is_whole = all(store.checksum(name) == one for name, one in record.checksums.items())
    return record if is_whole else None


def finish_part(store: Store, sidecar: str, record: PartRecord) -> PartRecord:
    """Vouch for files that are written."""
    store.write(sidecar, json.dumps(record.to_json(), indent=1).encode())
    return record


def write_rows(
    store: Store,
    name: str,
    schema: pa.Schema,
    distinct: Collection[str],
    batches: Iterable[pa.RecordBatch],
) -> WrittenPart:
    """Write the rows of a part; the file appears when it is complete."""
    n_rows = n_alerts = 0
    with store.target(name) as path:
        with open_output(path, schema, distinct) as write:
            for batch in batches:
                write(batch)
                n_rows += len(batch)
                n_alerts += batch[ALERT].true_count
        return WrittenPart(n_rows, n_alerts, file_checksum(path))


def write_table(store: Store, name: str, table: pa.Table) -> str:
    """Write a small table; returns its checksum."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    store.write(name, content)
    return bytes_checksum(content)


def read_table(store: Store, name: str) -> pa.Table:
    """A small table that was written."""
    content = store.read(name)
    if content is None:
        raise TableError(
            f"{name} is gone from {store.shown}; leave the folder alone, and run the command again."
        )
    return pa.ipc.open_file(pa.py_buffer(content)).read_all()


def _read(content: bytes | None) -> PartRecord | None:
    """The record of a sidecar; None if there is none, or it is damaged."""
    try:
        found = json.loads(content or b"")
        return PartRecord(
            str(found["run"]),
            PartKey(**found["key"]),
            int(found["n_rows"]),
            int(found["n_alerts"]),
            dict(found["checksums"]),
            {name: Unread(*one) for name, one in found["unread"].items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
