"""Tables are written completely or not at all."""

import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet.tables import output
from devnet.tables.output import open_output
from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError

resource = pytest.importorskip("resource")  # limits of POSIX

SUFFIXES = [".parquet", ".pq", ".csv", ".tsv", ".arrow", ".feather", ".CSV"]


def make_batch(n_rows=1000, start=0):
    number = np.arange(start, start + n_rows)
    return pa.record_batch(
        {
            "score": number / 8,
            "card": pa.array([None if i % 9 == 0 else f'a, "{i}"\n' for i in number], pa.string()),
            "alert": pa.array(number % 7 == 0),
        }
    )


def names_in(folder):
    return [path.name for path in folder.iterdir()]


def write_batches(path, batches):
    with open_output(path, batches[0].schema) as write:
        for batch in batches:
            write(batch)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_again(suffix, tmp_path):
    path = tmp_path / f"scores{suffix}"
    batches = [
        make_batch(n, start) for n, start in ((1000, 0), (0, 0), (70_000, 1000), (1, 71_000))
    ]
    write_batches(path, batches)
    found = pa.Table.from_batches(open_table(path).batches())
    assert found.equals(pa.Table.from_batches(batches))
    assert names_in(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_table_without_rows_has_its_columns(suffix, tmp_path):
    path = str(tmp_path / f"scores{suffix}")
    with open_output(path, make_batch().schema):
        pass
    source = open_table(path)
    assert source.schema.names == ["score", "card", "alert"]
    assert list(source.batches()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, FileNotFoundError, MemoryError])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_leaves_what_was_there_before(suffix, error, tmp_path):
    path = tmp_path / f"scores{suffix}"
    path.write_bytes(b"before")
    problem = error(2, "of the caller")

    def write_and_fail():
        with open_output(path, make_batch().schema) as write:
            write(make_batch())
            assert path.read_bytes() == b"before"
            raise problem

    with pytest.raises(error) as raised:
        write_and_fail()
    assert raised.value is problem
    assert names_in(tmp_path) == [path.name]
    assert path.read_bytes() == b"before"


def test_small_batches_become_large_row_groups(tmp_path):
    path = tmp_path / "scores.parquet"
    batch = pa.record_batch({"score": np.zeros(10_000)})
    write_batches(path, [batch] * 50)
    metadata = pq.read_metadata(path)
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sum(rows) == 500_000
    assert min(rows[:-1]) >= 100_000
    assert max(rows) <= 2 * output.GROUP_ROWS


def test_rows_do_not_wait_beyond_a_bound_of_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "GROUP_BYTES", 1 << 20)
    batch = pa.record_batch({"text": ["x" * 1000] * 500})
    write_batches(tmp_path / "long.parquet", [batch] * 20)
    metadata = pq.read_metadata(tmp_path / "long.parquet")
    assert metadata.row_group(0).num_rows * 1000 < 2 << 20


@pytest.mark.parametrize("name", ["scores", "scores.xlsx", "scores.csv.gz"])
def test_an_unknown_suffix_gets_a_sentence(name, tmp_path):
    with (
        pytest.raises(TableError, match=r"names no format to write; call it scores.*\.parquet"),
        open_output(tmp_path / name, make_batch().schema),
    ):
        pass
    assert names_in(tmp_path) == []


def test_values_that_a_text_table_cannot_hold_get_a_sentence(tmp_path):
    path = tmp_path / "scores.csv"
    nested = pa.record_batch({"reasons": [["amount"], []]})
    with pytest.raises(TableError, match=r"column 'reasons' .*write to .*scores\.parquet"):
        write_batches(path, [nested])
    for value in (b"\xff", None):
        kind = pa.binary() if value else pa.string_view()
        with pytest.raises(TableError, match=r"cannot hold .*\.parquet"):
            write_batches(path, [pa.record_batch({"a": pa.array([value], kind)})])
    assert names_in(tmp_path) == []
    write_batches(path.with_suffix(".parquet"), [nested])


def test_types_that_parquet_cannot_hold_get_a_sentence(tmp_path):
    batch = pa.record_batch({"a": pa.array([None], pa.month_day_nano_interval())})
    with pytest.raises(TableError, match="cannot hold"):
        write_batches(tmp_path / "t.parquet", [batch])
    assert names_in(tmp_path) == []


def test_batches_of_other_columns_get_a_sentence(tmp_path):
    with pytest.raises(TableError, match=r"opened for the columns score .* but a batch has b \("):
        write_batches(tmp_path / "t.csv", [make_batch(), pa.record_batch({"b": [1]})])
    assert names_in(tmp_path) == []


def test_folders_that_cannot_be_written_to_get_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="folder .*nowhere does not exist; create it"):
        write_batches(tmp_path / "nowhere" / "t.csv", [make_batch()])
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        write_batches(tmp_path / "t.csv", [make_batch()])
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file is a file, so t.csv cannot be saved"):
        write_batches(tmp_path / "file" / "t.csv", [make_batch()])


