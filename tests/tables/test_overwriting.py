"""Outputs that would replace what they are made from, or become part of the table."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.payment_tables import fitted, make_table

import devnet
from devnet.cli.main import main
from devnet.tables import TableModel, score_table
from devnet.tables.overwriting import refuse_overwriting
from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError

TEXT = "a,fraud\n1,1\n2,0\n3,0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for name in ("q.csv", "in/a.csv", "in/b.csv"):
        (tmp_path / name).write_text(TEXT)
    for name in ("in/a.parquet", "in/b.parquet"):
        pq.write_table(pa.table({"a": [1]}), tmp_path / name)
    (tmp_path / "link.csv").symlink_to("q.csv")
    return tmp_path


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(
    ("table", "target", "sentence"),
    [
        ("q.csv", "q.csv", "is the table itself"),
        ("q.csv", "in/../q.csv", "is the table itself"),
        ("q.csv", "link.csv", "is the table itself"),
        ("link.csv", "q.csv", "is the table itself"),
        ("in/*.csv", "in/a.csv", r"in/a.csv is a file of the table in/\*.csv"),
        ("in", "in/b.parquet", "is a file of the table in"),
        ("in", "in/x.parquet", "would be part of the table in"),
        ("in/*.csv", "in/x.csv", "would be part of the table"),
        ("**/*.csv", "in/x.csv", "would be part of the table"),
        ("in/[ab].csv", "in/a.csv", "is a file of the table"),
    ],
)
def test_a_table_is_not_replaced_or_added_to(folder, table, target, sentence, is_open):
    given = open_table(table) if is_open else table
    with pytest.raises(TableError, match=sentence):
        refuse_overwriting(given, folder / "else.csv", target)
    with pytest.raises(TableError, match=sentence):
        refuse_overwriting(given, folder / target)


@pytest.mark.parametrize(
    ("table", "target"),
    [
        ("q.csv", "r.csv"),
        ("q.csv", None),
        ("in", "in/scores.csv"),
        ("in", "in/_x.parquet"),
        ("in", "x.parquet"),
        ("in/*.csv", "in/x.parquet"),
        ("in/*.csv", "x.csv"),
        ("in/[ab].csv", "in/c.csv"),
        ({"a": [1]}, "q.csv"),
    ],
)
def test_other_files_may_be_written(folder, table, target):
    refuse_overwriting(table, target)
    refuse_overwriting(open_table(table), target)


def test_sources_know_their_files(folder):
    assert [path.name for path in open_table("in/*.csv").paths] == ["a.csv", "b.csv"]
    assert [path.name for path in open_table("in").paths] == ["a.parquet", "b.parquet"]
    assert open_table({"a": [1]}).paths == ()


def test_two_outputs_have_two_names(folder):
    with pytest.raises(TableError, match=r"two outputs are the same file in/../same\.x"):
        refuse_overwriting("q.csv", "same.x", "in/../same.x")


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "q.csv", "-o", "q.csv"],
        ["fit", "q.csv", "-o", "m.devnet", "--report", "q.csv"],
        ["fit", "q.csv", "-o", "same.x", "--report", "same.x"],
        ["compare", "q.csv", "--report", "q.csv"],
    ],
)
def test_verbs_leave_the_table_as_it_was(folder, words):
    before = sorted(path.name for path in folder.iterdir())
    done = CliRunner().invoke(main, [*words, "--label", "fraud"])
    assert done.exit_code == 2
    assert "is the table itself" in done.stderr or "same file" in done.stderr
    assert (folder / "q.csv").read_text() == TEXT
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "q.csv", "-o", "m.devnet", "--label", "fraud"],
        ["compare", "q.csv", "--label", "fraud"],
        ["drift", "m.csv", "q.csv"],
    ],
)
def test_a_report_replaces_nothing_but_pages(names, words):
    for name in ("labels.csv", "notes.txt", "report"):
        Path(name).write_text("mine")
        done = CliRunner().invoke(main, [*words, "--report", name])
        assert done.exit_code == 2
        assert f"the report {name} would be a page in HTML" in " ".join(done.stderr.split())
        assert Path(name).read_text() == "mine"
    assert not Path("m.devnet").exists()


@pytest.fixture
def names(folder):
    """A table and a model, each under several names."""
    pq.write_table(make_table()[0].slice(0, 200), folder / "t.parquet")
    fitted().save(folder / "m.csv")
    for name in ("t.parquet", "m.csv"):
        suffix = name.partition(".")[2]
        (folder / f"soft-{name[0]}.{suffix}").symlink_to(name)
        os.link(folder / name, folder / f"hard-{name[0]}.{suffix}")
    return folder


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        *((name, "is the model itself") for name in ("m.csv", "in/../m.csv")),
        *((name, "is the model itself") for name in ("soft-m.csv", "hard-m.csv")),
        *((name, "is the table itself") for name in ("t.parquet", "in/../t.parquet")),
        *((name, "is the table itself") for name in ("soft-t.parquet", "hard-t.parquet")),
    ],
)
@pytest.mark.parametrize("model", ["m.csv", "soft-m.csv"])
@pytest.mark.parametrize("verb", ["score", "alerts"])
def test_verbs_leave_model_and_table_as_they_were(names, verb, model, target, sentence):
    before = {path.name: path.read_bytes() for path in names.iterdir() if path.is_file()}
    done = CliRunner().invoke(main, [verb, model, "t.parquet", "--output", target])
    assert done.exit_code == 2
    assert f"the output {target} {sentence}; give another name." in done.stderr
    after = {path.name: path.read_bytes() for path in names.iterdir() if path.is_file()}
    assert after == before


@pytest.mark.parametrize("target", ["m.csv", "in/../m.csv", "soft-m.csv", "hard-m.csv"])
@pytest.mark.parametrize("model", ["m.csv", "soft-m.csv", None], ids=["file", "link", "saved"])
def test_python_leaves_the_model_as_it_was(names, target, model):
    before = (names / "m.csv").read_bytes()
    opened = fitted() if model is None else devnet.load(model)
    with pytest.raises(TableError, match=f"the output {target} is the model itself; give another"):
        score_table(opened, "t.parquet", target)
    assert (names / "m.csv").read_bytes() == before


@pytest.mark.parametrize("target", ["t.parquet", "soft-t.parquet", "hard-t.parquet"])
def test_a_model_is_not_saved_to_the_table_that_it_learned_from(names, target):
    before = (names / "t.parquet").read_bytes()
    model = TableModel("PU trees", random_state=0).fit("t.parquet", "fraud")
    with pytest.raises(TableError, match=f"{target} is a file that is learned from"):
        model.save(target)
    assert (names / "t.parquet").read_bytes() == before
    (names / "t.parquet").unlink()
    model.save("m.csv")


def test_a_model_may_be_replaced_by_a_new_fit_and_by_its_policy(names):
    words = ["fit", "t.parquet", "--label", "fraud", "--method", "PU trees", "-o", "m.csv"]
    assert CliRunner().invoke(main, words).exit_code == 0
    assert CliRunner().invoke(main, ["policy", "m.csv", "--budget", "3"]).exit_code == 0
