"""Tables of all formats: the same rows from each, in batches; a clear error if one is broken."""

import bz2
import gzip
import lzma
import os
import sys
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, feather, ipc

from devnet.core.read_ahead import read_ahead
from devnet.tables.sources.opening import BATCH_ROWS, open_table
from devnet.tables.table_error import TableError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which is also where relative names start from."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_table(n_rows=5):
    number = np.arange(n_rows) / 4
    return pa.table(
        {
            "amount": pa.array(number, mask=np.arange(n_rows) % 3 == 1),
            "card": pa.array([None if i % 5 == 4 else f"card {i % 7}" for i in range(n_rows)]),
            "good": pa.array(np.arange(n_rows) % 2 == 0),
        }
    )


def read(table, columns=None, **options):
    source = open_table(table, **options)
    batches = list(source.batches(columns))
    assert all(0 < batch.num_rows <= BATCH_ROWS for batch in batches)
    if source.n_rows is not None:
        assert source.n_rows == sum(batch.num_rows for batch in batches)
    names = source.schema.names if columns is None else columns
    schema = pa.schema([source.schema.field(name) for name in names])
    return pa.Table.from_batches(batches, schema)


def write_stream(table, path):
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def write_packed(pack):
    def write(table, path):
        csv.write_csv(table, path)
        path.write_bytes(pack(path.read_bytes()))

    return write


WRITERS = {
    "t.csv": csv.write_csv,
    "t.tsv": lambda t, path: csv.write_csv(t, path, csv.WriteOptions(delimiter="\t")),
    "semicolon.csv": lambda t, path: csv.write_csv(t, path, csv.WriteOptions(delimiter=";")),
    "bar.txt": lambda t, path: csv.write_csv(t, path, csv.WriteOptions(delimiter="|")),
    "t.csv.gz": write_packed(gzip.compress),
    "t.csv.bz2": write_packed(bz2.compress),
    "t.csv.xz": write_packed(lzma.compress),
    "t.csv.zst": write_packed(lambda text: pa.compress(text, "zstd", asbytes=True)),
    "t.parquet": pq.write_table,
    "t.pq": lambda t, path: pq.write_table(t, path, row_group_size=70_000),
    "parquet_by_content": pq.write_table,
    "csv_by_content": csv.write_csv,
    "t.arrow": write_stream,
    "arrow_by_content": write_stream,
    "t.feather": feather.write_feather,
    "t.ipc": lambda t, path: feather.write_feather(t, path, compression="uncompressed"),
}
PACKED = {"t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zst"}  # slowly


@pytest.mark.parametrize("many", [0, 5, 70_000])
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_rows_that_were_written(name, many, folder):
    n_rows = min(many, 9_000) if name in PACKED else many
    table = make_table(n_rows)
    WRITERS[name](table, folder / name)
    if n_rows:
        assert read(name).equals(table)
        assert read(folder / name, ["good", "amount"]).equals(table.select(["good", "amount"]))
    assert read(name).num_rows == n_rows
    assert sum(batch.num_rows for batch in open_table(name).batches([])) == n_rows


@pytest.mark.parametrize("name", WRITERS)
def test_a_source_can_be_read_again_and_left_early(name, folder):
    n_rows = 9_000 if name in PACKED else 70_000
    WRITERS[name](make_table(n_rows), folder / name)
    source = open_table(name)
    n_threads = threading.active_count()
    early = source.batches()
    next(early)
    early.close()
    assert threading.active_count() == n_threads
    first, second = (pa.Table.from_batches(source.batches()) for _ in range(2))
    assert first.equals(second)
    assert first.num_rows == n_rows


