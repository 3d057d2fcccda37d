"""Scores as an answer: JSON, or a stream of Arrow."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import ipc
from starlette.responses import Response

from devnet.core.wording import visible
from devnet.serving.service.arrow_rows import ARROW
from devnet.serving.service.refusal import JSON, Refusal
from devnet.tables.score_columns import ALERT

NOTES = "notes"  # in JSON, and in the metadata of an Arrow schema
MODEL = "model"
_ENCODER = json.JSONEncoder(default=str, allow_nan=False, separators=(",", ":"))


class Answer(NamedTuple):
    """The scored rows of a request."""

    scored: pa.RecordBatch
    id_column: str | None
    ids: Sequence[Any] | pa.Array | None
    notes: tuple[str, ...]
    model: str  # the fingerprint of its file

    @property
    def n_alerts(self) -> int:
        """Rows that are alerts."""
        return int(self.scored.column(ALERT).true_count)

    def response(self, kind: str) -> Response:
        """The answer as JSON or Arrow."""
        made = self._arrow() if kind == ARROW else self._json()
        return Response(made, media_type=kind)

    def _json(self) -> bytes:
        names, columns = self.scored.schema.names, [*map(_values, self.scored.columns)]
        if self.ids is not None and self.id_column not in names:
            ids = self.ids.to_pylist() if isinstance(self.ids, pa.Array) else self.ids
            names, columns = [self.id_column, *names], [map(_ENCODER.encode, ids), *columns]
        keys = [_ENCODER.encode(name).replace("%", "%%") for name in names]
        row = f"{{{','.join(f'{key}:%s' for key in keys)}}}"
        rows = ",".join(map(row.__mod__, zip(*columns, strict=True)))
        others = _ENCODER.encode({NOTES: [*map(visible, self.notes)], MODEL: self.model})
        return f'{{"rows":[{rows}],{others[1:]}'.encode()

    def _arrow(self) -> bytes:
        batch = self.scored
        if self.ids is not None and self.id_column not in batch.schema.names:
            columns = [_as_array(self.ids), *batch.columns]
            batch = pa.RecordBatch.from_arrays(columns, [self.id_column, *batch.schema.names])
        metadata = {NOTES: json.dumps(self.notes), MODEL: self.model}
        sink = pa.BufferOutputStream()
        with ipc.new_stream(sink, batch.schema.with_metadata(metadata)) as writer:
            writer.write_batch(batch)
        made: bytes = sink.getvalue().to_pybytes()
        return made


def _values(column: pa.Array) -> Iterable[str]:
    """The values of a column as JSON; numbers are finite, as they have ranks."""
    values = column.to_pylist()
    if values and (pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)):
        return _ENCODER.encode(values)[1:-1].split(",")  # none of them has a comma
    return map(_ENCODER.encode, values)


def _as_array(ids: Sequence[Any] | pa.Array) -> pa.Array:
    """Names of rows as a column; of several kinds they become text."""
    if isinstance(ids, pa.Array):
        return ids
    try:
        return pa.array(ids)
    except (pa.ArrowException, OverflowError, UnicodeError):
        texts = [None if one is None else json.dumps(one).strip('"') for one in ids]
        return pa.array(texts, pa.string())


def chosen_kind(accept: str | None, sent: str) -> str:
    """What to answer with, by the Accept header; what was sent is answered in kind.

    >>> chosen_kind(None, JSON), chosen_kind("*/*", ARROW) == ARROW
    ('application/json', True)
    """
    kinds = [one.partition(";")[0].strip().lower() for one in (accept or "*/*").split(",")]
    for wanted in (sent, JSON, ARROW):
        family = wanted.partition("/")[0]
        if {wanted, f"{family}/*", "*/*", ""} & {*kinds}:
            return wanted
    raise Refusal(406, f"answers come as {JSON} or {ARROW}; accept one of them.")
