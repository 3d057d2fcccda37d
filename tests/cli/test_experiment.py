"""`devnet experiment`, as a person types it."""

import csv
import io
import json
import sys

import pytest
from click.testing import CliRunner
from support.experiments import FILE, make_sets, record

from devnet.cli.main import main
from devnet.experiments.results import ResultsFile


@pytest.fixture
def folder(tmp_path, monkeypatch):
    make_sets(tmp_path)
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    (tmp_path / "quick.toml").write_text(FILE)
    return tmp_path


@pytest.fixture
def devnet(folder):
    def call(*arguments):
        done = CliRunner().invoke(main, ["experiment", *arguments, "--folder", str(folder)])
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done

    return call


def add_results(folder):
    path = folder / "results" / "quick.jsonl"
    with ResultsFile(path) as file:
        for seed in (0, 1):
            values = {"AUC-ROC": 0.9, "AUC-PR": 0.5 + seed / 10}
            one = record(seed, **values)
            file.add(
                type(one)(
                    **{
                        **vars(one),
                        "method": "quick",
                        "settings": {"n_labelled": 5},
                        "parameters": {"method": "DevNet", "n_epochs": 2},
                    }
                )
            )
    return path


def test_the_whole_journey(devnet, folder):
    done = devnet("run", "quick", "--runs", "1", "--workers", "2")
    assert done.exit_code == 0, done.output
    assert "2/2  " in done.stderr
    assert "2 of 2 runs are in" in done.stdout
    assert "devnet experiment table quick" in done.stdout
    listed = devnet("list").stdout
    assert "2 of     4 runs done" in listed
    assert "Computing time of all runs, one after the other: " in listed
    assert "AUC-PR" in devnet("table", "quick").stdout
    page = folder / "report.html"
    assert str(page) in devnet("report").stdout.replace("\n", "")
    table = devnet("report", "--output", "t.csv")  # which would not be a page
    assert (table.exit_code, "give a name that ends in .html" in table.stderr) == (2, True)
    assert page.read_text().startswith("<!doctype html>")


def test_every_format_shows_the_same(devnet, folder):
    add_results(folder)
    assert "0.550 ± 0.071" in devnet("table", "quick").stdout
    assert "| thyroid | 0.550 ± 0.071 |" in devnet("table", "quick", "--format", "markdown").stdout
    lines = list(csv.reader(io.StringIO(devnet("table", "quick", "--format", "csv").stdout)))
    assert ["AUC-PR", "thyroid", "0.550 ± 0.071"] in lines
    made = json.loads(devnet("table", "quick", "--format", "json").stdout)
    assert made[1]["rows"][0] == {"Data": "thyroid", "quick": "0.550 ± 0.071"}


def test_a_narrow_terminal_shows_means_alone(devnet, folder, monkeypatch):
    add_results(folder)
    monkeypatch.setenv("COLUMNS", "20")
    shown = devnet("table", "quick").stdout
    assert "0.550" in shown
    assert "±" not in shown
    assert "Wider terminals" in " ".join(shown.split())


def test_failed_runs_end_with_a_sentence_and_exit_code_1(devnet, folder):
    (folder / "campaign.npz").unlink()
    done = devnet("run", "quick", "--datasets", "campaign", "--runs", "1", "--workers", "1")
    assert done.exit_code == 1
    assert "failed: quick on campaign, seed 0" in done.stderr
    assert "no copy of campaign" in done.stderr
    assert "get the data first: devnet data get campaign\n" in done.stderr
    assert "Error: 1 runs failed; the same command tries them again." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "quik"], "unknown experiment 'quik'; known are quick. Did you mean 'quick'?"),
        (["run", "quick", "--datasets", "thyriod"], "Did you mean 'thyroid'?"),
        (["run", "quick", "--methods", "quickly"], "Did you mean 'quick'?"),
        (
            ["run", "quick", "--results", "{folder}/quick.toml"],
            "quick.toml is a file; name the folder",
        ),
        (["run", "quick", "--datasets", ","], "names nothing"),
        (["verify", "--against", "{folder}/results"], "cannot be compared with itself"),
        (["table", "quick"], "no finished runs in"),
        (["report"], "no results in"),
        (["report", "--output", "{folder}/no/such/page.html"], "no results in"),
    ],
)
def test_wrong_requests_get_a_sentence(devnet, folder, arguments, sentence):
    (folder / "results").mkdir()
    done = devnet(*(argument.format(folder=folder) for argument in arguments))
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.output


