"""`devnet labels` and `devnet fit --labels`, as a user types them."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.hostile import EVIL, check_clean

from devnet.cli.main import main
from devnet.review.labelled import labelled_rows
from devnet.review.store import LabelStore

N = 300


@pytest.fixture
def devnet(tmp_path, monkeypatch):
    """Run the command in a folder with payments, and with labels of some of them."""
    monkeypatch.chdir(tmp_path)
    amount = np.random.default_rng(0).lognormal(3, 1, N)
    order = np.argsort(-amount)
    table = pa.table({"payment": [f"P{i}" for i in range(N)], "amount": amount})
    pq.write_table(table, "p.parquet")
    csv.write_csv(table, "p.csv")
    ids = [f"P{i}" for i in order[:20]]
    state = ["fraud"] * 10 + ["cleared"] * 10
    csv.write_csv(pa.table({"payment": ids, "state": state}), "known.csv")
    return lambda *words: CliRunner().invoke(main, list(map(str, words)))


WORDS = ("--verdict", "state", "--anomaly", "fraud", "--normal", "cleared", "--who", "ana")
IMPORT = ("labels", "import", "review.db", "known.csv", *WORDS)


def imported(devnet, *more):
    done = devnet(*IMPORT, "--table", "p.csv", "--id", "payment", *more)
    assert done.exit_code == 0, done.output
    return done


def test_import_says_what_it_did_and_does_it_once(devnet):
    done = imported(devnet)
    assert done.stdout == (
        "20 labels of known.csv recorded in review.db.\n"
        "0 were known already, 0 rows of the file without a verdict.\n"
    )
    again = imported(devnet, "--json")
    assert json.loads(again.stdout) == {
        "store": "review.db",
        **{"n_added": 0, "n_known": 20, "n_other": 0, "n_without": 0, "n_gone": 0},
    }


def test_a_store_that_exists_needs_no_table(devnet):
    imported(devnet)
    done = devnet(*IMPORT)
    assert done.exit_code == 0, done.output
    assert "0 labels of known.csv recorded" in done.stdout
    done = devnet("labels", "import", "new.db", "known.csv", *WORDS)
    assert done.exit_code == 2
    assert "there is no store new.db" in done.stderr


def test_no_store_is_made_for_labels_that_are_refused(devnet, tmp_path):
    words = ("labels", "import", "new.db", "known.csv", *WORDS, "--table", "p.csv")
    assert devnet(*words).exit_code == 2  # the rows are known by their values, the labels by id
    assert not (tmp_path / "new.db").exists()
    done = devnet(*words, "--id", "payment")
    assert done.exit_code == 0, done.output


def test_conflicts_and_gone_rows_are_told(devnet, tmp_path):
    imported(devnet)
    (tmp_path / "more.csv").write_text("payment,state\nX1,fraud\n")
    swapped = ("--anomaly", "cleared", "--normal", "fraud")
    done = devnet(*IMPORT, *swapped)
    assert "Note: 20 rows have another verdict in review.db, which stays; --replace" in done.stderr
    done = devnet(*IMPORT, *swapped, "--replace")
    assert "20 rows have another verdict in review.db, which was replaced." in done.stderr
    words = ("labels", "import", "review.db", "more.csv", *WORDS, "--table", "p.parquet")
    done = devnet(*words)
    assert done.exit_code == 0, done.output
    assert "1 verdict is about rows that p.parquet does not have; review.db keeps" in done.stderr


def test_export_writes_labels_or_all_events(devnet):
    imported(devnet)
    imported(devnet, "--anomaly", "cleared", "--normal", "fraud", "--replace")
    done = devnet("labels", "export", "review.db", "-o", "l.csv")
    assert done.stdout == "20 labels of review.db written to l.csv.\n"
    done = devnet("labels", "export", "review.db", "-o", "e.parquet", "--events", "--json")
    assert json.loads(done.stdout) == {"output": "e.parquet", "n_written": 40}
    assert pq.read_table("e.parquet").num_rows == 40
    done = devnet("labels", "import", "other.db", "l.csv", "--table", "p.csv", "--id", "payment")
    assert done.exit_code == 0, done.output
    with LabelStore("review.db") as one, LabelStore("other.db") as other:
        assert one.labels() == other.labels()


def test_fit_learns_from_verdicts(devnet):
    imported(devnet)
    fit = ("fit", "p.parquet", "--labels", "review.db", "--method", "PU trees", "-o", "m.devnet")
    done = devnet(*fit, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["labelled_anomalies"] == 10
    assert told["verdicts"] == {"anomaly": 10, "normal": 10, "gone": 0}
    assert told["known_normal"] == 10
    pq.write_table(pq.read_table("p.parquet").slice(0, 200), "part.parquet")
    done = devnet("fit", "part.parquet", *fit[2:], "--report", "r.html")
    assert done.exit_code == 0, done.output
    assert "about rows that part.parquet does not have; review.db keeps them" in done.stderr


def test_labels_of_another_version_of_the_table_are_not_learned(devnet, monkeypatch):
    imported(devnet)

    def join(*given, **how):
        found = labelled_rows(*given, **how)
        table = pq.read_table("p.parquet")
        pq.write_table(table.take(list(range(N))[::-1]), "p.parquet")
        return found

    monkeypatch.setattr("devnet.review.labelled.labelled_rows", join)
    done = devnet("fit", "p.parquet", "--labels", "review.db", "-o", "m.devnet")
    assert done.exit_code == 2
    assert "p.parquet was changed while it was read" in done.stderr
    assert not Path("m.devnet").exists()


def test_fit_needs_labels_from_somewhere(devnet):
    done = devnet("fit", "p.csv", "-o", "m.devnet")
    assert done.exit_code == 2
    assert "Missing option '--label'" in done.stderr
    assert "--labels" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "p.csv", "--labels", "review.db", "-o", "review.db"),
        ("fit", "p.csv", "--labels", "review.db", "-o", "m.devnet", "--report", "review.db"),
        ("fit", "p.csv", "--labels", "review.db", "-o", "review.db-wal"),
        ("labels", "export", "review.db", "-o", "store.csv"),
        ("score", "m.devnet", "p.csv", "-o", "store.csv"),
        ("alerts", "m.devnet", "p.csv", "-o", "store.csv"),
        ("compare", "p.csv", "--label", "payment", "--report", "review.db"),
    ],
)
def test_no_output_replaces_a_store(devnet, words, tmp_path):
    imported(devnet)
    fitted = devnet(
        "fit", "p.csv", "--labels", "review.db", "--method", "PU trees", "-o", "m.devnet"
    )
    assert fitted.exit_code == 0, fitted.output
    (tmp_path / "store.csv").write_bytes((tmp_path / "review.db").read_bytes())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = devnet(*words)
    assert done.exit_code == 2
    assert "is never replaced" in done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [
        ("labels", "export", "p.csv", "-o", "l.csv"),
        ("labels", "export", "none.db", "-o", "l.csv"),
        ("labels", "import", "review.db", "none.csv", "--table", "p.csv"),
        ("labels", "import", "review.db", "known.csv", "--table", "p.csv", "--id", "none"),
        ("labels", "import", "p.csv", "known.csv", "--table", "p.csv"),
        ("fit", "p.csv", "--labels", "none.db", "-o", "m.devnet"),
        ("fit", "p.csv", "--labels", "p.csv", "-o", "m.devnet"),
    ],
)
def test_wrong_files_get_a_sentence(devnet, words):
    done = devnet(*words)
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stderr.count("Error: ") == 1


def test_hostile_ids_are_shown_escaped(devnet, tmp_path):
    table = pa.table({"id": [EVIL, EVIL], "verdict": ["normal", "anomaly"]})
    pq.write_table(table, "evil.parquet")
    imported(devnet)
    done = devnet("labels", "import", "review.db", "evil.parquet", "--who", "ana")
    assert done.exit_code == 2
    check_clean(done.output)
