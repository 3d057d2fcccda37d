"""What the command line says about numbers and dates as people write them."""

import json

import pytest
from click.testing import CliRunner

from devnet.cli.main import main
from devnet.cli.spelling import spell
from devnet.core.sentence import Setting

HEAD = "annual_income,rate,sold_on,fraud"


@pytest.fixture
def devnet(tmp_path, monkeypatch):
    """Run the command next to a table that leaves decimal marks and months open."""
    monkeypatch.chdir(tmp_path)
    lines = [
        f'"${i % 90 + 1},{i % 800 + 100}",{i % 30}%,0{i % 9 + 1}/0{i % 8 + 1}/2017,{i % 40 == 0:d}'
        for i in range(400)
    ]
    (tmp_path / "t.csv").write_text("\n".join([HEAD, *lines, "lots,9999,unknown,0"]))
    fit = ("fit", "t.csv", "--label", "fraud", "--method", "PU trees", "-o", "m.devnet")
    run = CliRunner().invoke
    return lambda *words: run(main, list(words if words[:1] == ("inspect",) else (*fit, *words)))


def test_a_fit_says_how_it_read_text_and_what_stayed_open(devnet):
    done = devnet()
    assert done.exit_code == 0, done.output
    assert "Read           annual_income: text read as US dollars\n" in done.stdout
    assert "               rate: text read as percentages\n" in done.stdout
    assert "               sold_on: text read as dates, month first\n" in done.stdout
    assert "'$1,100' is read as 1,100" in done.stderr
    assert "if it means 1.1, say so with --decimal-comma." in done.stderr
    assert "'01/01/2017' is read as 2017-01-01, month first" in done.stderr
    assert "if dates are written day first, say so with --day-first." in done.stderr
    assert "annual_income: 1 value, such as 'lots', cannot be read" in done.stderr
    assert "text read as US dollars" in devnet("inspect", "m.devnet").stdout


def test_decimal_comma_day_first_and_missing_are_options(devnet):
    done = devnet("--decimal-comma", "--day-first", "--missing", "9999", "--json")
    facts = json.loads(done.stdout)
    columns = {column["name"]: column for column in facts["columns"]}
    assert columns["annual_income"]["reading"] == "text read as US dollars, with decimal commas"
    assert columns["sold_on"]["reading"] == "text read as dates, day first"
    assert columns["rate"]["missing"] == pytest.approx(1 / 401)
    assert not any("say so with" in note for note in facts["notes"])


def test_month_first_and_decimal_point_are_typed_as_flags():
    assert spell(Setting("day_first", False)) == "--month-first"
    assert spell(Setting("decimal_comma", False)) == "--decimal-point"
    assert spell(Setting("missing", ["9999", "-1"])) == "--missing 9999 --missing -1"


def test_the_command_after_a_comparison_keeps_the_options(devnet, tmp_path):
    words = ["compare", "t.csv", "--label", "fraud", "--method", "PU trees", "--repeats", "1"]
    done = CliRunner().invoke(main, [*words, "--month-first", "--missing", "9999"])
    assert done.exit_code == 0, done.output
    assert "--month-first --missing 9999" in done.stdout


def test_compare_says_how_it_read_text_and_what_stayed_open_as_fit_does(devnet, tmp_path):
    words = ["compare", "t.csv", "--label", "fraud", "--method", "PU trees", "--repeats", "1"]
    done = CliRunner().invoke(main, [*words, "--report", "r.html"])
    assert done.exit_code == 0, done.output
    assert "\n  annual_income: text read as US dollars\n" in done.stdout
    assert "\n  sold_on: text read as dates, month first\n" in done.stdout
    fitted = {line for line in devnet().stderr.splitlines() if "read" in line}
    assert len(fitted) == 3
    assert fitted <= set(done.stderr.splitlines())
    facts = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    assert facts["readings"]["rate"] == "text read as percentages"
    assert any(note.endswith("say so with --day-first.") for note in facts["notes"])
    page = (tmp_path / "r.html").read_text()
    assert "<dt>rate</dt><dd>text read as percentages</dd>" in page
    assert "say so with --day-first." in page


def test_compare_time_sold_on_ignore_sold_on_says_how_the_time_was_read(devnet):
    words = ["compare", "t.csv", "--label", "fraud", "--method", "PU trees", "--repeats", "1"]
    done = CliRunner().invoke(main, [*words, "--time", "sold_on", "--ignore", "sold_on"])
    assert done.exit_code == 0, done.output
    assert "\n  sold_on: text read as dates, month first\n" in done.stdout
    assert "if dates are written day first, say so with --day-first." in done.stderr


def test_compare_learns_from_the_past_by_slash_dates(devnet, tmp_path):
    lines = [
        f"{i * 37 % 601},{i // 12 % 28 + 1}/{i % 12 + 1}/2017,{i % 7 == 0:d}" for i in range(600)
    ]
    (tmp_path / "s.csv").write_text("\n".join(["amount,sold_on,fraud", *lines]))
    words = ["compare", "s.csv", "--label", "fraud", "--time", "sold_on", "--method", "PU trees"]
    done = CliRunner().invoke(main, [*words, "--ignore", "sold_on", "--repeats", "1"])
    assert done.exit_code == 0, done.output
