"""What the documents show is true."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from devnet.cli.main import main
from devnet.experiments.plan import read_experiments
from devnet.experiments.results import read_results

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]


README = (ROOT / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.S)


@pytest.mark.parametrize("place", range(len(PROGRAMS)))
def test_the_readme_s_programs_print_what_the_readme_says(place):
    program, expected = PROGRAMS[place]
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(program, {})
    assert shown.getvalue() == expected


def test_the_readme_s_table_is_that_of_the_committed_results():
    arguments = ["experiment", "table", "effectiveness", "--format", "markdown"]
    folder = ["--folder", str(ROOT / "experiments")]
    done = CliRunner().invoke(main, [*arguments, *folder], catch_exceptions=False)
    assert done.output.strip() in (ROOT / "README.md").read_text()


def test_the_committed_page_is_that_of_the_committed_results(tmp_path):
    page = tmp_path / "report.html"
    folder = ["--folder", str(ROOT / "experiments"), "--output", str(page)]
    CliRunner().invoke(main, ["experiment", "report", *folder], catch_exceptions=False)
    assert page.read_text() == (ROOT / "experiments" / "report.html").read_text()


def mean_auc_pr(name, method, **settings):
    """Mean over the data sets of the mean over runs."""
    records = read_results(ROOT / "experiments" / "results" / f"{name}.jsonl")
    values = {}
    for record in records:
        if record.method == method and record.settings.items() >= settings.items():
            values.setdefault(record.dataset, []).append(record.metrics["AUC-PR"])
    return sum(sum(runs) / len(runs) for runs in values.values()) / len(values)


@pytest.mark.parametrize("method", ["deviation ensemble", "PU trees", "DevNet"])
def test_the_readme_s_summary_is_that_of_the_committed_results(method):
    means = (
        mean_auc_pr("effectiveness", method),
        mean_auc_pr("data_efficiency", method, n_labelled=5),
        mean_auc_pr("contamination", method, contamination=0.2),
    )
    row = " | ".join([method, *(f"{mean:.3f}" for mean in means)])
    assert f"| {row} |" in (ROOT / "README.md").read_text()


def test_every_experiment_is_in_the_readme_and_whole():
    text = (ROOT / "README.md").read_text()
    for experiment in read_experiments(ROOT / "experiments"):
        assert f"| {experiment.name} |" in text
        records = read_results(ROOT / "experiments" / "results" / f"{experiment.name}.jsonl")
        done = {record.run.key for record in records if not record.error}
        assert done == {run.key for run in experiment.plan()}


def commands(group, path=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_every_verb_is_documented_and_has_help():
    text = (ROOT / "README.md").read_text()
    for path, command in commands(main):
        assert command.help
        assert f"devnet {' '.join(path)}" in text


def test_the_readme_lists_the_options_of_every_verb_on_tables():
    rows = dict(re.findall(r"^\| `devnet (\w+)[^`]*` \|(.*)$", README, re.M))
    verbs = dict(commands(main))
    assert {(verb,) for verb in rows} <= set(verbs)
    for path, command in verbs.items():
        if len(path) > 1:  # of the paper's data and experiments
            continue
        options = {option for parameter in command.params for option in parameter.opts}
        named = set(re.findall(r"`(--[a-z-]+)`", rows[path[0]]))
        assert named | {"--json"} == {option for option in options if option.startswith("--")}


def test_every_make_target_in_the_documents_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for document in DOCUMENTS:
        named = re.findall(r"(?:`|^)make\s([a-z]+)", (ROOT / document).read_text(), re.M)
        assert set(named) <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_named_in_the_documents_exists(document):
    text = (ROOT / document).read_text()
    for name in re.findall(r"`((?:[a-z_]+/)*[A-Za-z_]+\.(?:py|md|txt|toml))`", text):
        places = [ROOT / name, ROOT / "src" / "devnet" / name, ROOT / "tests" / name]
        assert any(place.exists() for place in places), name


def test_the_readme_s_first_screen_is_the_demo(tmp_path):
    """The journey as a user goes it: what the README shows is what the demo prints."""
    (screen,) = re.findall(r"```\n(\$ devnet fit .*?)```", README, re.S)
    done = subprocess.run(
        [sys.executable, "-m", "devnet.cli", "demo", "--folder", "x"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    shown = done.stdout.replace("x/", "")
    for part in screen.split("\n\n"):
        assert part.strip() in shown
    assert "Now open report.html" in shown
    names = {path.name for path in (tmp_path / "x").iterdir()}
    assert names == {"payments.parquet", "fraud.devnet", "scored.parquet", "report.html"}
    (n_fraud,) = re.findall(r"(\d+) are fraud \(", shown)
    assert f"Of the 100 highest other payments {n_fraud} are fraud." in README
    assert int(n_fraud) >= 90