def test_spoilt_and_foreign_results_get_a_sentence_and_stay(devnet, folder):
    path = add_results(folder)
    content = path.read_text()
    path.write_text("spoilt\n" + content)
    assert "line 1 of" in devnet("table", "quick").stderr
    path.write_text(content.replace('"devnet": "', '"devnet": "0.0.'))
    done = devnet("run", "quick")
    assert done.exit_code == 2
    assert "holds runs of devnet 0.0." in done.stderr
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("nowhere", "nowhere does not exist; create it"),
        ("quick.toml", "quick.toml is a file, so page.html cannot be saved in it"),
    ],
)
def test_a_page_that_cannot_be_written_gets_a_sentence(devnet, folder, place, sentence):
    add_results(folder)
    done = devnet("report", "--output", str(folder / place / "page.html"))
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_results_made_again_are_compared(devnet, folder):
    path = add_results(folder)
    again = folder / "again"
    again.mkdir()
    (again / "quick.jsonl").write_text(path.read_text())
    done = devnet("verify", "--against", str(again))
    assert done.exit_code == 0
    assert "2 of 2 runs are equal bit for bit, 0 are missing" in done.stdout
    (again / "quick.jsonl").write_text(path.read_text().replace('"AUC-ROC": 0.9', '"AUC-ROC": 0.1'))
    done = devnet("verify", "--against", str(again))
    assert done.exit_code == 1
    assert "AUC-ROC of quick on thyroid (n_labelled=5): 0.9000, was 0.1000" in done.stdout


TOUCHY = """
from pathlib import Path

from sklearn.ensemble import RandomForestClassifier as Forest

Path(__file__).with_name("was imported").touch()
"""


@pytest.fixture
def imported(folder, monkeypatch):
    """Whether a module that an experiment names was imported."""
    (folder / "touchy.py").write_text(TOUCHY)
    own = 'own = { method = "touchy:Forest", n_estimators = 5 }\n'
    (folder / "quick.toml").write_text(FILE + own)
    monkeypatch.syspath_prepend(folder)
    yield (folder / "was imported").exists
    sys.modules.pop("touchy", None)


def test_what_a_file_names_is_imported_only_to_be_run(devnet, folder, imported):
    arguments = ["--runs", "1", "--workers", "1", "--datasets", "thyroid"]
    done = devnet("run", "quick", "--methods", "quick", *arguments)
    assert done.exit_code == 0, done.output
    assert not imported()
    (folder / "claims.toml").write_text("")
    for words in (["list"], ["table", "quick"], ["report"], ["claims"]):
        devnet(*words)
        assert not imported(), words
    done = devnet("run", "quick", "--methods", "own", *arguments)
    assert done.exit_code == 0, done.output
    assert imported()
    (folder / "was imported").unlink()
    del sys.modules["touchy"]
    devnet("run", "quick", "--methods", "own", *arguments)  # it is done
    assert not imported()


def test_an_estimator_that_cannot_be_imported_is_refused_before_any_run(devnet, folder):
    (folder / "quick.toml").write_text(FILE + 'own = { method = "nowhere:Forest" }\n')
    done = devnet("run", "quick")
    assert done.exit_code == 2
    assert "the method 'nowhere:Forest' cannot be imported" in done.stderr
    assert not (folder / "results" / "quick.jsonl").read_text()
    (folder / "quick.toml").write_text(FILE + 'own = { method = "no where:Forest" }\n')
    assert "'no where:Forest' is not an import path" in devnet("list").stderr
