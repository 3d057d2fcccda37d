"""Small files that unpack to very much are read in small pieces, or refused before it is done."""

import bz2
import gzip
import inspect
import json
import lzma
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import ipc
from pyarrow.feather import write_feather

from devnet.tables.sources import parquet_sizes
from devnet.tables.sources.byte_stream import open_bytes, open_file
from devnet.tables.sources.dictionary_page import longest
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.room import max_unpacked
from devnet.tables.table_error import TableError

PACKS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda content: pa.compress(content, "zstd", asbytes=True),
}
ROOM = 1 << 20  # bytes, for the tests; a gibibyte otherwise


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setenv("DEVNET_MAX_UNPACKED", str(ROOM))
    monkeypatch.setattr("devnet.tables.sources.parquet_sizes.PAGE_BYTES", 1 << 10)


def read(name):
    return pa.Table.from_batches(list(open_table(name).batches()))


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("start", ["a,b\n1,", 'a,b\n1,"', "", "a,b\n1,x\n2,"])
def test_a_line_without_an_end_is_refused(pack, start, folder, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 9, 1 << 12, 1 << 15))
    (folder / f"t.csv.{pack}").write_bytes(PACKS[pack](start.encode() + b"y" * (1 << 20)))
    with pytest.raises(TableError, match=r"has a row of more than 32,768 bytes; look for a quote"):
        read(f"t.csv.{pack}")


def test_a_line_that_is_long_but_within_the_limit_is_read(folder, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 9, 1 << 12, 1 << 15))
    longest = (1 << 15) - 10
    (folder / "t.csv").write_text(f"a,b\n1,{'y' * longest}\n2,z\n")
    assert [len(text) for text in read("t.csv")["b"].to_pylist()] == [longest, 1]


def test_a_file_of_a_single_line_is_called_that(folder, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 9, 1 << 12, 1 << 15))
    (folder / "t.csv").write_text("y" * 30_000)
    with pytest.raises(TableError, match=r"^t\.csv is a single line of 30,000 bytes; a table st"):
        read("t.csv")