def test_a_folder_without_the_right_to_write_gets_a_sentence(tmp_path):
    tmp_path.chmod(0o500)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match=r"cannot be written: Permission denied; choose"):
            write_batches(tmp_path / "t.csv", [make_batch()])
    finally:
        if is_root:
            os.seteuid(0)
        tmp_path.chmod(0o700)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_a_full_disk_gets_a_sentence_and_leaves_nothing(suffix, tmp_path):
    noise = np.random.default_rng(0).normal(size=200_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(OSError, match="cannot be written: File too large; free some space"):
            write_batches(tmp_path / f"t{suffix}", [pa.record_batch({"a": noise})] * 3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names_in(tmp_path) == []


def test_a_disk_that_is_full_at_the_very_end_gets_a_sentence(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"t\.csv cannot be written: No space left on device; free"):
        write_batches(tmp_path / "t.csv", [make_batch()])
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_codes_of_several_dictionaries_are_written_as_values(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    batches = [
        pa.record_batch({"c": pa.array(texts).dictionary_encode(), "n": [1, 2, 3]})
        for texts in (["a", "b", None], ["c", "a", "c"])
    ]
    with open_output(path, batches[0].schema) as write:
        for batch in batches:
            write(batch)
    found = pa.Table.from_batches(open_table(path).batches())["c"]
    assert found.to_pylist() == ["a", "b", None, "c", "a", "c"]


def with_missing_value(codes=(0, 1, 2, None, 1, 3), *, ordered=False):
    """Codes of a dictionary that has a missing value itself."""
    values = pa.array(["b", None, "a", "c"])
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), values, ordered=ordered)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow"])
def test_missing_values_of_a_dictionary_are_missing_in_the_file(suffix, ordered, tmp_path):
    path = tmp_path / f"t{suffix}"
    column = with_missing_value(ordered=ordered)
    batches = [pa.record_batch({"c": column, "n": np.arange(6)}).slice(i, 3) for i in (0, 3)]
    write_batches(path, batches)
    found = pa.Table.from_batches(open_table(path).batches())["c"]
    assert found.to_pylist() == ["b", None, "a", None, None, "c"]
    if suffix == ".parquet":
        assert pq.read_schema(path).field("c").type == column.type
        assert pq.read_table(path)["c"].chunk(0).dictionary.to_pylist() == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("name", "column", "reason", "other"),
    [
        ("t.parquet", pa.nulls(1, pa.month_day_nano_interval()), "Unhandled type", "t.arrow"),
        ("t.csv", pa.nulls(1, pa.month_day_nano_interval()), "Unsupported cast", "t.arrow"),
        ("t.csv", pa.nulls(1, pa.string_view()), "Unsupported Type", "t.parquet"),
        ("t.parquet", pa.nulls(1, pa.decimal128(20, -3)), "Scale must be", "t.arrow"),
    ],
)
def test_a_type_that_a_format_lacks_is_told_before_the_work(name, column, reason, other, tmp_path):
    batch = pa.record_batch({"a": [1], "odd": column})
    kind = re.escape(str(column.type))
    sentence = rf"{name} cannot hold the column 'odd' \({kind}\): {reason}.*; write to .*"
    for refused in (output.check_output, lambda path, schema: write_batches(path, [batch])):
        with pytest.raises(TableError, match=rf"{sentence}{other}, or leave the column out\."):
            refused(tmp_path / name, batch.schema)
    write_batches(tmp_path / other, [batch])
    assert names_in(tmp_path) == [other]


@pytest.mark.parametrize("name", ["t.parquet", "t.pq"])
def test_a_value_that_a_format_lacks_is_told_with_its_column(name, tmp_path):
    far = pa.array([0, 2**62], pa.timestamp("s"))
    batch = pa.record_batch({"a": [1, 2], "far": far})
    sentence = (
        r"cannot hold the column 'far' \(timestamp\[s\]\): .*overflow.*; write to .*t\.arrow,"
    )
    with pytest.raises(TableError, match=sentence):
        write_batches(tmp_path / name, [batch.slice(0, 1), batch])
    assert names_in(tmp_path) == []
    write_batches(tmp_path / "t.arrow", [batch])


def test_coded_times_keep_their_zone_in_parquet(tmp_path):
    times = pa.array([0, None, 3600], pa.timestamp("ms", "Europe/Berlin"))
    write_batches(tmp_path / "t.parquet", [pa.record_batch({"t": times.dictionary_encode()})])
    found = pq.read_table(tmp_path / "t.parquet")["t"]
    assert found.type == times.type
    assert found.to_pylist() == times.to_pylist()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_columns_that_are_never_missing_are_written(suffix, tmp_path):
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    batch = pa.record_batch([pa.array([1, 2])], schema=schema)
    with open_output(tmp_path / f"t{suffix}", schema) as write:
        write(batch)
    found = pa.Table.from_batches(open_table(tmp_path / f"t{suffix}").batches())
    assert found["a"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "advice"),
    [("out.csv.gz", "out.parquet, out.csv or"), ("a.b.docx", "a.b.parquet, a.b.csv or")],
)
def test_the_advice_for_a_suffix_is_a_name_that_works(name, advice, tmp_path):
    with (
        pytest.raises(TableError, match=f"call it {re.escape(advice)}"),
        open_output(tmp_path / name, make_batch().schema),
    ):
        pass
