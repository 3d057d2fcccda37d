"""CSV files whose texts a spreadsheet does not run as formulas."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from click.testing import CliRunner
from support.payment_tables import fitted, make_table

from devnet.cli.main import main
from devnet.tables import score_table
from devnet.tables.output import open_output
from devnet.tables.table_error import TableError

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "-",
    "=",
    "--",
]
PLAIN = [
    "-3.5",
    "+4",
    "-1,234.50",
    "-1e-5",
    "-12%",
    "-.5",
    "a=1",
    "",
    "'=1",
    " =1",
    "5-3",
    "-1 000",
]


def read(path):
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), "codes"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_texts_that_begin_like_a_formula_get_an_apostrophe(kind, suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    texts = [*FORMULAS, *PLAIN, None]
    column = pa.array(texts).dictionary_encode() if kind == "codes" else pa.array(texts).cast(kind)
    numbers = np.arange(len(texts)) - 5.5
    batch = pa.record_batch({"=a": column, "n": numbers})
    with open_output(path, batch.schema, spreadsheet_safe=True) as write:
        write(batch)
    header, *rows = read(path)
    assert header == ["'=a", "n"]
    assert [row[0] for row in rows] == [*(f"'{text}" for text in FORMULAS), *PLAIN, ""]
    assert [float(row[1]) for row in rows] == numbers.tolist()


def test_by_default_texts_are_passed_on_as_they_are(tmp_path):
    batch = pa.record_batch({"=a": FORMULAS + PLAIN})
    with open_output(tmp_path / "t.csv", batch.schema) as write:
        write(batch)
    assert [row[0] for row in read(tmp_path / "t.csv")] == ["=a", *FORMULAS, *PLAIN]


def test_a_file_with_types_needs_no_apostrophes(tmp_path):
    batch = pa.record_batch({"a": FORMULAS})
    with (
        pytest.raises(TableError, match=r"need spreadsheet_safe=True; leave it out, or write to"),
        open_output(tmp_path / "t.parquet", batch.schema, spreadsheet_safe=True),
    ):
        pass


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = make_table()[0].slice(0, 300)
    names = [f"={name}" for name in table["payment"].to_pylist()]
    table = table.set_column(0, "payment", pa.array(names))
    arrow_csv.write_csv(table.append_column("change", pa.array(["-3.5"] * 300)), "t.csv")
    fitted().save("m.devnet")
    return tmp_path


def test_verbs_that_write_csv_take_the_option(folder):
    def devnet(*words):
        return CliRunner().invoke(main, list(map(str, words)))

    done = devnet("score", "m.devnet", "t.csv", "-o", "s.csv", "--spreadsheet-safe")
    assert done.exit_code == 0, done.output
    first = read(folder / "s.csv")[1]
    assert first[0] == "'=P00000"
    assert "-3.5" in first
    score_table(fitted(), "t.csv", "l.csv", spreadsheet_safe=True)
    assert (folder / "l.csv").read_bytes() == (folder / "s.csv").read_bytes()
    done = devnet("alerts", "m.devnet", "t.csv", "--budget", 3, "-o", "a.csv", "--spreadsheet-safe")
    assert done.exit_code == 0, done.output
    header, first = read(folder / "a.csv")[:2]
    assert first[header.index("id")].startswith("'=P")
    assert first[header.index("payment")].startswith("'=P")
    done = devnet("score", "m.devnet", "t.csv", "-o", "s.parquet", "--spreadsheet-safe")
    assert "only these need --spreadsheet-safe; leave it out, or write to s.csv." in done.stderr
    done = devnet("alerts", "m.devnet", "t.csv", "--spreadsheet-safe")
    assert "--spreadsheet-safe is about a CSV file; name it with --output." in done.stderr