@pytest.mark.parametrize("pattern", ["parts", "parts/*.parquet", "parts/?.parquet"])
def test_the_files_of_a_folder_are_one_table(pattern, folder):
    table = make_table(30)
    (folder / "parts").mkdir()
    (folder / "parts" / "_SUCCESS").touch()
    pq.write_table(table[20:].select(["good", "card", "amount"]), "parts/c.parquet")
    pq.write_table(table[:10], "parts/a.parquet")
    missing = table[10:20].set_column(1, "card", pa.nulls(10))
    pq.write_table(missing, "parts/b.parquet")
    expected = pa.concat_tables([table[:10], missing.cast(table.schema), table[20:]])
    assert read(pattern).equals(expected)
    assert open_table(pattern).n_rows == 30


def test_a_column_missing_in_the_first_file_has_the_type_of_the_others(folder):
    pq.write_table(pa.table({"a": pa.nulls(1), "b": pa.nulls(1)}), "1.parquet")
    pq.write_table(pa.table({"a": ["x"], "b": pa.nulls(1)}), "2.parquet")
    pq.write_table(pa.table({"a": ["y"], "b": [[7]]}), "3.parquet")
    assert read("*.parquet").to_pydict() == {"a": [None, "x", "y"], "b": [None, None, [7]]}


def test_csv_files_of_a_pattern_have_the_types_of_the_first(folder):
    (folder / "1.csv").write_text("a,b\n1,x\n")
    (folder / "2.csv").write_text("b,a\n7,2.5\n")
    assert read("*.csv").to_pydict() == {"a": [1.0, 2.5], "b": ["x", "7"]}


def test_files_of_one_table_that_differ_are_named_with_the_column(folder):
    pq.write_table(pa.table({"a": [1], "b": [2]}), "1.parquet")
    pq.write_table(pa.table({"a": [1], "c": [2]}), "2.parquet")
    with pytest.raises(TableError, match=r"2\.parquet has no column 'b', which 1\.parquet has"):
        open_table("*.parquet")
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), "2.parquet")
    with pytest.raises(TableError, match=r"'b' is string in 2\.parquet, but int64"):
        open_table("*.parquet")
    pq.write_table(pa.table({"a": [1], "b": [2], "c": [3]}), "2.parquet")
    with pytest.raises(TableError, match=r"1\.parquet has no column 'c', which 2\.parquet has"):
        open_table("*.parquet")


@pytest.mark.parametrize(
    "convert",
    [
        lambda t: t,
        lambda t: t.combine_chunks().to_batches()[0],
        lambda t: t.to_reader(),
        lambda t: {name: t[name].to_pylist() for name in t.column_names},
        lambda t: t.to_pandas().set_index(np.arange(7, 7 + len(t))),
        lambda t: t.to_pandas().set_index(pd.Index(np.arange(len(t)), name="id")),
        lambda t: pa.Table.from_pandas(t.to_pandas()[::-1], preserve_index=True)[::-1],
        pl.from_arrow,
    ],
    ids=["table", "batch", "reader", "dict", "pandas", "pandas id", "kept index", "polars"],
)
def test_tables_in_memory_give_their_columns_and_no_index(convert):
    table = make_table(70_000)
    found = read(convert(table))
    assert found.column_names == table.column_names
    assert found.cast(table.schema).equals(table)


def test_names_of_pandas_columns_become_text():
    assert open_table(pd.DataFrame([[1, 2]], columns=[0, "b"])).schema.names == ["0", "b"]


def test_types_that_few_know_are_plain_types():
    frame = pl.DataFrame({"s": ["x"], "l": [["y"]], "c": pl.Series(["u"], dtype=pl.Categorical)})
    types = [str(kind) for kind in open_table(frame).schema.types]
    assert not any("view" in kind for kind in types)
    assert read(frame).to_pylist() == [{"s": "x", "l": "y", "c": "u"}]


