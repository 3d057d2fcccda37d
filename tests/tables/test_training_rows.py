"""One pass over a training table: which columns are read, and how much is kept."""

import numpy as np
import pyarrow as pa
import pytest

from devnet.tables.encoder import TableEncoder
from devnet.tables.reservoir import row_bytes
from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError
from devnet.tables.training_rows import read_training_rows

N = 400


def table(**more):
    generator = np.random.default_rng(0)
    columns = {
        "value": generator.normal(size=N),
        "label": [1 if i % 20 == 3 else None for i in range(N)],
    }
    return pa.table(columns | more)


def read(given, **options):
    generator = np.random.default_rng(0)
    return read_training_rows(open_table(given), "label", generator=generator, **options)


def test_columns_that_cannot_be_used_are_not_kept_but_named():
    blobs = [b"\xff" * 1000] * N
    rows = read(
        table(blob=blobs, pairs=[[[1]]] * N, empty=pa.nulls(N), name=blobs), id_column="name"
    )
    assert rows.unlabelled.rows.column_names == ["value", "label", "name"]
    encoder = TableEncoder.learn(rows.summary, rows.unlabelled.rows)
    assert {name: str(one) for name, one in encoder.left_out.items()} == {
        "blob": "binary values",
        "pairs": "nested values (list)",
        "empty": "empty",
        "name": "ignored",
    }


def test_long_texts_are_kept_by_their_beginning_but_names_are_whole():
    texts = [f"{i % 5} ä " + "long " * 5000 for i in range(N)]
    rows = read(table(text=texts, name=texts), id_column="name").unlabelled.rows
    assert {len(text) for text in rows["text"].to_pylist()} == {4096}
    assert rows["name"].to_pylist()[0] == texts[0]


@pytest.mark.parametrize("n_bytes", [3_000, 20_000])
def test_rows_are_kept_up_to_a_bound_of_bytes(monkeypatch, n_bytes):
    monkeypatch.setattr("devnet.tables.training_rows.KEPT_BYTES", n_bytes)
    given = table(text=["x" * (i % 90) for i in range(N)])
    rows = read(given)
    kept = rows.unlabelled.rows
    assert row_bytes(kept).sum() <= n_bytes
    assert len(kept) > n_bytes / 150
    assert (rows.n_rows, rows.n_labelled) == (N, N // 20)


def test_binary_labels_get_a_sentence():
    labels = pa.array([b"\xff\x00"] + [None] * (N - 1))
    with pytest.raises(TableError, match="'label' holds values of the type binary .* with label"):
        read(table().set_column(1, "label", labels))


def test_a_single_unlabelled_row_is_too_few():
    given = pa.table({"value": [1.0, 2.0, 3.0], "label": [1, 1, None]})
    with pytest.raises(TableError, match="has 1 unlabelled row; at least 2 are needed"):
        read(given, anomaly="1")


def test_fraud_with_a_capital_and_with_a_space_is_one_label():
    written = ["Fraud", "fraud ", "fraud", "fraud", " ", *["ok"] * 9]
    labels = pa.array(written + [None] * (N - len(written)))
    for options in ({}, {"anomaly": "FRAUD"}):
        rows = read(table().set_column(1, "label", labels), **options)
        assert (rows.anomaly, rows.n_labelled) == ("fraud", 4)
        assert rows.spellings == ["fraud", "Fraud", "fraud "]
        assert rows.labelled.rows["label"].to_pylist() == written[:4]
        assert len(rows.unlabelled.rows) == N - 4


def test_a_label_column_that_is_not_there_is_told_before_anything_is_read(monkeypatch):
    source = open_table(table().drop_columns("label"))
    for name in ("first_rows", "batches"):
        monkeypatch.setattr(type(source), name, lambda *_: pytest.fail("rows were read"))
    with pytest.raises(TableError, match="unknown column 'label'"):
        read_training_rows(source, "label", generator=np.random.default_rng(0))