@pytest.mark.parametrize(
    ("name", "line"), [("t.jsonl", b'{"a": "%s"}\n'), ("t.svm", b"1 2:0.5 # %s\n")]
)
def test_the_longest_line_is_read_and_a_longer_one_refused(name, line, folder, monkeypatch):
    for module in ("json_lines", "svmlight"):
        monkeypatch.setattr(f"devnet.tables.sources.{module}.LONGEST_LINE", 1 << 15)
    monkeypatch.setattr("devnet.tables.sources.json_lines.BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr("devnet.tables.sources.svmlight.BLOCK_SIZE", 1 << 10)
    room = (1 << 15) - len(line) + 2
    (folder / name).write_bytes(line % b"x" + line % (b"y" * room) + line % b"z")
    assert read(name).num_rows == 3
    (folder / name).write_bytes(line % b"x" + line % (b"y" * (room + 2000)) + line % b"z")
    with pytest.raises(TableError, match=f"^{name} has a line of more than 32,768 bytes"):
        read(name)


def test_json_in_a_single_line_that_is_a_list_is_called_a_list(folder, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.json_lines.LONGEST_LINE", 1 << 10)
    (folder / "t.json").write_text("[" + '{"a": 1},' * 1000 + '{"a": 1}]')
    with pytest.raises(TableError, match=r"t\.json is JSON, but a single list"):
        open_table("t.json")


@pytest.mark.parametrize("depth", [500, 100_000])
def test_json_nested_very_deeply_gets_a_sentence(depth, folder):
    (folder / "t.jsonl").write_text('{"a": 1}\n{"a": ' + "[" * depth + "]" * depth + "}\n")
    with pytest.raises(TableError, match=r"t\.jsonl"):
        read("t.jsonl")


@given(
    parts=st.lists(st.binary(max_size=2000), min_size=1, max_size=4),
    padding=st.integers(0, 3),
    size=st.integers(1, 3000),
)
def test_xz_files_of_several_streams_are_read_to_their_end(tmp_path_factory, parts, padding, size):
    path = tmp_path_factory.getbasetemp() / "t.xz"
    path.write_bytes(b"".join(lzma.compress(part) + bytes(4 * padding) for part in parts))
    with open_bytes(path) as stream:
        found = b"".join(iter(lambda: stream.read(size), b""))
    assert found == b"".join(parts)


def test_xz_that_takes_much_memory_to_unpack_is_refused(folder, little_room):
    (folder / "t.csv.xz").write_bytes(lzma.compress(b"a\n1\n" * 1000))
    with pytest.raises(TableError, match=r"t\.csv\.xz needs more than 1,048,576 bytes of memory"):
        open_table("t.csv.xz")


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "brotli", "none"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_headers_of_pages_add_up_to_what_the_file_says(compression, version, folder):
    generator = np.random.default_rng(0)
    table = pa.table(
        {
            "number": generator.integers(0, 40, 30_000),
            "text": [f"text {i % 999}" for i in range(30_000)],
            "long": ["x" * 500 * (i % 3) for i in range(30_000)],
            "list": [[float(i)] * (i % 4) for i in range(30_000)],
        }
    )
    for use_dictionary in (True, False):
        pq.write_table(
            table,
            "t.parquet",
            compression=compression,
            data_page_version=version,
            data_page_size=10_000,
            use_dictionary=use_dictionary,
            write_page_checksum=True,
        )
        metadata = pq.ParquetFile("t.parquet").metadata
        with open_file(folder / "t.parquet") as file:
            for i in range(metadata.num_columns):
                chunk = metadata.row_group(0).column(i)
                pages = list(parquet_sizes._pages(file, chunk))
                assert sum(p.length + p.packed for p in pages) == chunk.total_compressed_size
                assert sum(p.length + p.unpacked for p in pages) == chunk.total_uncompressed_size
                assert any(p.is_dictionary for p in pages) == chunk.has_dictionary_page


@given(
    texts=st.lists(
        st.one_of(st.binary(max_size=300), st.text("ab\0", max_size=9).map(str.encode)),
        min_size=1,
        max_size=30,
    )
)
def test_the_longest_text_of_a_dictionary_is_told_exactly_or_not_at_all(texts):
    page = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    found = longest(np.frombuffer(page, np.uint8))
    assert found in (None, max(map(len, texts)))
    are_plain = all(0 < len(text) < 256 and b"\0" not in text for text in texts)
    assert found is not None or not are_plain


@pytest.mark.parametrize("compression", ["zstd", "gzip", "brotli", "snappy"])
def test_a_page_that_unpacks_to_very_much_is_refused(compression, folder, little_room):
    table = pa.table({"a": np.zeros(400_000), "b": np.arange(400_000.0)})
    options = {"compression": compression, "use_dictionary": False}
    pq.write_table(table, "t.parquet", **options, data_page_size=160_000)
    assert read("t.parquet").equals(table)
    large = {"data_page_size": 1 << 30, "write_batch_size": 1 << 20}
    if "max_rows_per_page" in inspect.signature(pq.ParquetWriter).parameters:  # of newer Arrow
        large["max_rows_per_page"] = 1 << 30
    pq.write_table(table.select(["a"]), "t.parquet", **options, **large)
    with pytest.raises(
        TableError, match=r"the pages of t\.parquet unpack to 3,200,\d\d\d bytes at"
    ):
        read("t.parquet")


def test_a_long_text_of_many_rows_comes_in_small_batches(folder, little_room):
    long, n_rows = "x" * 15_000, 1_000
    codes = pa.array(np.arange(n_rows) % 2, pa.int32())
    coded = pa.DictionaryArray.from_arrays(codes, ["short", long])
    pq.write_table(pa.table({"a": coded, "b": coded}), "t.parquet", store_schema=False)
    assert (folder / "t.parquet").stat().st_size < 10_000
    batches = list(open_table("t.parquet").batches())
    assert max(batch.nbytes for batch in batches) <= 1.1 * ROOM
    found = pa.Table.from_batches(batches)
    assert found["a"].to_pylist() == found["b"].to_pylist() == ["short", long] * (n_rows // 2)


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_text_longer_than_all_room_is_refused(is_nested, folder, little_room):
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), ["x" * (ROOM - 100)])
    column = pa.StructArray.from_arrays([text, text], ["s", "t"]) if is_nested else text
    table = pa.table({"a": column, "b": text})
    options = {"compression": "none", "store_schema": False}
    pq.write_table(table, "t.parquet", dictionary_pagesize_limit=1 << 24, **options)
    with pytest.raises(TableError, match=r"t\.parquet has a row with [23],\d+,\d+ bytes of text"):
        read("t.parquet")


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.jsonl", "t.arrow"])
def test_rows_with_much_text_are_refused_in_every_format(name, folder, monkeypatch):
    monkeypatch.setenv("DEVNET_MAX_UNPACKED", "32MiB")  # so that a row may have one of text
    half = "x" * (1 << 19)
    table = pa.table({"a": ["short", half, half], "b": [half, "short", half + "y"], "n": [1, 2, 3]})
    write(table[:2], name)
    assert read(name).num_rows == 2
    write(table, name)
    with pytest.raises(TableError, match=r"a row with 1,048,577 bytes of text.*MAX_UNPACKED=1GiB"):
        read(name)


def write(table, name):
    if name == "t.jsonl":
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        made = {"csv": pyarrow.csv.write_csv, "parquet": pq.write_table, "arrow": write_feather}
        made[name.removeprefix("t.")](table, name)


def test_long_lists_of_a_value_come_in_small_batches(folder, little_room):
    lists = pa.array([[7.0] * 5_000] * 200)
    pq.write_table(pa.table({"a": lists}), "t.parquet")
    batches = list(open_table("t.parquet").batches())
    assert max(batch.nbytes for batch in batches) <= 1.1 * ROOM
    assert sum(batch.num_rows for batch in batches) == 200


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("write", [ipc.new_file, ipc.new_stream])
def test_a_batch_of_arrow_that_unpacks_to_very_much_is_refused(
    compression, write, folder, little_room
):
    table = pa.table({"a": np.zeros(300_000), "b": ["x" * 10] * 300_000})
    options = ipc.IpcWriteOptions(compression=compression)
    with write("t.arrow", table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=20_000)
    assert read("t.arrow").equals(table)
    with write("t.arrow", table.schema, options=options) as writer:
        writer.write_table(table)
    with pytest.raises(TableError, match=r"^t\.arrow has a batch that unpacks to 6,600,004 bytes"):
        open_table("t.arrow")


@pytest.mark.parametrize("write", [ipc.new_file, ipc.new_stream])
def test_a_dictionary_of_arrow_that_unpacks_to_very_much_is_refused(write, folder, little_room):
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), ["x" * (ROOM + 1)])
    table = pa.table({"a": coded})
    options = ipc.IpcWriteOptions(compression="zstd")
    with write("t.arrow", table.schema, options=options) as writer:
        writer.write_table(table)
    with pytest.raises(TableError, match=r"^t\.arrow has a batch that unpacks to 1,048,5"):
        open_table("t.arrow")


