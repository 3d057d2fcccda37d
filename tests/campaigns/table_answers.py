"""What a right answer about a table is, whatever the table."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import devnet
from campaigns.sentences import accepted
from devnet.cli.model_text import columns_text, model_text
from devnet.significance.policies import Budget
from devnet.tables import TableModel, find_alerts, score_table
from devnet.tables.description import describe_model, fit_notes
from devnet.tables.opened_table import OpenedTable

N_ALONE = 3  # rows that are scored by themselves, and explained
SCORES = ["anomaly_score", "p_value"]
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def check_fit(model: TableModel, train: Any, folder: Path) -> None:
    """The training table itself is scored and explained, by the model and by its file."""
    with accepted("scoring the training table"):
        scored = check_scores(model, train)
    path = folder / "m.devnet"
    with accepted("saving and loading"):
        model.save(path)
        loaded = devnet.load(path)
        again = loaded.score(train)
    assert again.equals(scored), "the loaded model scores otherwise"
    with accepted("describing the model"):
        facts = describe_model(model)
        assert min(map(len, (model_text(facts), columns_text(facts)))), "nothing to say"
        assert all(map(str, fit_notes(model))), "an empty note"
    with accepted("raising alerts"):
        found = find_alerts(model, train, policy=Budget(5), n_shown=None)
        assert found.n_rows + found.n_known == scored.num_rows, "alerts are of other rows"
        assert found.to_table().num_rows == found.n_alerts, "some alerts are not in the table"


def check_scores(model: TableModel, table: Any) -> pa.Table:
    """Finite, the same for a row alone, and the sum of what its columns add."""
    scored = model.score(table)
    scores, p_values = (scored[name].to_numpy() for name in SCORES)
    assert np.isfinite(scores).all(), "scores are not finite"
    assert ((p_values > 0) & (p_values <= 1)).all(), "p-values are no probabilities"
    rows = np.unique(np.linspace(0, len(scores) - 1, N_ALONE).astype(int)) if len(scores) else []
    if isinstance(table, pa.Table):
        assert scored.num_rows == table.num_rows, "there are more or fewer scores than rows"
        for i in rows:
            with accepted(f"scoring row {i} alone"):
                alone = model.score(table.slice(int(i), 1))
            same = alone.select(SCORES).equals(scored.select(SCORES).slice(int(i), 1))
            assert same, f"row {i} scores {alone[SCORES[0]][0]} alone, {scores[i]} among others"
    with accepted("explaining"):
        explained = model.explain(table, [int(i) for i in rows])
    for i, one in zip(rows, explained, strict=True):
        added = one.baseline_score + sum(one.contributions.values())
        near = 1e-3 * max(1.0, abs(scores[i]))
        assert one.score == scores[i], f"row {i} is explained as {one.score}, scored {scores[i]}"
        assert abs(added - one.score) <= near, (
            f"row {i}: contributions make {added}, not {one.score}"
        )
        assert all(reason.text for reason in one.reasons), "an empty reason"
    return scored


def check_output(model: TableModel, table: Any, path: Path) -> None:
    """The output has the rows of the input, its columns as they were, and the scores."""
    done = score_table(model, table, path)
    scored = model.score(table)
    assert done.n_rows == scored.num_rows, f"{done.n_rows} rows written, {scored.num_rows} scored"
    source = OpenedTable(model, table).source
    given = pa.Table.from_batches(source.batches(), source.schema)
    if path.suffix in (".csv", ".tsv"):
        delimiter = "," if path.suffix == ".csv" else "\t"
        names, rows = read_cells(path, delimiter)
        expected = [*given.column_names, *scored.column_names]
        assert names == expected, f"the columns are {names}, not {expected}"
        assert len(rows) == scored.num_rows, f"{len(rows)} lines, {scored.num_rows} rows"
        return
    found = pq.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)
    for name in scored.column_names:
        assert found[name].equals(scored[name]), f"{name} is not what was scored"
    for name in given.column_names:
        assert values(found[name]) == values(given[name]), f"the column {name!r} was changed"


def read_cells(path: Path, delimiter: str = ",") -> tuple[list[str], list[list[str]]]:
    """Names and rows of a CSV file, as the standard library reads them."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.reader(file, delimiter=delimiter) if line]
    return lines[0], lines[1:]


def values(column: pa.ChunkedArray) -> list[str]:
    """Values in a form that can be compared, NaN and far dates included."""
    try:
        return list(map(repr, column.to_pylist()))
    except (ValueError, OverflowError):
        if pa.types.is_dictionary(column.type):
            column = pa.chunked_array([part.dictionary_decode() for part in column.chunks])
        width = pa.int32() if column.type.bit_width == 32 else pa.int64()
        unit = UNITS.get(getattr(column.type, "unit", ""), 1)  # Parquet has no seconds
        return [repr(one and one * unit) for one in column.cast(width).to_pylist()]
