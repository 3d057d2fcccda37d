"""Sparse rows as text: what a line says, and which line is malformed."""

import bz2
import gzip

import numpy as np
import pyarrow as pa
import pytest

from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, which is also where relative names start from."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_rows(name, columns=None):
    return pa.Table.from_batches(open_table(name).batches(columns))


def test_svmlight_lines_are_labels_and_pairs(folder):
    text = "+1 1:0.5 3:2 # a comment\n\n# nothing\n-1 qid:3 2:1e-3\r\n0\n1.5 0:+7"
    expected = [
        (1.0, [(1, 0.5), (3, 2.0)]),
        (-1.0, [(2, np.float32(1e-3))]),
        (0.0, []),
        (1.5, [(0, 7.0)]),
    ]
    (folder / "t.svm").write_text(text)
    (folder / "t.svmlight.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "t.libsvm.bz2").write_bytes(bz2.compress(text.encode()))
    for name in ("t.svm", "t.svmlight.gz", "t.libsvm.bz2"):
        rows = read_rows(name).to_pylist()
        found = [(r["label"], [(p["index"], p["value"]) for p in r["features"]]) for r in rows]
        assert found == expected
    assert read_rows("t.svm", ["label"]).column_names == ["label"]


def test_svmlight_blocks_join_without_a_seam(folder, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.svmlight.BLOCK_SIZE", 50)
    generator = np.random.default_rng(0)
    rows = [[(int(i), i / 8) for i in generator.integers(0, 999, n)] for n in range(60)]
    lines = [" ".join([str(n), *(f"{i}:{v}" for i, v in row)]) for n, row in enumerate(rows)]
    (folder / "t.svm").write_text("\n".join(lines))
    table = read_rows("t.svm")
    assert table["label"].to_pylist() == list(range(60))
    assert [[(p["index"], p["value"]) for p in r] for r in table["features"].to_pylist()] == rows
    (folder / "t.svm").write_text("\n".join([*lines, "1 x:1"]))
    with pytest.raises(TableError, match=r"line 61 of t\.svm is not svmlight: '1 x:1'"):
        read_rows("t.svm")


@pytest.mark.parametrize(
    "line",
    ["1 2", "1 2:", "1 2:3:4", "1 :3", "x 1:2", "1 a:2", "1 1:b", "1 -1:2", "1 1.5:2", "1 3::4"]
    + [":", "1 99999999999:1", "1,2 1:3", "1:2 3:4", "1 1:2 é"],
)
def test_malformed_svmlight_lines_are_shown(line, folder):
    (folder / "t.svm").write_text(f"1 1:1\n\n{line}\n1 1:1\n")
    with pytest.raises(TableError) as error:
        read_rows("t.svm")
    assert f"line 3 of t.svm is not svmlight: {line!r}" in str(error.value)
