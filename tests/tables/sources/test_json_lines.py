"""JSON Lines: types by the first block, and sentences for other JSON."""

import datetime
import gzip
import json

import pyarrow as pa
import pytest
from support.payment_tables import make_table

from devnet.tables import TableError, TableModel, open_table, score_table
from devnet.tables.sources import json_lines


def write(path, rows):
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
    return path


def read(path, **options):
    return pa.Table.from_batches(open_table(path, **options).batches())


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "json"])
@pytest.mark.parametrize("block", [1 << 22, 100])
def test_json_lines_are_a_table(tmp_path, monkeypatch, suffix, block):
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", block)
    rows = [
        {"amount": 3, "shop": "ä", "day": "2026-01-02", "ok": True, "big": 10**17 + i}
        for i in range(50)
    ]
    rows[30]["amount"] = 2.5
    del rows[20]["shop"]
    found = read(write(tmp_path / f"t.{suffix}", rows))
    assert found["amount"].to_pylist() == [row["amount"] for row in rows]
    assert found["shop"].to_pylist() == [row.get("shop") for row in rows]
    assert found["day"][0].as_py() == datetime.datetime(2026, 1, 2)
    assert found["big"].to_pylist() == [row["big"] for row in rows]
    source = open_table(tmp_path / f"t.{suffix}")
    assert next(source.batches(["ok"])).schema.names == ["ok"]


def test_compressed_json_lines_are_read(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n\n{"a": 2}'))
    assert read(path).to_pydict() == {"a": [1.0, 2.0]}


def test_json_lines_are_learned_as_the_same_table(tmp_path):
    table = make_table()[0]
    path = write(tmp_path / "t.jsonl", table.to_pylist())
    fast = {"method": "PU trees", "random_state": 0}
    expected = TableModel(**fast).fit(table, "fraud").score(table)
    model = TableModel(**fast).fit(path, "fraud")
    assert model.score(path).equals(expected)
    for output in ("scored.csv", "scored.parquet"):
        score_table(model, path, tmp_path / output)
        assert read(tmp_path / output)["anomaly_score"].equals(expected["anomaly_score"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[{"a": 1},\n {"a": 2}]', r"is JSON, but a single list; .*jq -c '\.\[\]'"),
        ('{\n "a": 1\n}\n{\n "a": 2\n}', r"not one object per line; .*jq -c '\.'"),
        ('{"a": 1}\n{"a": \n', "row 2 of .* is not a JSON object on a line"),
        ('{"a": 1}\n[1, 2]\n', "row 2 of .* is not a JSON object on a line"),
        ('{"a": 1}\n{"a": "x"}\n', "'a' of .* has values of two kinds .* in row 2"),
    ],
)
def test_other_json_gets_a_sentence(tmp_path, text, sentence):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(TableError, match=sentence):
        read(tmp_path / "t.json")


def test_a_kind_that_changes_later_gets_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 64)
    path = write(tmp_path / "t.jsonl", [{"a": 1}] * 30 + [{"a": "much"}])
    with pytest.raises(TableError, match="'a' of .* two kinds .* in row 31"):
        read(path)


def test_a_key_that_appears_after_the_first_block_is_a_column(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 64)
    rows = [{"a": i, "empty": None, "at": {"x": 1}, "day": "2026-01-02"} for i in range(20)]
    rows += [{"a": 20, "late": 5, "empty": "no more", "at": {"x": 1, "y": "z"}, "day": "soon"}]
    path = write(tmp_path / "t.jsonl", rows)
    source = open_table(path)
    assert source.schema.names == ["a", "empty", "at.x", "at.y", "day", "late"]
    assert source.n_rows == 21
    found = read(path)
    assert found["late"].to_pylist() == [None] * 20 + [5]
    assert found["empty"].to_pylist() == [None] * 20 + ["no more"]
    assert found["at.y"].to_pylist() == [None] * 20 + ["z"]
    assert found["day"].to_pylist() == ["2026-01-02"] * 20 + ["soon"]
    (tmp_path / "never.jsonl").write_text('{"a": 1, "never": null}\n')
    assert read(tmp_path / "never.jsonl")["never"].type == pa.string()
