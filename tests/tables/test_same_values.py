"""The same values score the same, however a table writes them."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from devnet.tables import TableModel
from devnet.tables.columns.text_values import text_values
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.opened_table import OpenedTable
from devnet.tables.sources.opening import open_table

N = 200
TOKYO = dt.timezone(dt.timedelta(hours=9))


def learned(table, **options):
    summary = TableSummary(table.schema, **options)
    summary.add(table)
    return TableEncoder.learn(summary, table)


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def times(zone, unit="us"):
    """The same instants on the clocks of a zone."""
    instants = pa.array(np.arange(N) * 7_777_777 * 10**6, pa.timestamp("us", "UTC"))
    return instants.cast(pa.timestamp(unit, zone)) if zone else instants.cast(pa.timestamp(unit))


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York", "+05:30"])
def test_instants_are_encoded_on_the_clock_that_was_learned(zone):
    encoder = learned(pa.table({"when": times("Asia/Tokyo")}))
    given = pa.table({"when": times(zone)})
    np.testing.assert_array_equal(
        dense(encoder.encode(given)), dense(encoder.encode(pa.table({"when": times("Asia/Tokyo")})))
    )
    assert encoder.check(given.schema, "t") == []
    phrases = {encoder.phrase({"when": times(one)[3]}, "when") for one in (zone, "Asia/Tokyo")}
    assert len(phrases) == 1
    assert dense(encoder.encode(given)).dtype == np.float32


@pytest.mark.parametrize(("first", "then"), [(None, "Asia/Tokyo"), ("Asia/Tokyo", None)])
def test_times_with_and_without_a_zone_keep_their_clock_and_get_a_note(first, then):
    encoder = learned(pa.table({"when": times(first)}))
    given = pa.table({"when": times(then)})
    (note,) = encoder.check(given.schema, "t")
    assert "'when'" in note
    assert "without a zone" in note
    assert "of the zone Asia/Tokyo" in note
    clock = given if then is None else pa.table({"when": pa.compute.local_timestamp(times(then))})
    again = learned(clock)
    np.testing.assert_array_equal(again.encode(clock)[:, 0], encoder.encode(given)[:, 0])


def test_a_csv_with_offsets_scores_as_the_parquet_file_does(tmp_path):
    generator = np.random.default_rng(0)
    hour = generator.integers(0, 24, N)
    when = [dt.datetime(2026, 1, 1 + i % 28, int(h), tzinfo=TOKYO) for i, h in enumerate(hour)]
    label = [1 if h == 3 else None for h in hour]
    table = pa.table({"when": pa.array(when, pa.timestamp("us", "Asia/Tokyo")), "fraud": label})
    pq.write_table(table, tmp_path / "t.parquet")
    rows = [f"{w:%Y-%m-%d %H:%M:%S%z},{y or ''}\n" for w, y in zip(when, label, strict=True)]
    (tmp_path / "t.csv").write_text("when,fraud\n" + "".join(rows))
    (tmp_path / "naive.csv").write_text("when,fraud\n" + "".join(rows).replace("+0900", ""))
    for fitted_on in ("t.csv", "t.parquet"):
        model = TableModel("PU trees", random_state=0).fit(tmp_path / fitted_on, "fraud")
        scores = [model.score(tmp_path / name)["anomaly_score"] for name in ("t.csv", "t.parquet")]
        assert scores[0].equals(scores[1])
        notes = OpenedTable(model, tmp_path / "naive.csv").notes
        assert len(notes) == 1
        assert len(model.score(tmp_path / "naive.csv")) == N


def test_large_whole_numbers_are_categories_of_their_own():
    large = [2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
    assert text_values(pa.array(large)).texts.to_pylist() == list(map(str, large))
    unsigned = pa.array([2**64 - 1, 2**64 - 2, None], pa.uint64())
    assert text_values(unsigned).texts.to_pylist() == [str(2**64 - 1), str(2**64 - 2)]
    for kind in (pa.int8(), pa.float32(), pa.float64(), pa.uint64()):
        assert text_values(pa.array([1], kind)).texts.to_pylist() == ["1"]
    assert text_values(pa.array([1e17])).texts.to_pylist() == [str(10**17)]


CODES = {
    "number": pa.array([1, 2, 30, None] * (N // 4)),
    "large": pa.array([2**53, 2**53 + 1, 2**60, 2**60 + 1] * (N // 4)),
    "with fractions": pa.array([0.5, 1.0, 2.25, None] * (N // 4)),
    "whole, written with a point": pa.array([1.0, 2.0, 30.0, None] * (N // 4)),
    "boolean": pa.array([True, False, None, True] * (N // 4)),
    "date": pa.array([dt.date(2026, 1, 2), dt.date(2026, 3, 4)] * (N // 2)),
    "time": pa.array([dt.datetime(2026, 1, 2, 3), dt.datetime(2026, 1, 2)] * (N // 2)),
}


def spelled(values, kind):
    """The values in text, as pandas would write them."""
    if kind == "whole, written with a point":
        return pa.array([None if one is None else f"{one:.1f}" for one in values.to_pylist()])
    if kind == "boolean":
        return pa.array([None if one is None else str(one) for one in values.to_pylist()])
    return values


@pytest.mark.parametrize("kind", CODES)
def test_forced_categories_are_the_same_in_text_and_typed_files(kind, tmp_path):
    label = [1 if i % 4 == 1 and i < 99 else None for i in range(N)]
    amount = np.random.default_rng(0).normal(size=N)
    table = pa.table({"code": CODES[kind], "amount": amount, "fraud": label})
    pq.write_table(table, tmp_path / "t.parquet")
    csv.write_csv(table.set_column(0, "code", spelled(CODES[kind], kind)), tmp_path / "t.csv")
    scores = []
    for fitted_on in ("t.csv", "t.parquet"):
        model = TableModel("PU trees", categorical=["code"], random_state=0)
        model.fit(tmp_path / fitted_on, "fraud")
        found = [model.score(tmp_path / name)["anomaly_score"] for name in ("t.csv", "t.parquet")]
        assert found[0].equals(found[1])
        scores += found
    assert scores[0].equals(scores[2])
    assert len(scores[0].unique()) > 1


def test_codes_with_zeros_before_them_stay_apart(tmp_path):
    (tmp_path / "t.csv").write_text("zip\n" + "007\n7\n1.10\n1.1\n" * 10)
    source = open_table(tmp_path / "t.csv", types={"zip": pa.string()})
    encoder = learned(pa.Table.from_batches(source.batches()), categorical=["zip"])
    assert [text for text, _ in encoder.columns[0].values] == ["007", "1.1", "1.10", "7"]


def test_an_encoder_keeps_that_a_category_was_forced():
    encoder = learned(pa.table({"code": ["1", "2"] * 50}), categorical=["code"])
    again = TableEncoder.from_header(encoder.to_header())
    for values in (pa.array([1, 2]), pa.array([True, False]), pa.array([0, 1], pa.date32())):
        np.testing.assert_array_equal(
            dense(again.encode(pa.table({"code": values}))),
            dense(encoder.encode(pa.table({"code": values}))),
        )


def test_texts_that_differ_at_their_end_are_not_called_constant():
    texts = ["x" * 100 + str(i % 9) for i in range(N)]
    encoder = learned(pa.table({"text": texts, "value": np.arange(N) % 7 + 0.5}))
    assert str(encoder.left_out["text"]) == "text: the first 100 characters are always the same"


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_values_and_their_codes_are_the_same_categories(kind):
    values = pa.array(np.array([0.1, 2.0, np.nan, 1 / 3]).astype(kind.to_pandas_dtype()))
    codes = pa.DictionaryArray.from_arrays(pa.array([3, 0, 0, 1, 2], pa.int8()), values)
    assert text_values(codes).listed() == text_values(values.take(codes.indices)).listed()


@pytest.mark.parametrize(
    ("known", "without"),
    [
        (pa.array([f"2020-01-{1 + i % 28:02}" for i in range(N)]), None),
        (np.arange(N) / 7, None),
        (np.arange(N) / 7, "n/a"),
        (pa.array(np.arange(N) * 60, pa.int32()).cast(pa.time32("s")), ""),
    ],
    ids=["dates in text", "numbers", "markers among numbers", "times"],
)
def test_a_text_column_without_a_value_is_missing_whatever_was_learned(known, without):
    """The type of a column alone says little: a frame may hold nothing in it."""
    known = pa.array(known)
    nothing = pa.nulls(N, known.type)
    column = pc.if_else(pa.array(np.arange(N) % 9 == 0), nothing, known)
    fraud = [1 if i % 4 == 1 and i < 99 else None for i in range(N)]
    amount = np.random.default_rng(0).normal(size=N)
    model = TableModel("PU trees", random_state=0)
    model.fit(pa.table({"a": column, "amount": amount, "fraud": fraud}), "fraud")
    same = pa.table({"a": nothing, "amount": amount})
    texts = same.set_column(0, "a", pa.array([without] * N, pa.string()))
    assert model.score(texts).equals(model.score(same))
    assert model.score(texts.slice(0, 0)).num_rows == 0


def test_a_text_that_looks_like_a_number_scores_the_same_in_a_file_of_its_own(tmp_path):
    words = np.random.default_rng(0).choice(["a b", "c d", "e"], N).tolist()
    words[7] = "1,5"  # a number where semicolons separate values
    rows = [f"{word};{i % 17}.5;{int(i % 9 == 0)}" for i, word in enumerate(words)]
    (tmp_path / "t.csv").write_text("\n".join(["word;amount;fraud", *rows, ""]))
    (tmp_path / "alone.csv").write_text(f"word;amount;fraud\n{rows[7]}\n")
    model = TableModel("PU trees", random_state=0).fit(tmp_path / "t.csv", "fraud")
    scores = model.score(tmp_path / "t.csv")["anomaly_score"].to_pylist()
    assert model.score(tmp_path / "alone.csv")["anomaly_score"].to_pylist() == scores[7:8]
