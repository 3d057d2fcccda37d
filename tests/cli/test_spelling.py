"""The library speaks Python; the command line spells the same sentences with its options."""

import json
import re

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from click.testing import CliRunner
from support.experiments import FILE, experiment, make_sets

from devnet.cli.main import main
from devnet.cli.spelling import OPTIONS, spell, worded
from devnet.core.sentence import Sentence, Setting, UserError
from devnet.experiments.comparison import compare_methods
from devnet.experiments.plan import read_experiments
from devnet.experiments.runner import run_experiment
from devnet.report.fit_facts import fit_facts
from devnet.tables import TableModel


@pytest.mark.parametrize(
    ("setting", "typed"),
    [
        (Setting("label"), "--label"),
        (Setting("id_column", "case"), "--id case"),
        (Setting("anomaly", "very bad"), "--anomaly 'very bad'"),
        (Setting("ignore", ["a", "b c"]), "--ignore a --ignore 'b c'"),
        (Setting("only_id", True), "--only-id"),
        (Setting("n_shown", 5), "--show 5"),
        (Setting("margin", 4.0), "margin=4.0"),  # no option of the command line
    ],
)
def test_a_setting_is_typed_as_an_option(setting, typed):
    assert spell(setting) == typed


def test_every_option_is_one_of_some_verb():
    verbs = (
        *("fit", "score", "alerts", "explain", "export", "compare", "review", "serve"),
        "labels import",
    )
    words = [verb.split() for verb in (*verbs, "experiment run")]
    helps = [CliRunner().invoke(main, [*verb, "--help"]).stdout for verb in words]
    for option in OPTIONS.values():
        assert any(re.search(rf"{option}\b", text) for text in helps), option


def test_an_error_without_settings_is_worded_as_it_is():
    assert worded(ValueError("too few")) == "too few"
    assert worded(UserError("name it with ", Setting("label"), ".")) == "name it with --label."


def both(call, words):
    """An error as Python says it, and as the command line does."""
    with pytest.raises(UserError) as raised:
        call()
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 2
    return str(raised.value), done.stderr.removeprefix("Error: ").rstrip("\n")


def test_too_few_rows_to_compare(tmp_path):
    path = tmp_path / "few.csv"
    csv.write_csv(pa.table({"a": range(8), "fraud": [1, 1, *[None] * 6]}), path)
    python, typed = both(
        lambda: compare_methods(path, "fraud"), ["compare", path, "--label", "fraud"]
    )
    assert python.endswith("without comparing it: method='deviation ensemble'")
    assert typed.endswith("without comparing it: --method 'deviation ensemble'")


def test_no_experiments(tmp_path):
    python, typed = both(
        lambda: read_experiments(tmp_path), ["experiment", "list", "--folder", tmp_path]
    )
    assert python.endswith("name another folder with folder.")
    assert typed.endswith("name another folder with --folder.")


def test_results_that_cannot_be_written(tmp_path, monkeypatch):
    make_sets(tmp_path)
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    (tmp_path / "quick.toml").write_text(FILE)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "quick.jsonl").mkdir()
    made = experiment()
    python, typed = both(
        lambda: run_experiment(made, made.plan(), tmp_path / "results" / "quick.jsonl"),
        ["experiment", "run", "quick", "--folder", tmp_path],
    )
    assert python.endswith("Put them elsewhere with results.")
    assert typed.endswith("Put them elsewhere with --results.")


def test_a_note_is_spelled_on_the_terminal_in_json_and_on_the_page(tmp_path, monkeypatch):
    note = Sentence("leave it out with ", Setting("ignore", ["card limit"]))
    for module in ("devnet.tables.description", "devnet.report.fit_facts"):
        monkeypatch.setattr(f"{module}.fit_notes", lambda model: [note])
    path = tmp_path / "t.csv"
    csv.write_csv(pa.table({"a": range(30), "b": [5, 7] * 15, "fraud": [1, *[0] * 29]}), path)
    words = ["fit", path, "--label", "fraud", "-o", tmp_path / "m", "--method", "DevNet"]
    words = [*map(str, words), "--report", str(tmp_path / "r.html")]
    assert (
        "Note: leave it out with --ignore 'card limit'\n" in CliRunner().invoke(main, words).stderr
    )
    assert "--ignore &#39;card limit&#39;" in (tmp_path / "r.html").read_text()
    shown = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    assert shown["notes"] == ["leave it out with --ignore 'card limit'"]
    model = TableModel("DevNet", random_state=0).fit(path, "fraud")
    assert "leave it out with ignore=['card limit']" in fit_facts(model, path).notes


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["--budget", 0], "--budget 0 is not possible: give a whole number of at least 1."),
        (["--fdr", 2], "--fdr 2.0 is not possible: give a finite number above 0 and below 1."),
        (["--cost", -1, 5], "--cost -1.0 5.0 is not possible: give a finite number above 0."),
    ],
)
def test_a_policy_that_is_not_possible_says_what_to_give(typed, told):
    done = CliRunner().invoke(main, ["policy", "m.devnet", *map(str, typed)])
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())
