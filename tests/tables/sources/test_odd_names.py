"""Names that are not UTF-8, links that lead nowhere, pipes: shown escaped, and read or refused."""

import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyarrow import csv, feather
from support.payment_tables import fitted, make_table

from devnet.cli.main import main
from devnet.core.model_file import ModelFileError
from devnet.loading import load
from devnet.tables import TableError, open_table, score_table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux alone")
ODD = os.fsdecode(b"caf\xe9\n")
WRITERS = {
    ".csv": csv.write_csv,
    ".parquet": pq.write_table,
    ".feather": feather.write_feather,
    ".jsonl": lambda t, path: path.write_text('{"a": 1.5}\n{"a": 2.5}\n'),
    ".svm": lambda t, path: path.write_text("1 3:0.5\n0 4:1\n"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_name_that_is_not_utf8_is_read_and_shown_escaped(suffix, folder):
    WRITERS[suffix](pa.table({"a": [1.5, 2.5]}), folder / f"t{suffix}")
    (folder / f"t{suffix}").rename(folder / f"{ODD}{suffix}")
    source = open_table(f"{ODD}{suffix}")
    assert source.name == rf"caf\xe9\n{suffix}"
    assert sum(batch.num_rows for batch in source.batches()) == 2
    assert sum(batch.num_rows for batch in open_table(f"ca*{suffix}").batches()) == 2


def test_errors_about_odd_names_can_be_printed(folder):
    (folder / f"{ODD}.parquet").write_bytes(b"PAR1 and no more")
    for name in (f"{ODD}.parquet", f"{ODD}.csv", f"{ODD}/t.csv", f"{ODD}/*.csv"):
        with pytest.raises((TableError, FileNotFoundError), match=r"caf\\xe9\\n") as error:
            open_table(name)
        assert str(error.value).isprintable()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_every_verb_takes_odd_names(suffix, folder):
    table, model, output = f"{ODD}.csv", f"{ODD}.devnet", f"{ODD}out{suffix}"
    csv.write_csv(make_table()[0], "t.csv")
    (folder / "t.csv").rename(table)
    words = ["fit", table, "--label", "fraud", "--method", "PU trees", "-o", model]
    for verb in (
        words,
        ["inspect", model],
        ["inspect", model, "--json"],
        ["score", model, table, "-o", output],
        ["alerts", model, table, "--budget", "3", "-o", f"{ODD}alerts{suffix}"],
        ["explain", model, table, "--row", "7"],
    ):
        done = CliRunner().invoke(main, verb)
        assert done.exit_code == 0, done.output
    found = open_table(output)
    assert sum(batch.num_rows for batch in found.batches()) == 3000


def test_a_report_names_its_table_escaped(folder):
    csv.write_csv(make_table()[0], "t.csv")
    (folder / "t.csv").rename(f"{ODD}.csv")
    words = ["fit", f"{ODD}.csv", "--label", "fraud", "-o", "m.devnet", "--report", "r.html"]
    assert CliRunner().invoke(main, [*words, "--method", "PU trees"]).exit_code == 0
    assert r"caf\xe9\n.csv" in (folder / "r.html").read_text()


def test_a_link_that_leads_nowhere_is_called_one(folder):
    (folder / "dang.csv").symlink_to("gone.csv")
    with pytest.raises(
        FileNotFoundError, match=r"^dang\.csv is a link to gone\.csv, which does not exist; mend"
    ):
        open_table("dang.csv")
    (folder / "dang.devnet").symlink_to("gone.devnet")
    with pytest.raises(FileNotFoundError, match=r"dang\.devnet is a link to gone\.devnet, which"):
        load("dang.devnet")


def test_a_pipe_is_no_model(folder):
    os.mkfifo("pipe.devnet")
    with pytest.raises(ModelFileError, match=r"^pipe\.devnet is a pipe or device, not a file"):
        load("pipe.devnet")
    for words in (["inspect", "pipe.devnet"], ["score", "pipe.devnet", "t.csv", "-o", "out.csv"]):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 2
        assert "Error: pipe.devnet is a pipe or device" in done.output


def test_an_output_in_a_folder_that_is_read_is_refused_whatever_its_name(folder):
    (folder / ODD).mkdir()
    pq.write_table(make_table()[0], "t.parquet")
    (folder / "t.parquet").rename(folder / ODD / "t.parquet")
    with pytest.raises(TableError, match="would be part of the table"):
        score_table(fitted(), ODD, f"{ODD}/scored.parquet")