@pytest.mark.parametrize(
    "kind",
    [
        pa.struct([("b", pa.string_view())]),
        pa.list_(pa.struct([("b", pa.string_view())])),
        pa.list_(pa.struct([("b", pa.binary_view())]), 1),
    ],
    ids=str,
)
def test_views_within_nested_values_are_plain_types(kind):
    value = {"b": b"x"} if "binary" in str(kind) else {"b": "x"}
    column = pa.array([value, None] if pa.types.is_struct(kind) else [[value], None], kind)
    found = read({"a": column, "n": [1, 2]})
    assert "view" not in str(found.schema)
    assert found.take([1, 0]).to_pylist() == found.to_pylist()[::-1]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(np.array([1, 2], np.float16)),
        pa.array([Decimal(1), Decimal(2)], pa.decimal128(5, 2)),
        pa.array([Decimal(1), Decimal(2)], pa.decimal256(70, 10)),
    ],
    ids=lambda values: str(values.type),
)
def test_first_rows_are_read_whatever_codes_stand_for(values):
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), values)
    for table in (pa.table({"c": column}), pa.table({"c": column}).slice(0, 0)):
        assert open_table(table).first_rows(["c"]).to_pylist() == table.to_pylist()


def test_a_stream_can_be_read_once():
    source = open_table(make_table().to_reader())
    assert source.n_rows is None
    assert sum(batch.num_rows for batch in source.batches(["card"])) == 5
    with pytest.raises(TableError, match=r"that was read already; give .* stream.read_all\(\)"):
        list(source.batches())


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([1, 2], "type list is not a table; give the path"),
        (np.zeros((2, 2, 2)), "type ndarray is not a table"),
        (None, "type NoneType is not a table"),
        (pl.Series([1]), "type Series is not a table"),
        (pd.Series([1]), "type Series is not a table"),
        ({"a": [1, 2], "b": [1]}, "named b expected length 2"),
        ({"a": [1, "x"]}, "column 'a'; Could not convert 'x'"),
        ({"a": 3}, "column 'a'"),
        ({"a": [2**70]}, "column 'a'"),
        ({}, "has no columns"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "more than one column named 'a'"),
        (pd.DataFrame({"a": [1, [2]]}), "Conversion failed for column a"),
        (pd.DataFrame({"a": [1, {"b": 2}]}), "values of one kind"),
        ({" ": [1]}, "column 1 of the table has no name"),
        ("", "'' is not a path"),
        ("a\0b", "is not a path"),
    ],
    ids=str,
)
def test_what_is_no_table_gets_a_sentence(table, words):
    with pytest.raises(TableError) as error:
        open_table(table)
    assert words in str(error.value)


def test_unknown_columns_get_a_sentence_before_anything_is_read():
    with pytest.raises(TableError, match=r"'amuont'; known are .* Did you mean 'amount'"):
        open_table(make_table()).batches(["amuont"])


def test_a_missing_file_is_told_with_the_nearest_names(folder):
    (folder / "payments.csv").write_text("a\n1\n")
    with pytest.raises(FileNotFoundError, match=r"no file paymnets\.csv\. Did you mean 'payments"):
        open_table("paymnets.csv")
    with pytest.raises(FileNotFoundError, match=r"no file zzzz; list what there is: ls \."):
        open_table("zzzz")
    with pytest.raises(FileNotFoundError, match="nor a folder nowhere"):
        open_table("nowhere/t.csv")
    with pytest.raises(TableError, match=r"no file matches \*\.parquet"):
        open_table("*.parquet")


def test_folders_without_tables_get_a_sentence(folder):
    (folder / "t.csv").mkdir()
    with pytest.raises(TableError, match=r"t\.csv is a folder without Parquet files"):
        open_table("t.csv")
    (folder / "t.csv" / "part.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"give its files as 't\.csv/\*\.csv'"):
        open_table("t.csv")
    (folder / "deep" / "year").mkdir(parents=True)
    with pytest.raises(TableError, match=r"'deep/\*\*/\*\.parquet'"):
        open_table("deep")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX rights and pipes")
def test_a_file_that_may_not_be_read_gets_a_sentence(folder):
    (folder / "t.csv").write_text("a\n1\n")
    (folder / "t.csv").chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match=r"cannot be read: Permission denied.*ls -l"):
            open_table("t.csv")
    finally:
        if is_root:
            os.seteuid(0)
    os.mkfifo("pipe.csv")
    with pytest.raises(TableError, match="pipe or device, not a file; write the table to a file"):
        open_table("pipe.csv")


