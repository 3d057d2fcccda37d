"""Files that are replaced, cut, extended or removed while they are read."""

import gzip
import lzma
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, feather, ipc

from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError

CHANGED = "was changed while it was read"
N = 2_000


def make_table(seed=0, n_rows=N):
    return pa.table(
        {
            "label": [float(i % 7 + seed) for i in range(n_rows)],
            "text": [f"{'abc'[i % 3]}{seed}" for i in range(n_rows)],
        }
    )


def write_stream(table, path):
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


def write_lines(table, path):
    rows = zip(table["label"].to_pylist(), table["text"].to_pylist(), strict=True)
    path.write_text("".join(f'{{"label": {a}, "text": "{b}"}}\n' for a, b in rows))


def write_packed(pack):
    def write(table, path):
        csv.write_csv(table, path)
        path.write_bytes(pack(path.read_bytes()))

    return write


WRITERS = {
    "t.csv": csv.write_csv,
    "t.csv.gz": write_packed(gzip.compress),
    "t.csv.xz": write_packed(lzma.compress),
    "t.parquet": lambda t, path: pq.write_table(t, path, row_group_size=100),
    "t.feather": lambda t, path: feather.write_feather(t, path, chunksize=100),
    "plain.feather": lambda t, path: feather.write_feather(
        t, path, chunksize=100, compression="uncompressed"
    ),
    "t.arrow": write_stream,
    "t.jsonl": write_lines,
    "t.svm": lambda t, path: path.write_text(
        "".join(f"{label} 1:0.5 7:{label}\n" for label in t["label"].to_pylist())
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder where relative names start from; text is read in small blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 10, 1 << 20))
    monkeypatch.setattr("devnet.tables.sources.json_lines.BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr("devnet.tables.sources.svmlight.BLOCK_SIZE", 1 << 10)
    monkeypatch.setattr("devnet.tables.sources.parquet.BATCH_BYTES", 1 << 10)
    return tmp_path


def replace(path, table):
    """Another table under the same name, as a program that writes whole files does it."""
    WRITERS[path.name](table, path.with_name("new"))
    os.replace(path.with_name("new"), path)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def extend(path):
    with path.open("ab") as file:
        file.write(path.read_bytes()[-50:])


def overwrite(path):
    """Other bytes of the same number, in place."""
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.write(content[: len(content) // 2][::-1])
    os.utime(path, ns=(1, 1))  # a clock may be coarse


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("n_rows", [N, N - 300])
def test_a_file_replaced_between_two_passes_is_refused(name, n_rows, folder):
    WRITERS[name](make_table(), folder / name)
    source = open_table(name)
    assert sum(batch.num_rows for batch in source.batches()) == N
    replace(folder / name, make_table(seed=1, n_rows=n_rows))
    with pytest.raises(TableError, match=f"^{name} {CHANGED}.* or give a copy: cp {name} COPY"):
        next(source.batches())


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("change", [cut, extend, overwrite])
def test_a_file_changed_in_a_pass_is_refused_with_a_sentence(name, change, folder):
    WRITERS[name](make_table(), folder / name)
    source = open_table(name)
    expected = pa.Table.from_batches(source.batches())
    batches = source.batches()
    found = [next(batches)]
    change(folder / name)
    with pytest.raises(TableError, match=CHANGED):
        found.extend(batches)
    right = pa.Table.from_batches(found)
    assert right.equals(expected[: len(right)])


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_changed_while_it_is_opened_is_refused(name, folder, monkeypatch):
    WRITERS[name](make_table(), folder / name)
    from devnet.tables.sources import opening

    def other(path):
        start = first_bytes(path)
        replace(path, make_table(seed=1))
        return start

    first_bytes = opening.first_bytes
    monkeypatch.setattr(opening, "first_bytes", other)
    with pytest.raises(TableError, match=CHANGED):
        open_table(name)


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_removed_between_passes_gets_a_sentence(name, folder):
    WRITERS[name](make_table(), folder / name)
    source = open_table(name)
    (folder / name).unlink()
    with pytest.raises(TableError, match=f"^{name} was moved or deleted while it was read"):
        next(source.batches())


def test_a_link_that_leads_to_another_file_is_refused(folder):
    for seed, name in enumerate(["mon.parquet", "tue.parquet"]):
        pq.write_table(make_table(seed), name)
    (folder / "today.parquet").symlink_to("mon.parquet")
    source = open_table("today.parquet")
    (folder / "today.parquet").unlink()
    (folder / "today.parquet").symlink_to("tue.parquet")
    with pytest.raises(TableError, match=rf"^today\.parquet {CHANGED}"):
        next(source.batches())


def test_codes_and_texts_of_a_table_are_those_of_the_same_file(folder):
    for name in ("t.parquet", "t.csv"):
        WRITERS[name](make_table(), folder / name)
    coded, written = open_table("t.parquet"), open_table("t.csv")
    views = [coded.with_codes(["text"]), written.as_written(), written.with_text("label")]
    for name in ("t.parquet", "t.csv"):
        replace(folder / name, pa.table({"other": [1.0] * N}))
    for view in views:
        with pytest.raises(TableError, match=CHANGED):
            next(view.batches())
    with pytest.raises(TableError, match=CHANGED):
        coded.with_codes(["text"])


@pytest.mark.parametrize("pattern", ["parts/*.parquet", "parts", "parts/*.csv"])
def test_one_changed_file_of_many_is_named(pattern, folder):
    (folder / "parts").mkdir()
    for i in range(3):
        pq.write_table(make_table(i), f"parts/{i}.parquet")
        csv.write_csv(make_table(i), f"parts/{i}.csv")
    source = open_table(pattern)
    assert sum(batch.num_rows for batch in source.batches()) == 3 * N
    suffix = "csv" if pattern.endswith("csv") else "parquet"
    shutil.copy(f"parts/0.{suffix}", "new")
    os.replace("new", f"parts/2.{suffix}")
    with pytest.raises(TableError, match=rf"^parts/2\.{suffix} {CHANGED}"):
        list(source.batches())


def test_another_number_of_rows_is_refused_where_times_and_sizes_do_not_tell(folder, monkeypatch):
    csv.write_csv(make_table(), "t.csv")
    source = open_table("t.csv")
    assert sum(batch.num_rows for batch in source.batches()) == N
    csv.write_csv(make_table(n_rows=N - 5), "t.csv")
    monkeypatch.setattr(type(source.file), "check", lambda file: None)
    with pytest.raises(TableError, match=r"^t\.csv had 2,000 rows and has 1,995 now, so it is dam"):
        list(source.batches())


def test_what_is_kept_in_memory_does_not_care(folder, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 20, 1 << 21))
    csv.write_csv(make_table(), "t.csv")
    source = open_table("t.csv")
    csv.write_csv(make_table(seed=1), "t.csv")
    assert pa.Table.from_batches(source.batches()).equals(make_table())


def test_a_broken_file_that_nothing_changes_is_still_called_damaged(folder):
    pq.write_table(make_table(), "t.parquet")
    source = open_table("t.parquet")
    content = bytearray((folder / "t.parquet").read_bytes())
    content[10:400] = bytes(390)
    (folder / "t.parquet").write_bytes(content)
    with pytest.raises(TableError, match=CHANGED):
        list(source.batches())
    with pytest.raises(TableError, match="it is damaged or incomplete"):
        list(open_table("t.parquet").batches())
