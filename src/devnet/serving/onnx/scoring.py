"""Scoring from file to file through an exported graph, to check it against the model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from devnet.core.read_ahead import bytes_of, map_ahead
from devnet.serving.onnx.exported import ExportedModel
from devnet.serving.onnx.prepared import input_arrays
from devnet.tables.opened_table import OpenedTable
from devnet.tables.output import check_output, is_text_file, open_output
from devnet.tables.overwriting import refuse_overwriting
from devnet.tables.score_columns import ALERT, SCORE
from devnet.tables.scoring import ScoredFile
from devnet.tables.training_rows import OnRows
from devnet.tables.written_rows import ROW, PassedColumns


def score_with_graph(
    model: ExportedModel,
    table: Any,
    output: str | Path,
    *,
    only_id: bool = False,
    spreadsheet_safe: bool = False,
    on_rows: OnRows | None = None,
) -> ScoredFile:
    """Write a table with the scores, p-values and alerts of an exported graph.

    Tables are read, and files written, as by `devnet.tables.score_table`; nominal p-values are not
    part of a graph, and drift is not looked for.

    Parameters
    ----------
    model : ExportedModel
        Of tables, not of matrices.
    table, output, only_id, spreadsheet_safe, on_rows
        As for `devnet.tables.score_table`.
    """
    opened = OpenedTable(model.table_model(), table)
    refuse_overwriting(table, output, model=model.path)
    names = opened.id_columns if only_id else list(opened.source.schema.names)
    is_text = is_text_file(output)
    kept = PassedColumns.choose(opened.model, opened.source, names, is_text=is_text)
    schema = kept.schema(opened.source.name, model.run({}, 0).schema)
    check_output(output, schema, spreadsheet_safe=spreadsheet_safe)
    n_rows = n_alerts = 0
    distinct = [ROW, SCORE, *opened.id_columns]
    with open_output(output, schema, distinct, spreadsheet_safe=spreadsheet_safe) as write:
        for columns, scored in _scored(model, opened, kept):
            numbers = {ROW: np.arange(n_rows, n_rows + len(scored))}
            write(pa.RecordBatch.from_pydict((columns or numbers) | _by_name(scored), schema))
            n_rows += len(scored)
            n_alerts += scored[ALERT].true_count
            if on_rows is not None:
                on_rows(n_rows)
    return ScoredFile(n_rows, n_alerts, model.threshold, model.alerts, opened.notes)


def _scored(
    model: ExportedModel, opened: OpenedTable, kept: PassedColumns
) -> Iterator[tuple[dict[str, Any], pa.RecordBatch]]:
    """Columns to write and what the graph adds to them, batch by batch, by several threads."""
    used = opened.model.encoder_.read_columns()
    source = opened.source.with_codes({*used} - {*kept.typed})
    batches = source.batches(list(dict.fromkeys([*used, *kept.typed])))

    def score(
        item: tuple[pa.RecordBatch, pa.RecordBatch | None],
    ) -> tuple[dict[str, Any], pa.RecordBatch]:
        batch, texts = item
        read = opened.as_read(pa.Table.from_batches([batch.select(used)])).to_batches()
        arrays = input_arrays(model.inputs, read[0]) if read else {}
        return kept.columns(batch, texts), model.run(arrays, len(batch))

    items = kept.with_texts(batches, opened.source.name, len)
    return map_ahead(score, items, size=lambda item: bytes_of(item[0]))


def _by_name(batch: pa.RecordBatch) -> dict[str, Any]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))
