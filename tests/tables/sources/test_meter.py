"""How far files have been read, packed or not."""

import bz2
import gzip
import lzma

import pyarrow as pa
import pytest

from devnet.tables.sources.meter import metered
from devnet.tables.sources.opening import open_table

PACKS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
}
LINES = {
    "t.csv": "{i},{i}.5",
    "t.jsonl": '{{"a": {i}, "b": "{i}.5"}}',
    "t.svm": "1 {i}:0.5",
}


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("name", LINES)
def test_bytes_read_grow_to_those_of_the_file(name, pack, tmp_path, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 12, 1 << 20))
    monkeypatch.setattr("devnet.tables.sources.json_lines.BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("devnet.tables.sources.svmlight.BLOCK_SIZE", 1 << 12)
    lines = [LINES[name].format(i=i) for i in range(30_000)]
    path = tmp_path / f"{name}{pack}"
    path.write_bytes(PACKS[pack]("\n".join(["a,b"] * name.endswith("csv") + lines).encode()))
    with metered() as meter:
        source, found = open_table(path), []
        for _ in range(2):  # a second pass begins again
            found.append([meter.n_read() for _ in source.batches()])
    for counts in found:
        assert counts == sorted(counts)
        assert 0 < counts[0] <= counts[-1] <= path.stat().st_size
        assert counts[-1] > 0.9 * path.stat().st_size
    assert meter.n_read() == path.stat().st_size


def test_files_of_one_table_add_up(tmp_path, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 10, 1 << 20))
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("n\n" + "7.25\n" * 5_000)
    with metered() as meter:
        source = open_table(str(tmp_path / "*.csv"))
        assert meter.n_read() == 0  # only their beginnings were looked at
        counts = [meter.n_read() for _ in source.batches()]
    assert counts == sorted(counts)
    assert counts[-1] > 0.9 * sum(path.stat().st_size for path in tmp_path.iterdir())


def test_nobody_counts_what_is_read_later(tmp_path, monkeypatch):
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 10, 1 << 20))
    (tmp_path / "t.csv").write_text("n\n" + "7.25\n" * 5_000)
    with metered() as meter:
        pass
    assert sum(len(batch) for batch in open_table(tmp_path / "t.csv").batches()) == 5_000
    assert meter.n_read() == 0