@pytest.mark.parametrize("n_rows", [1, 100])
def test_a_compression_that_only_custom_metadata_name_is_counted(n_rows, folder, little_room):
    """As Arrow before 1.0 did; the first number stands for the unpacked length."""
    batch = pa.record_batch({"a": pa.array([1 << 40] * n_rows)})
    options = ipc.IpcWriteOptions(metadata_version=ipc.MetadataVersion.V4)
    with ipc.new_stream("t.arrow", batch.schema, options=options) as writer:
        writer.write_batch(batch, custom_metadata={"ARROW:experimental_compression": "zstd"})
    with pytest.raises(TableError, match=r"a batch that unpacks to 1,099,511,627,776 bytes"):
        open_table("t.arrow")


def test_a_batch_before_a_damaged_one_is_counted(folder, little_room):
    table = pa.table({"a": np.zeros(300_000)})
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_stream("t.arrow", table.schema, options=options) as writer:
        writer.write_table(table)
    whole = Path("t.arrow").read_bytes()
    Path("t.arrow").write_bytes(whole[:-8] + b"\xff\xff\xff\xff\x08\0\0\0\xff\xff\xff\x7f")
    with pytest.raises(TableError, match=r"a batch that unpacks to 2,400,000 bytes"):
        open_table("t.arrow")


@pytest.mark.parametrize("write", [ipc.new_file, ipc.new_stream])
def test_arrow_that_is_not_compressed_may_have_large_batches(write, folder, little_room):
    table = pa.table({"a": np.arange(300_000.0)})
    with write("t.arrow", table.schema) as writer:
        writer.write_table(table)
    assert read("t.arrow").equals(table)