@pytest.mark.parametrize(
    "name", ["t.parquet", "t.arrow", "t.feather", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zst"]
)
def test_a_file_cut_anywhere_gets_a_sentence(name, folder):
    noise = np.random.default_rng(0).normal(size=(2, 2000))
    WRITERS[name](pa.table({"a": noise[0], "b": noise[1]}), folder / name)
    content = (folder / name).read_bytes()
    for share in (0.02, 0.3, 0.7, 0.95):
        (folder / name).write_bytes(content[: int(share * len(content))])
        with pytest.raises(TableError, match=rf"^{name} cannot be read: it is damaged"):
            read(name)


@given(data=st.data())
def test_damaged_parquet_is_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged.parquet"
    pq.write_table(make_table(50), path)
    content = bytearray(path.read_bytes())
    start = data.draw(st.integers(0, len(content) - 1))
    content[start : start + 20] = data.draw(st.binary(min_size=1, max_size=20))
    path.write_bytes(content)
    try:
        read(path)
    except TableError as error:
        assert str(path) in str(error)


def test_arrow_files_with_wrong_offsets_are_refused(folder):
    feather.write_feather(
        pa.table({"a": ["5" * 5, "7" * 7]}), "t.arrow", compression="uncompressed"
    )
    content = (folder / "t.arrow").read_bytes()
    offsets = np.array([0, 5, 12], np.int32).tobytes()
    assert content.count(offsets) == 1
    wrong = np.array([0, 2_000_000, 12], np.int32).tobytes()
    (folder / "t.arrow").write_bytes(content.replace(offsets, wrong))
    with pytest.raises(TableError, match="damaged"):
        read("t.arrow")


def test_parquet_with_columns_of_one_name_gets_a_sentence(folder):
    pq.write_table(pa.Table.from_arrays([[1], [2]], names=["a", "a"]), "t.parquet")
    with pytest.raises(TableError, match=r"t\.parquet has more than one column named 'a'"):
        open_table("t.parquet")


def test_batches_of_a_wide_table_are_small(folder, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.parquet.BATCH_BYTES", 1 << 18)
    wide = pa.table({f"c{i}": np.arange(3_000.0) + i for i in range(50)})
    pq.write_table(wide, "t.parquet", compression="none", use_dictionary=False)
    source = open_table("t.parquet")
    assert max(batch.nbytes for batch in source.batches()) <= 1.1 * 2**18
    assert next(source.batches(["c1"])).num_rows == 3_000


def test_reading_ahead_keeps_order_and_raises_in_place():
    def items():
        yield from range(5)
        raise KeyError("six")

    ahead = read_ahead(items())
    assert [next(ahead) for _ in range(5)] == list(range(5))
    with pytest.raises(KeyError, match="six"):
        next(ahead)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "t.svm", "t"])
def test_empty_files_get_a_sentence(name, folder):
    (folder / name).touch()
    with pytest.raises(TableError, match=f"^{name} is empty"):
        open_table(name)


def test_values_that_are_stored_as_runs_are_read_as_values():
    shop = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), ["a", "b"])
    source = open_table(pa.table({"shop": shop, "amount": [1.0, 2.0, 3.0]}))
    assert source.schema.field("shop").type == pa.string()
    (batch,) = source.batches(["shop"])
    assert batch["shop"].to_pylist() == ["a", "a", "b"]


def test_a_name_that_no_text_file_keeps_is_no_name():
    with pytest.raises(TableError, match="column 1 of .* has no name"):
        open_table({"\0": [1.0], "amount": [2.0]})
