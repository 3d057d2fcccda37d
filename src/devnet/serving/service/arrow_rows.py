"""An Arrow stream as one record batch: its size is known before it is unpacked, all is checked.

A few bytes may stand for many: compressed buffers, codes of a dictionary, views into one long
text. So everything is counted as plain values before it becomes such. Columns that the model does
not take are not read at all.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from devnet.serving.service.asked import Asked
from devnet.serving.service.json_rows import too_many
from devnet.serving.service.limits import Limits
from devnet.serving.service.refusal import Refusal, bad_value
from devnet.serving.service.served_model import ServedModel
from devnet.serving.service.unread import first_unread
from devnet.tables.columns.arrow_values import kind_of
from devnet.tables.sources.arrow_sizes import unpacked_sizes
from devnet.tables.sources.plain_columns import plain_batch, plain_type, undictionaried

ARROW = "application/vnd.apache.arrow.stream"


def read_arrow(body: bytes, model: ServedModel, limits: Limits) -> Asked:
    """The rows of a stream, in plain types."""
    source = pa.BufferReader(body)
    try:
        _check_unpacked(source, limits.n_unpacked)
        source.seek(0)
        schema = ipc.read_schema(source)
        notes = model.check_schema(schema)
        source.seek(0)
        batches = _batches(source, schema, model, limits)
    except (pa.ArrowException, OSError, ValueError) as error:  # names may be no text
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise Refusal(400, f"the body is no whole stream of Arrow: {reason}.") from None
    batch = _joined(batches, limits.n_unpacked)
    ids = batch.column(model.id_column) if model.id_column in batch.schema.names else None
    return Asked(_read(batch.select(model.encoder.read_columns()), model), ids, notes)


def _check_unpacked(source: pa.BufferReader, most: int) -> None:
    total = 0
    for size in unpacked_sizes(source, has_index=False):
        total += size
        if total > most:
            raise Refusal(
                413,
                f"the stream unpacks to {total:,} bytes or more, and at most {most:,} are taken; "
                "send fewer rows at once.",
            )


def _batches(
    source: pa.BufferReader, schema: pa.Schema, model: ServedModel, limits: Limits
) -> list[pa.RecordBatch]:
    """The batches with the columns that are needed, each of them whole."""
    wanted = {*model.encoder.read_columns(), model.id_column}
    fields = [i for i, name in enumerate(schema.names) if name in wanted]
    options = ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    found, n_rows = [], 0
    with ipc.open_stream(source, options=options) as reader:
        for batch in reader:
            batch.validate(full=True)
            n_rows += len(batch)
            if n_rows > limits.n_rows:
                raise too_many(n_rows, limits.n_rows)
            found.append(batch)
        return found or [pa.RecordBatch.from_pylist([], reader.schema)]


def _joined(batches: list[pa.RecordBatch], most: int) -> pa.RecordBatch:
    """One batch of plain values, if there is room for them."""
    n_bytes = sum(_plain_bytes(column) for batch in batches for column in batch.columns)
    if n_bytes > most:
        raise Refusal(
            413,
            f"the values of the stream take {n_bytes:,} bytes, and at most {most:,} are taken; "
            "send fewer rows at once.",
        )
    schema = pa.schema(
        [(one.name, undictionaried(plain_type(one.type))) for one in batches[0].schema]
    )
    plain_ones = [plain_batch(batch, schema) for batch in batches]
    return pa.concat_batches(plain_ones) if len(plain_ones) > 1 else plain_ones[0]


def _plain_bytes(values: pa.Array) -> int:
    """Bytes of the values themselves."""
    if isinstance(values, pa.ExtensionArray):
        return _plain_bytes(values.storage)
    if pa.types.is_dictionary(values.type):
        return _coded_bytes(values)
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        return int(_view_lengths(values).sum())
    return int(values.nbytes)


def _coded_bytes(values: pa.DictionaryArray) -> int:
    """Bytes of values that are stored as codes."""
    entries, codes = values.dictionary, values.indices.drop_null()
    if pa.types.is_string_view(entries.type):
        lengths = pa.array(_view_lengths(entries))
    elif kind_of(entries.type).name == "text":
        lengths = pc.binary_length(entries)
    else:
        return 16 * len(values)  # as wide as a value can be
    return int(pc.sum(lengths.take(codes).cast(pa.int64())).as_py() or 0)


def _view_lengths(values: pa.Array) -> np.ndarray:
    """Lengths of texts that are views of 16 bytes, which begin with the length."""
    views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)
    own: np.ndarray = views[values.offset : values.offset + len(values), 0].astype(np.int64)
    return own


def _read(batch: pa.RecordBatch, model: ServedModel) -> pa.RecordBatch:
    """The batch with its values read as the model learned them; one that cannot be is refused."""
    reader = model.encoder.reader
    for i, name in enumerate(batch.schema.names):
        if name not in reader.readings:
            continue
        raw = batch.column(i)
        found = reader.column(name, raw)
        row = first_unread(raw, found)
        if row is not None:
            wanted = reader.readings[name].in_words()
            raise bad_value(row, name, str(raw[row].as_py()), f"what can be read ({wanted})")
        batch = batch.set_column(i, name, found)
    return batch
