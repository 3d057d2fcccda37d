"""`devnet score` and `devnet fit` on a cluster: what they print, and how they refuse."""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.cluster_tables import make_rows, quick_model, read_parts, write_files

pytest.importorskip("distributed", reason="clusters are Dask's")

from devnet.cli.main import main
from devnet.serving.cluster import local_cluster


@pytest.fixture(scope="module")
def address():
    with local_cluster(1) as client:
        yield client.scheduler.address


@pytest.fixture
def words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "in", make_rows(3000), n_files=2, row_group_size=1000)
    quick_model().save("model.devnet")
    return ["score", "model.devnet", "in/*.parquet"]


def run(*words):
    return CliRunner().invoke(main, words, catch_exceptions=False)


def test_parts_and_file_have_the_same_rows(words, address, tmp_path):
    plain = run(*words, "--output", "one.parquet")
    parts = run(*words, "--output", "out/", "--cluster", address)
    assert (plain.exit_code, parts.exit_code) == (0, 0)
    assert plain.output.splitlines()[:-1] == parts.output.splitlines()[:-1]
    assert f"They are in {tmp_path}/out; it took" in parts.output
    assert read_parts("out").equals(pq.read_table("one.parquet"))


def test_a_fit_on_a_cluster_writes_the_same_model(words, address):
    options = ["--label", "odd", "--method", "DevNet", "--seed", "1"]
    plain = run("fit", words[-1], *options, "-o", "one.devnet")
    parts = run("fit", words[-1], *options, "-o", "two.devnet", "--cluster", address)
    assert (plain.exit_code, parts.exit_code) == (0, 0), parts.output
    assert Path("one.devnet").read_bytes() == Path("two.devnet").read_bytes()
    both = run("fit", words[-1], *options, "-o", "x", "--cluster", address, "--workers", "1")
    assert both.exit_code == 2
    assert "exclude each other" in both.output


def test_json_says_where_and_how_much(words, address, tmp_path):
    for n_taken_over in (0, 2):
        done = run(*words, "-o", "out", "--cluster", address, "--budget", "9", "--json")
        said = json.loads(done.stdout)
        assert (said["output"], said["n_alerts"]) == (str(tmp_path / "out"), 9)
        assert (said["n_parts"], said["n_taken_over"]) == (2, n_taken_over)


def test_another_policy_is_written_beside_and_noted(words, address):
    run(*words, "-o", "out", "--cluster", address)
    done = run(*words, "-o", "out", "--cluster", address, "--fdr", "0.2")
    assert "Note: out has the parts of another model, table or policy" in done.output
    assert "They are in" in done.output.splitlines()[-1]
    assert "/out-" in done.output.splitlines()[-1]


def test_workers_are_started_and_ended(words):
    done = run(*words, "-o", "out", "--workers", "1", "--only-id")
    assert done.exit_code == 0
    assert "3,000 rows scored" in done.output
    assert read_parts("out").column_names[0] == "id"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-o", "out", "--workers", "1", "--cluster", "tcp://x:1"], "exclude each other; give one"),
        (
            ["-o", "out", "--workers", "0"],
            "0 workers are not possible; give a whole number of at l",
        ),
        (["-o", "out", "--cluster", "x:1"], "'x:1' is not the address of a Dask scheduler; give o"),
        (["-o", "out", "--cluster", "a\nb"], r"'a\\nb' is not the address"),
        (
            ["-o", "out", "--workers", "1", "--spreadsheet-safe"],
            "--spreadsheet-safe is for CSV fil",
        ),
    ],
)
def test_bad_options_get_a_sentence(words, options, says):
    done = run(*words, *options)
    assert done.exit_code == 2
    assert says in done.output
    assert "Traceback" not in done.output


def test_a_folder_of_others_gets_a_sentence(words, address, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("")
    done = run(*words, "-o", "out", "--cluster", address)
    assert done.exit_code == 2
    assert "such as 'mine.txt'; give a new or an empty folder." in done.output


def test_without_dask_the_extra_is_named(words, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run(*words, "-o", "out", "--workers", "1")
    assert done.exit_code == 2
    assert "pip install 'deviation-network[dask]'" in done.output
