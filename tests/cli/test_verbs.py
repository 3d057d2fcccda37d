"""The verbs on tables, as a user types them."""

import gzip
import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from devnet.cli.main import VERBS, main

N = 800


def columns(seed=0, n_rows=N):
    generator = np.random.default_rng(seed)
    amount = generator.lognormal(3, 1, n_rows)
    is_fraud = amount > np.quantile(amount, 0.95)
    return {
        "id": [f"P{i}" for i in range(n_rows)],
        "amount": amount,
        "shop": np.where(is_fraud, "casino", generator.choice(["baker", "grocer"], n_rows)),
        "fraud": [1 if fraud and i < n_rows // 2 else None for i, fraud in enumerate(is_fraud)],
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and a model that was fitted to it by the command."""
    folder = tmp_path_factory.mktemp("journey")
    table = pa.table(columns())
    pq.write_table(table, folder / "t.parquet")
    csv.write_csv(table, folder / "t.csv")
    done = CliRunner().invoke(
        main,
        ["fit", str(folder / "t.parquet"), "--label", "fraud", "-o", str(folder / "m.devnet")],
    )
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def devnet(folder, monkeypatch):
    """Run the command in the folder."""
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(main, list(map(str, words)))


def test_fit_says_what_was_learned(devnet, folder):
    done = devnet("fit", "t.csv", "--label", "fraud", "-o", "other.devnet", "--budget", 10)
    assert done.exit_code == 0, done.output
    assert "800; labelled as anomalies (fraud = 1)" in done.stdout
    assert "id: identifier: every value occurs once" in done.stdout
    assert "the 10 highest rows" in done.stdout
    assert "Next: devnet alerts other.devnet t.csv" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 88
    facts = json.loads(
        devnet("fit", "t.csv", "--label", "fraud", "-o", "other.devnet", "--json").stdout
    )
    assert facts["rows"] == N
    assert facts["policy"]["policy"] == "false-alarm rate"
    assert {column["name"] for column in facts["columns"]} == {"amount", "shop"}


@pytest.mark.parametrize("table", ["t.csv", "t.parquet", "t.*v"])
def test_score_writes_the_table_with_scores(devnet, folder, table):
    done = devnet("score", "m.devnet", table, "-o", "scored.csv")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("800 rows scored, ")
    assert "They are in scored.csv" in done.stdout
    scored = csv.read_csv(folder / "scored.csv")
    assert scored.column_names[:5] == ["id", "amount", "shop", "fraud", "anomaly_score"]
    assert scored.num_rows == N
    facts = json.loads(devnet("score", "m.devnet", table, "-o", "scored.csv", "--json").stdout)
    assert facts["n_rows"] == N
    assert facts["n_alerts"] == sum(scored["is_alert"].to_pylist())


def test_alerts_are_ranked_with_reasons(devnet):
    done = devnet("alerts", "m.devnet", "t.csv", "--budget", 7, "--show", 2)
    assert done.stdout.startswith("7 alerts in 779 rows (the 7 highest rows, threshold ")
    assert done.stdout.count("most like the labelled anomaly P") == 2
    assert "21 rows already labelled in t.csv are left out; see --known" in done.stdout
    assert "amount" in done.stdout
    assert "and 5 more" in done.stdout
    facts = json.loads(devnet("alerts", "m.devnet", "t.csv", "--budget", 7, "--json").stdout)
    assert [one["row"] for one in facts["shown"]]
    assert facts["shown"][0]["reasons"][0]["text"].endswith(
        f"{facts['shown'][0]['reasons'][0]['contribution']:+.2g}"
    )
    scores = [one["score"] for one in facts["shown"]]
    assert scores == sorted(scores, reverse=True)


def test_json_is_json_and_a_policy_that_cannot_alert_is_said_by_every_verb(devnet):
    impossible = ["--false-alarm-rate", "1e-9"]

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    for words in (["alerts", "m.devnet", "t.csv"], ["score", "m.devnet", "t.csv", "-o", "x.csv"]):
        done = devnet(*words, *impossible, "--json")
        facts = json.loads(done.stdout, parse_constant=refuse)
        assert facts["threshold"] is None
        assert "smallest possible" in " ".join(facts["notes"])
    fit = ["fit", "t.csv", "--label", "fraud", "-o", "x.devnet", *impossible]
    assert "Note: no row can be an alert" in devnet(*fit).stderr
    assert "smallest possible" in json.loads(devnet(*fit, "--json").stdout)["notes"][0]


def test_the_next_command_can_be_typed_as_it_is(devnet, folder):
    (folder / "my table.csv").write_bytes((folder / "t.csv").read_bytes())
    done = devnet("fit", "my table.csv", "--label", "fraud", "-o", "my model")
    assert "Next: devnet alerts 'my model' 'my table.csv' --budget 10" in done.stdout


def test_what_should_be_known_before_a_fit_is_trusted_is_said(devnet, folder):
    leaking = columns()
    leaking["case"] = ["opened" if label == 1 else "none" for label in leaking["fraud"]]
    leaking["noise"] = np.random.default_rng(1).random(N)
    del leaking["amount"], leaking["shop"]
    csv.write_csv(pa.table(leaking), folder / "leak.csv")
    done = devnet("fit", "leak.csv", "--label", "fraud", "-o", "leak.devnet")
    assert "'case' separates labelled anomalies almost by itself" in done.stderr
    assert "--ignore case" in done.stderr
    few = columns()
    few["fraud"] = [1 if i in (3, 5) else None for i in range(N)]
    csv.write_csv(pa.table(few), folder / "few.csv")
    done = devnet("fit", "few.csv", "--label", "fraud", "-o", "few.devnet", "--json")
    assert "2 labelled anomalies are few" in " ".join(json.loads(done.stdout)["notes"])


def test_a_table_for_a_model_and_a_model_for_a_table_are_told_apart(devnet):
    done = devnet("alerts", "t.csv", "m.devnet", "--budget", 3)
    assert done.exit_code == 2
    assert done.stderr.endswith("t.csv is not a model; the model comes first, then the table.\n")
    assert "deserializing" not in done.stderr
    done = devnet("fit", "m.devnet", "--label", "fraud", "-o", "x")
    assert "m.devnet is a model file, not a table" in done.stderr


def test_no_alert_of_a_false_discovery_rate_is_explained(devnet):
    done = devnet("alerts", "m.devnet", "t.csv", "--fdr", 0.01)
    assert done.stdout.startswith("0 alerts")
    assert "does not mean that there are no anomalies" in done.stderr


def test_no_alert_is_a_note_with_what_to_do(devnet):
    done = devnet("alerts", "m.devnet", "t.csv", "--false-alarm-rate", 0.0001)
    assert done.exit_code == 0
    assert "0 alerts" in done.stdout
    assert "smallest possible is 0.0013" in done.stderr
    assert "--budget 20" in done.stderr


def test_explain_adds_up(devnet):
    done = devnet("explain", "m.devnet", "t.csv", "--row", 3)
    assert "Row 3, P3: score" in done.stdout
    assert "a typical row" in done.stdout
    (one,) = json.loads(devnet("explain", "m.devnet", "t.csv", "--row", 3, "--json").stdout)
    assert one["score"] - one["baseline_score"] == pytest.approx(
        sum(one["contributions"].values()), abs=1e-3
    )


def test_a_policy_is_kept_in_the_model(devnet, folder):
    (folder / "p.devnet").write_bytes((folder / "m.devnet").read_bytes())
    done = devnet("policy", "p.devnet", "--cost", 500, 5)
    assert "a miss at 500 would cost more than a false alarm at 5: scores above" in done.stdout
    assert "a miss at 500" in devnet("inspect", "p.devnet").stdout
    facts = json.loads(devnet("policy", "p.devnet", "--budget", 3, "--json").stdout)
    assert facts["policy"] == "the 3 highest rows"
    assert devnet("alerts", "p.devnet", "t.csv").stdout.startswith("3 alerts in 779 rows")


def test_inspect_tells_all(devnet):
    shown = devnet("inspect", "m.devnet").stdout
    assert "amount" in shown
    assert "3 values: " in shown
    assert "numpy" in shown
    facts = json.loads(devnet("inspect", "m.devnet", "--json").stdout)
    assert facts["calibration_rows"] == 779
    assert sum(column["importance"] for column in facts["columns"]) == pytest.approx(1)


def test_a_report_is_one_whole_page(devnet, folder):
    done = devnet("fit", "t.csv", "--label", "fraud", "-o", "r.devnet", "--report", "r.html")
    assert done.exit_code == 0, done.output
    assert "Report         r.html" in done.stdout
    page = (folder / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "amount" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


BAD_TABLES = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"a,b,fraud\n", "has no rows, only the columns a, b, fraud"),
    "ragged.csv": (b"a,b,fraud\n1,2,1\n1,2\n", "has 2 values for 3 columns in line 3"),
    "space.csv": (b"a b fraud\n1 2 1\n2 2 0\n", "as if ' ' separated its columns"),
    "twice.csv": (b"a,a,fraud\n1,2,1\n2,3,0\n", "more than one column named 'a'"),
    "three.csv": (b"a,fraud\n1,0\n2,1\n3,2\n", "unlabelled: --anomaly 0"),
    "unlabelled.csv": (b"a,fraud\n1,\n2,\n3,\n", "is empty in all 3 rows: no labelled anomaly"),
    "zero.csv": (b"a,fraud\n1,0\n2,0\n3,0\n", "every label in 'fraud' is '0'"),
    "latin.csv": ("a,fraud\nMüller,1\nB,0\n".encode("latin1"), "iconv -f WINDOWS-1252 -t UTF-8"),
    "nul.csv": (b"a,fraud\nx\0y,1\nb,0\n", "has a NUL byte"),
    "excel.csv": (b"PK\x03\x04rest", "Excel"),
    "cut.parquet": (b"PAR1 and no more", "damaged or incomplete"),
    "useless.csv": (
        b"a,fraud\n" + b"7,0\n" * 5 + b"7,1\n",
        "no column of the table can be used: 'a' (constant: always 7)",
    ),
}


def is_a_sentence(done):
    """An error of one line, with a hint of what to do, and no traceback."""
    return (
        done.exit_code == 2
        and isinstance(done.exception, SystemExit)
        and done.stdout == ""
        and done.stderr.count("Error: ") == 1
        and "Traceback" not in done.stderr
        and len(done.stderr) < 600
    )


@pytest.mark.parametrize("name", BAD_TABLES)
@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_bad_tables_get_a_sentence_and_leave_nothing(devnet, tmp_path, monkeypatch, name, verb):
    monkeypatch.chdir(tmp_path)
    content, sentence = BAD_TABLES[name]
    (tmp_path / name).write_bytes(content)
    more = ["-o", "m.devnet"] if verb == "fit" else ["--method", "PU trees"]
    done = devnet(verb, name, "--label", "fraud", *more)
    assert is_a_sentence(done), done.output
    too_few = verb == "compare" and "comparing methods takes at least 6" in done.stderr
    assert sentence in done.stderr or too_few
    assert [path.name for path in tmp_path.iterdir()] == [name]


BAD_WORDS = [
    (["fit", "nosuch.csv", "--label", "fraud", "-o", "x"], "there is no file nosuch.csv"),
    (["fit", "t.csv", "--label", "frad", "-o", "x"], "Did you mean 'fraud'?"),
    (["fit", "t.csv", "--label", "fraud", "-o", "no/x"], "mkdir -p no"),
    (["fit", "t.csv", "--label", "fraud", "-o", "."], "is a folder"),
    (["fit", "t.csv", "--label", "fraud", "-o", "x", "--method", "devnett"], "mean 'DevNet'?"),
    (["fit", "t.csv", "--label", "fraud", "-o", "x", "--ignore", "shp"], "mean 'shop'?"),
    (["fit", "t.csv", "--label", "fraud", "-o", "x", "--categorical", "sop"], "mean 'shop'?"),
    (["fit", "t.csv", "--label", "fraud", "-o", "x", "--id", "ip"], "mean 'id'?"),
    (["fit", "t.csv", "--label", "fraud", "-o", "x", "--anomaly", "7"], "no row has the value '7'"),
    (["fit", "t.csv", "--label", "fraud", "-o", "x", "--budget", "0"], "at least 1"),
    (["fit", "t.csv", "--label", "fraud", "-o", "x", "--fdr", "2"], "below 1"),
    (["fit", "t.csv", "--label", "fraud", "-o", "x", "--fdr", ".1", "--budget", "3"], "exclude"),
    (["fit", "t.csv", "--label", "shop", "-o", "x", "--ignore", "fraud"], "--anomaly casino"),
    (["score", "none.devnet", "t.csv", "-o", "x.csv"], "there is no model file none.devnet"),
    (["score", "t.csv", "t.csv", "-o", "x.csv"], "is not a model; the model comes first"),
    (["score", "m.devnet", "t.csv", "-o", "x.xyz"], "call it x.parquet, x.csv or x.arrow"),
    (["score", "m.devnet", "t.csv", "-o", "t.csv"], "is the table itself"),
    (["score", "m.devnet", "t.csv", "-o", "no/x.csv"], "mkdir -p no"),
    (["explain", "m.devnet", "t.csv", "--row", "800"], "numbered from 0 to 799"),
    (["explain", "m.devnet", "t.csv", "--row", "-1"], "there is no row -1"),
    (["policy", "m.devnet"], "give one of --budget"),
    (["inspect", "t.parquet"], "is not a model; learn one from the table: devnet fit t.parquet"),
    (["compare", "t.csv", "--label", "nix"], "unknown column 'nix'"),
    (["fti"], "Did you mean 'fit'?"),
]


@pytest.mark.parametrize(("words", "sentence"), BAD_WORDS)
def test_wrong_words_get_a_sentence(devnet, folder, words, sentence):
    before = sorted(path.name for path in folder.iterdir())
    done = devnet(*words)
    assert is_a_sentence(done), done.output
    assert sentence in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_detector_of_matrices_is_no_model_of_tables(devnet, folder):
    from devnet import DevNet

    DevNet(n_epochs=1).fit([[0.0], [1.0], [2.0]], [0, 0, 1]).save(folder / "matrix.devnet")
    done = devnet("inspect", "matrix.devnet")
    assert done.exit_code == 2
    assert "devnet.load('matrix.devnet')" in done.stderr


def test_a_cell_of_ten_million_characters_and_many_categories_are_no_problem(devnet, folder):
    generator = np.random.default_rng(0)
    rows = {
        "text": ["x" * 10_000_000] + ["short"] * 999,
        "many": [f"merchant {i % 700}" for i in range(1000)],
        "amount": generator.random(1000),
        "fraud": [float("nan") if i % 50 else 1.0 for i in range(1000)],
    }
    csv.write_csv(pa.table(rows), folder / "odd.csv")
    done = devnet("fit", "odd.csv", "--label", "fraud", "-o", "odd.devnet")
    assert done.exit_code == 0, done.output
    assert (folder / "odd.devnet").stat().st_size < 2_000_000


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="file sizes cannot be limited here")
def test_a_full_disk_leaves_no_output(folder, tmp_path):
    """The file size of a process is limited, so that writing fails in the middle."""
    program = (
        "import resource, sys\n"
        "from devnet.cli.main import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "main(sys.argv[1:])\n"
    )
    words = ["score", str(folder / "m.devnet"), str(folder / "t.csv"), "-o"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words, str(tmp_path / "x.csv")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_the_right_to_write_is_said_before_the_work(devnet, folder, tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    done = devnet("fit", "t.csv", "--label", "fraud", "-o", tmp_path / "m.devnet")
    assert is_a_sentence(done)
    assert "is not writable" in done.stderr


def test_help_is_quick_and_every_verb_shows_examples():
    program = (
        "import sys; from devnet.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'torch', 'pyarrow'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    for verb in VERBS:
        assert f"  {verb} " in done.stdout
    for verb in ("fit", "score", "alerts", "explain", "policy", "inspect", "compare"):
        shown = CliRunner().invoke(main, [verb, "--help"]).stdout
        assert f"\n  devnet {verb} " in shown
        assert "--json" in shown


def test_the_shell_completes_verbs_and_options():
    environment = {**os.environ, "COMP_WORDS": "devnet sc", "COMP_CWORD": "1"}
    environment["_DEVNET_COMPLETE"] = "bash_complete"
    program = "from devnet.cli.main import main; main(prog_name='devnet')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert "score" in done.stdout


@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_scoring_can_be_killed_and_given_again(folder, tmp_path, how):
    many = pa.concat_tables([pa.table(columns(seed)) for seed in range(400)])
    pq.write_table(many, tmp_path / "many.parquet")
    output = tmp_path / "scored.parquet"
    words = ["score", folder / "m.devnet", tmp_path / "many.parquet", "-o", output]
    command = [sys.executable, "-m", "devnet.cli", *map(str, words)]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell that runs the tests in the background has its children ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while running.poll() is None and not is_being_written(tmp_path):
        time.sleep(0.01)
    running.send_signal(getattr(signal, how))
    _, complaint = running.communicate(timeout=60)
    assert running.returncode != 0
    assert b"Traceback" not in complaint
    assert not output.exists()
    left = list(tmp_path.glob(".scored.parquet.*"))
    assert bool(left) == (how == "SIGKILL")  # nobody can clean up after that
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "320,000 rows scored" in again.stdout
    assert pq.read_metadata(output).num_rows == 320_000
    assert not list(tmp_path.glob(".scored.parquet.*"))


def is_being_written(folder):
    """Whether something of the output is on disk; a file that is only tried out has no bytes."""
    with suppress(FileNotFoundError):
        return any(path.stat().st_size for path in folder.glob(".scored.parquet.*"))
    return False


def test_the_bar_of_a_compressed_table_shows_the_bytes_read(folder, monkeypatch):
    """Rows of text are not known before they are read; the bytes of the file are."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("devnet.tables.sources.csv.BLOCK_SIZES", (1 << 10, 1 << 20))
    csv.write_csv(pa.table(columns(n_rows=5_000)), folder / "many.csv")
    packed = folder / "many.csv.gz"
    packed.write_bytes(gzip.compress((folder / "many.csv").read_bytes()))
    size = f"{packed.stat().st_size / 1e6:,.1f}"
    assert size != "0.0"
    words = ["score", folder / "m.devnet", packed, "-o", folder / "many.parquet"]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0
    assert f"{size} of {size} MB read" in done.stderr