@pytest.mark.parametrize("size", [-5, -(2**31), 2**31 - 1])
def test_arrow_whose_index_has_an_impossible_length_is_refused(folder, size):
    table = pa.table({"a": np.arange(50.0)})
    with ipc.new_file("t.arrow", table.schema) as writer:
        writer.write_table(table)
    content = Path("t.arrow").read_bytes()
    Path("t.arrow").write_bytes(content[:-10] + struct.pack("<i", size) + b"ARROW1")
    with pytest.raises(TableError, match=r"t\.arrow"):
        read("t.arrow")


@given(data=st.data())
def test_damaged_arrow_is_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "damaged.arrow"
    table = pa.table({"a": np.arange(50.0), "b": ["x", "yy"] * 25})
    write = data.draw(st.sampled_from([ipc.new_file, ipc.new_stream]))
    with write(path, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table, max_chunksize=20)
    content = bytearray(path.read_bytes())
    start = data.draw(st.integers(0, len(content) - 1))
    content[start : start + 8] = data.draw(st.binary(min_size=1, max_size=8))
    path.write_bytes(content)
    try:
        read(path)
    except TableError as error:
        assert str(path) in str(error)


def test_a_workbook_that_unpacks_to_very_much_is_refused(folder, little_room):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for i in range(100):
        book.active.append([f"column {i}", i])
    book.save("t.xlsx")
    assert open_table("t.xlsx").n_rows == 99
    for i in range(3_000):
        book.active.append(["the same text again" * 20, i])
    book.save("t.xlsx")
    with pytest.raises(TableError, match=r"^t\.xlsx unpacks to 1,\d+,\d+ bytes or more"):
        open_table("t.xlsx")
    wide = openpyxl.Workbook()
    for i in range(1, 200):
        wide.active.cell(i, 1, i)
    wide.active.cell(1, 16_000, "far")
    wide.save("t.xlsx")
    with pytest.raises(TableError, match=r"^t\.xlsx unpacks to 25,472,000 bytes or more"):
        open_table("t.xlsx")


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [(None, 1 << 30), ("1048576", ROOM), (" 1 MiB", ROOM), ("4GiB", 1 << 32), ("2tib", 1 << 41)],
)
def test_the_environment_says_how_much_may_be_unpacked(text, n_bytes, monkeypatch):
    monkeypatch.delenv("DEVNET_MAX_UNPACKED", raising=False)
    if text is not None:
        monkeypatch.setenv("DEVNET_MAX_UNPACKED", text)
    assert max_unpacked() == n_bytes


@pytest.mark.parametrize("text", ["", "much", "-1", "0", "1023KiB", "4GB", "1e9", "9" * 30])
def test_a_bound_that_is_none_gets_a_sentence(text, folder, monkeypatch):
    (folder / "t.csv").write_text("a\n1\n")
    monkeypatch.setenv("DEVNET_MAX_UNPACKED", text)
    with pytest.raises(TableError, match=f"DEVNET_MAX_UNPACKED is {text!r}; set it to the bytes"):
        open_table("t.csv")


def test_who_trusts_a_file_allows_more(folder, little_room, monkeypatch):
    table = pa.table({"a": np.zeros(300_000)})
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_file("t.arrow", table.schema, options=options) as writer:
        writer.write_table(table)
    with pytest.raises(TableError, match=r"or, if you trust it, allow more: (\S+)=(\S+)$") as error:
        open_table("t.arrow")
    name, _, value = str(error.value).rpartition(" ")[2].partition("=")
    monkeypatch.setenv(name, value)
    assert read("t.arrow").equals(table)


@pytest.mark.parametrize(
    ("name", "line"),
    [("t.csv", b"1,%s\n"), ("t.jsonl", b'{"a": "%s"}\n'), ("t.svm", b"1 2:3 #%s\n")],
)
def test_lines_are_bounded_in_proportion(name, line, folder, little_room, monkeypatch):
    longest = 1 << 26 >> 10
    header = b"n,a\n" if name == "t.csv" else line % b"x"
    monkeypatch.setattr("devnet.tables.sources.json_lines.BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr("devnet.tables.sources.svmlight.BLOCK_SIZE", 1 << 10)
    (folder / name).write_bytes(header + line % (b"y" * 3 * longest) + line % b"z")
    with pytest.raises(TableError, match=f"more than {longest:,} bytes.*DEVNET_MAX_UNPACKED=1GiB"):
        read(name)
    monkeypatch.setenv("DEVNET_MAX_UNPACKED", "8MiB")
    assert read(name).num_rows >= 2
