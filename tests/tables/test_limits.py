"""What docs/reference/tables.md says about rows, columns, values and labels, at the limit."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet.core.layout import MAX_COLUMNS
from devnet.tables import TableError, TableModel, open_table
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.readings.column_learning import AsWritten
from devnet.tables.readings.number_reading import NumberReading
from devnet.tables.readings.reading import Conventions
from devnet.tables.readings.table_reader import TableReader
from devnet.tables.training_rows import read_training_rows

PAIR = pa.struct([("index", pa.int32()), ("value", pa.float32())])


def learned(table):
    summary = TableSummary(table.schema)
    summary.add(table)
    return TableEncoder.learn(summary, table)


def training_rows(table, **options):
    generator = np.random.default_rng(0)
    return read_training_rows(open_table(table), "label", generator=generator, **options)


def reading_of(texts, *, may_be_codes=False):
    """How a column of texts is read; None if they stay as they are, without a note."""
    batch = pa.record_batch({"a": texts})
    reader = TableReader.learn(batch, Conventions(), may_be_codes=may_be_codes)
    return reader.readings.get("a", reader.as_written.get("a"))


@pytest.mark.parametrize(("n_values", "width"), [(29, 29 + 1), (30, 30 + 1), (31, 30 + 1)])
def test_the_thirtieth_value_has_its_own_column_and_the_next_has_not(n_values, width):
    encoder = learned(pa.table({"shop": [f"shop {i}" for i in range(n_values)] * 100}))
    assert encoder.n_columns == width


@pytest.mark.parametrize("n_more", [0, 1])
def test_as_many_unlabelled_rows_are_kept_as_training_draws_from(n_more):
    n_rows = 262_144 + n_more
    label = np.where(np.arange(n_rows + 5) < 5, 1.0, np.nan)
    rows = training_rows({"a": np.arange(n_rows + 5.0), "label": pa.array(label, from_pandas=True)})
    assert len(rows.unlabelled.rows) == 262_144
    assert len(rows.labelled.rows) == 5
    assert rows.n_rows == n_rows + 5


def test_the_label_of_anomalies_is_found_after_any_number_of_others():
    others = [f"kind {i % 500}" for i in range(5_000)]
    table = {"a": np.arange(5_003.0), "label": [*others, "fraud", "fraud", "Fraud"]}
    rows = training_rows(table, anomaly="fraud")
    assert (rows.n_labelled, rows.anomaly) == (3, "fraud")


@pytest.mark.parametrize("n_unlabelled", [2, 3])
def test_two_unlabelled_rows_are_enough_to_be_read(n_unlabelled):
    label = pa.array([1, 1] + [None] * n_unlabelled)
    rows = training_rows({"a": np.arange(n_unlabelled + 2.0), "label": label}, anomaly="1")
    assert len(rows.unlabelled.rows) == n_unlabelled


@pytest.mark.parametrize(("n_words", "is_number"), [(5, True), (6, False)])
def test_ninety_five_numbers_in_a_hundred_are_numbers(n_words, is_number):
    numbers = [f"{i}.5" for i in range(100 - n_words)]
    words = [f"word {'abcdefgh'[i]}" for i in range(n_words)]
    assert isinstance(reading_of([*numbers, *words]), NumberReading) == is_number


@pytest.mark.parametrize(("n_marks", "is_number"), [(20, True), (21, False)])
def test_eighty_numbers_in_a_hundred_are_numbers_if_the_rest_is_three_marks(n_marks, is_number):
    numbers = [f"{i}.5" for i in range(100 - n_marks)]
    assert isinstance(reading_of([*numbers, *["T", "M", "V"] * 7][:100]), NumberReading) == (
        is_number and n_marks == 20
    )
    four = [*numbers, *["T", "M", "V", "W"] * 6][:100]
    assert not isinstance(reading_of(four), NumberReading)
    assert isinstance(reading_of(four), AsWritten) == (n_marks == 20)


@pytest.mark.parametrize(("n_values", "are_codes"), [(20, True), (21, False)])
def test_twenty_whole_numbers_stored_as_text_are_codes(n_values, are_codes):
    texts = [str(i) for i in range(n_values)] * 10
    assert (reading_of(texts, may_be_codes=True) is None) == are_codes


@pytest.mark.parametrize(("start", "is_number"), [(65_536, True), (60_000, False)])
def test_the_first_rows_decide_how_a_column_is_read(start, is_number, tmp_path):
    texts = [f"{i % 997}.5" for i in range(90_000)]
    texts[start : start + 20_000] = [f"word {i % 10}" for i in range(20_000)]
    label = np.arange(len(texts)) % 100 == 3
    pq.write_table(pa.table({"a": texts, "label": label}), tmp_path / "t.parquet")
    rows = training_rows(tmp_path / "t.parquet")
    assert ("a" in rows.summary.reader.readings) == is_number


@pytest.mark.parametrize(("digits", "kind"), [(14, pa.float64()), (15, pa.int64())])
def test_whole_numbers_of_fifteen_digits_are_names(digits, kind, tmp_path):
    (tmp_path / "t.csv").write_text(
        "a\n" + "".join(f"{10 ** (digits - 1) + i}\n" for i in range(9))
    )
    assert open_table(tmp_path / "t.csv").schema.field("a").type == kind


def test_the_highest_index_of_a_vector_is_the_last_column_of_the_matrix():
    vectors = [[{"index": MAX_COLUMNS - 1, "value": 1.0}], [{"index": 0, "value": 2.0}]]
    table = pa.table({"f": pa.array(vectors, pa.list_(PAIR))})
    assert learned(table).encode(table).shape == (2, MAX_COLUMNS)
    vectors[0][0]["index"] += 1
    with pytest.raises(TableError, match=f"index {MAX_COLUMNS:,}; at most {MAX_COLUMNS - 1:,} is"):
        learned(pa.table({"f": pa.array(vectors, pa.list_(PAIR))}))


def test_an_index_of_svmlight_has_at_most_31_bits(tmp_path):
    (tmp_path / "t.svm").write_text(f"1 {2**31 - 1}:1\n")
    (batch,) = open_table(tmp_path / "t.svm").batches()
    assert batch.column("features")[0].as_py() == [{"index": 2**31 - 1, "value": 1.0}]
    (tmp_path / "t.svm").write_text(f"1 {2**31}:1\n")
    with pytest.raises(TableError, match="line 1 of .* is not svmlight"):
        list(open_table(tmp_path / "t.svm").batches())


@pytest.mark.parametrize("n_columns", [500, 501])
def test_spreads_are_kept_for_five_hundred_columns(n_columns):
    generator = np.random.default_rng(0)
    label = np.arange(200) % 20 == 3
    columns = {f"c{i}": generator.normal(size=200) + label for i in range(n_columns)}
    model = TableModel("PU trees", parameters={"n_trees": 4}, random_state=0)
    model.fit({**columns, "label": label}, "label")
    assert len(model.explainer_.spreads) == 500
