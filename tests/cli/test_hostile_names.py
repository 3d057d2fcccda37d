"""Names, values and paths that would act on a terminal are shown, whatever the verb."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.experiments import FILE, make_sets
from support.hostile import EVIL, check_clean

from devnet.cli import table_text
from devnet.cli.main import main
from devnet.experiments.table import Cell, ResultTable

N = 400
TABLE, MODEL, NEW = f"t{EVIL}.parquet", f"m{EVIL}", f"new{EVIL}"
LABEL = f"label{EVIL}"
FAST = ("--method", "PU trees", "--id", f"id{EVIL}")


def columns(**more):
    generator = np.random.default_rng(0)
    amount = generator.lognormal(3, 1, N)
    is_fraud = amount > np.quantile(amount, 0.93)
    shop = np.where(is_fraud, f"casino{EVIL}", generator.choice([f"baker{EVIL}", "grocer"], N))
    return {
        f"id{EVIL}": [f"P{i}{EVIL}" for i in range(N)],
        f"amount{EVIL}": amount,
        f"price{EVIL}": [f"${value:,.2f}" for value in 1000 * amount],
        f"shop{EVIL}": shop,
        f"same{EVIL}": [EVIL] * N,
        f"group{EVIL}": [f"{i % 40}{EVIL}" for i in range(N)],
        LABEL: [f"fraud{EVIL}" if fraud and i % 3 else None for i, fraud in enumerate(is_fraud)],
        **more,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    pq.write_table(pa.table(columns()), folder / TABLE)
    pq.write_table(pa.table(columns(**{f"more{EVIL}": range(N)})), folder / f"more{TABLE}")
    words = ["fit", folder / TABLE, "--label", LABEL, "-o", folder / MODEL, *FAST]
    done = CliRunner().invoke(main, [*map(str, words), "--report", str(folder / "r.html")])
    assert done.exit_code == 0, done.output
    check_clean(done.stdout + done.stderr)
    return folder


@pytest.fixture
def devnet(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(main, list(map(str, words)))


VERBS = {
    "fit": ["fit", TABLE, "--label", LABEL, "-o", NEW, *FAST, "--report", f"{NEW}.html"],
    "inspect": ["inspect", MODEL],
    "alerts": ["alerts", MODEL, TABLE, "--budget", 5],
    "alerts in a file": ["alerts", MODEL, f"more{TABLE}", "--budget", 5, "-o", f"{NEW}.csv"],
    "explain": ["explain", MODEL, f"more{TABLE}", "--row", 47, "--row", 48],
    "score": ["score", MODEL, f"more{TABLE}", "-o", f"{NEW}.parquet"],
    "policy": ["policy", MODEL, "--false-alarm-rate", 0.01],
    "compare": [
        *("compare", TABLE, "--label", LABEL, "--repeats", 1, "--report", f"{NEW}2.html"),
        *("--group", f"group{EVIL}", "--method", "logistic regression"),
    ],
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_prints_what_acts_on_a_terminal(devnet, folder, verb):
    done = devnet(*VERBS[verb])
    assert done.exit_code == 0, done.output
    assert "\\x1b" in done.stdout + done.stderr
    check_clean(done.stdout + done.stderr)
    done = devnet(*VERBS[verb], "--json")
    json.loads(done.stdout)
    check_clean(done.stdout + done.stderr)


def test_what_is_said_of_columns_and_rows_is_the_same_but_for_what_acts(devnet):
    shown = devnet("alerts", MODEL, TABLE, "--budget", 5).stdout
    assert r"most like the labelled anomaly P" in shown
    assert r"x\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202eabc" in shown
    told = json.loads(devnet("alerts", MODEL, TABLE, "--budget", 5, "--json").stdout)
    assert told["shown"][0]["id"].endswith(EVIL)  # programs get the name itself


@pytest.mark.parametrize("page", ["r.html", f"{NEW}2.html"], ids=["fit", "comparison"])
def test_pages_show_such_names_too(devnet, folder, page):
    devnet(*VERBS["compare"])
    text = (folder / page).read_text()
    assert "\\x1b]0;owned" in text
    check_clean(text)


WRONG = [
    ["fit", f"no{EVIL}.csv", "--label", "y", "-o", "m"],
    ["fit", "no\udcff.csv", "--label", "y", "-o", "m"],
    ["fit", TABLE, "--label", f"none{EVIL}", "-o", "m"],
    ["fit", TABLE, "--label", LABEL, "-o", f"no{EVIL}/m"],
    ["fit", TABLE, "--label", LABEL, "-o", TABLE],
    ["fit", TABLE, "--label", LABEL, "-o", "m", "--anomaly", EVIL],
    ["fit", TABLE, "--label", LABEL, "-o", "m", "--method", EVIL],
    ["fit", TABLE, "--label", LABEL, "--label", "b", "-o", "m"],
    ["fit", TABLE, "--label", f"amount{EVIL}", "-o", "m"],
    ["fit", TABLE, "--label", LABEL, "-o", "m", "--seed", EVIL],
    ["fit", TABLE, EVIL, "--label", LABEL, "-o", "m"],
    ["fit", f"--{EVIL}"],
    ["score", TABLE, TABLE, "-o", "x.csv"],
    ["score", MODEL, TABLE, "-o", f"x.{EVIL}"],
    ["explain", MODEL, TABLE, "--row", N],
    ["alerts", MODEL, TABLE, "-o", TABLE],
    ["inspect", EVIL],
    ["inspect", TABLE],
    ["policy", MODEL, "--cost", EVIL, 3],
    ["compare", TABLE, "--label", LABEL, "--time", EVIL],
    ["data", "show", EVIL],
    ["data", EVIL],
    ["demo", "--folder", f"{TABLE}/x", "--rows", 10_000],
    ["experiment", "table", EVIL, "--folder", EVIL],
    ["experiment", f"--{EVIL}"],
    [f"--{EVIL}"],
    [EVIL],
]


@pytest.mark.parametrize("words", WRONG)
def test_no_error_prints_what_acts_on_a_terminal(devnet, words):
    done = devnet(*words)
    assert done.exit_code == 2
    assert "Error: " in done.stderr
    assert isinstance(done.exception, SystemExit)
    check_clean(done.stdout + done.stderr)


def test_help_keeps_its_lines(devnet):
    for words in ([], ["experiment"], ["--help"], ["fit", "--help"]):
        done = devnet(*words)
        assert "\n\n" in done.output
        assert "\\n" not in done.output


@pytest.mark.parametrize("verb", ["score", "compare"])
def test_a_bar_on_a_terminal_shows_such_names_too(devnet, monkeypatch, verb):
    monkeypatch.setenv("FORCE_COLOR", "1")
    done = devnet(*VERBS[verb])
    assert "\\x1b]0;owned" in done.stderr
    for part in ("\x1b]0", "\x1b[2J", "\x9b", "\u202e", "forged\n"):
        assert part not in done.stderr


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "json"])
def test_tables_of_experiments_show_such_names_too(monkeypatch, form):
    monkeypatch.setenv("COLUMNS", "400")
    rows = [[Cell(f"row {EVIL}"), Cell("0.5", is_best=True)]]
    table = ResultTable(f"title {EVIL}", ["[red]data", EVIL], rows, [f"note {EVIL}"])
    shown = getattr(table_text, form)([table])
    check_clean(shown)
    assert "[red]data" in shown


def test_the_list_of_experiments_shows_such_names_too(tmp_path, monkeypatch):
    make_sets(tmp_path)
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    (tmp_path / "quick.toml").write_text(FILE.replace('"Does it run?"', json.dumps(EVIL)))
    done = CliRunner().invoke(main, ["experiment", "list", "--folder", str(tmp_path)])
    assert r"\x1b]0;owned" in done.stdout
    check_clean(done.stdout)
