"""`devnet experiment claims`: the verdicts on a terminal, in documents and for programs."""

import csv
import io
import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from support.experiments import runs

from devnet.cli.main import main
from devnet.experiments.results import ResultsFile

EXPERIMENT = """
title = "Made"
question = "?"
measure = "ranking"
runs = 2
datasets = ["thyroid", "campaign"]
methods = ["DevNet", "iForest"]

[[grid]]
n_labelled = [30]
"""
CLAIMS = """
[[claim]]
id = "better"
section = "5.5 Effectiveness"
claim = "DevNet is 100% better than iForest"
published = "100%"
experiment = "made"
query = "improvement"
ask = { method = "DevNet", over = ["iForest"] }
holds_at = 100
refuted_at = 0
refuted_by = "an interval that reaches 0%"
follows = "Less is left of it."

[[claim]]
id = "elsewhere"
section = "5.9 Scalability"
claim = "It is fast on a GPU"
published = "fast"
query = "none"
reason = "no GPU here"
refuted_by = "a slow one"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "made.toml").write_text(EXPERIMENT)
    (tmp_path / "claims.toml").write_text(CLAIMS)
    return tmp_path


@pytest.fixture
def devnet(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *words: CliRunner().invoke(main, ["experiment", *words, "--folder", str(folder)])


def add_results(folder, value):
    with ResultsFile(folder / "results" / "made.jsonl") as file:
        for dataset in ("thyroid", "campaign"):
            for method, auc in (("DevNet", value), ("iForest", 0.2)):
                for one in runs(dataset, method, [auc, auc]):
                    file.add(replace(one, parameters={"method": method}))


def test_every_format_shows_the_same_verdicts(devnet, folder):
    add_results(folder, 0.3)
    shown = devnet("claims").stdout
    assert "5.5 Effectiveness" in shown
    assert "holds partly" in shown
    assert "Of 2 claims, 1 holds partly and 1 cannot be tested here." in shown
    (first, second) = json.loads(devnet("claims", "--json").stdout)
    assert first["ours"] == pytest.approx(50)
    assert (first["verdict"], first["follows"]) == ("holds partly", "Less is left of it.")
    assert (second["verdict"], second["remark"]) == ("cannot be tested here", "no GPU here")
    text = devnet("claims", "--format", "markdown").stdout
    assert "| DevNet is 100% better than iForest | 100% | 50% | holds partly | Less is" in text
    assert text.startswith("Of 2 claims, ")
    lines = list(csv.reader(io.StringIO(devnet("claims", "--format", "csv").stdout)))
    assert lines[1][1:5] == ["DevNet is 100% better than iForest", "100%", "50%", "holds partly"]


def test_no_word_is_cut_on_a_narrow_terminal(devnet, folder, monkeypatch):
    (folder / "claims.toml").write_text(CLAIMS.replace('"fast"', '"substantially faster"'))
    monkeypatch.setenv("COLUMNS", "80")
    shown = devnet("claims").stdout
    assert "substantially" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_without_runs_the_command_that_does_them_is_told(devnet):
    done = devnet("claims")
    assert done.exit_code == 0
    assert "not measured yet" in done.stdout
    assert "devnet experiment run made" in done.stdout


def test_claims_of_a_folder_without_them_get_a_sentence(devnet, folder):
    (folder / "claims.toml").unlink()
    done = devnet("claims")
    assert done.exit_code == 2
    assert "looked for claims.toml there" in done.stderr
    assert "--folder" in done.stderr
    assert "Traceback" not in done.output


def test_a_misspelt_query_gets_a_sentence(devnet, folder):
    (folder / "claims.toml").write_text(CLAIMS.replace("improvement", "improvment"))
    done = devnet("claims")
    assert done.exit_code == 2
    assert "Did you mean 'improvement'?" in done.stderr


def test_claims_are_neither_listed_nor_run_as_an_experiment(devnet):
    assert "claims" not in devnet("list").stdout
    assert "unknown experiment 'claims'" in devnet("run", "claims").stderr


def test_the_page_opens_with_the_claims(devnet, folder):
    add_results(folder, 0.5)
    assert devnet("report").exit_code == 0
    page = (folder / "report.html").read_text()
    assert page.index('<section id="claims">') < page.index('<section id="made">')
    assert "Of 2 claims, 1 holds and 1 cannot be tested here." in page


def test_a_folder_without_claims_has_a_page_without_them(devnet, folder):
    add_results(folder, 0.5)
    (folder / "claims.toml").unlink()
    assert devnet("report").exit_code == 0
    assert "claims" not in (folder / "report.html").read_text().split("</style>")[1]
