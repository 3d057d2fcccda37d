"""Rows known to be normal, as a user types and reads them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from click.testing import CliRunner

from devnet.cli.main import main

N = 900
FIT = ("fit", "t.csv", "--label", "verdict", "--output", "m.devnet", "--method", "PU trees")
NORMAL = ("--normal", "false alarm")


@pytest.fixture
def devnet(tmp_path, monkeypatch):
    """Run the command in a folder with a table of verdicts."""
    monkeypatch.chdir(tmp_path)
    kind = np.arange(N) % 30
    amount = np.random.default_rng(0).lognormal(3, 1, N) * np.where(kind < 2, 20, 1)
    verdict = [
        {0: "fraud", 1: "False alarm"}.get(one) if i < N // 2 else None
        for i, one in enumerate(kind.tolist())
    ]
    columns = {"id": [f"P{i}" for i in range(N)], "amount": amount, "kind": kind % 3}
    csv.write_csv(pa.table({**columns, "verdict": verdict}), "t.csv")
    return lambda *words: CliRunner().invoke(main, list(words))


def in_one_line(done):
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


def test_they_are_counted_in_words_in_json_and_on_the_page(devnet, tmp_path):
    said = "labelled as anomalies (verdict = fraud): 15; known normal (verdict = False alarm): 15"
    assert said in in_one_line(devnet(*FIT, *NORMAL, "--report", "r.html"))
    assert said in in_one_line(devnet("inspect", "m.devnet"))
    facts = json.loads(devnet("inspect", "m.devnet", "--json").stdout)
    assert (facts["normal"], facts["known_normal"]) == ("False alarm", 15)
    page = (tmp_path / "r.html").read_text()
    assert "known normal, verdict = False alarm" in page
    assert "known normal" not in in_one_line(devnet(*FIT, "--anomaly", "fraud"))


def test_alerts_leave_known_rows_out(devnet):
    devnet(*FIT, *NORMAL)
    said = in_one_line(devnet("alerts", "m.devnet", "t.csv", "--budget", "5"))
    assert "30 rows already labelled in t.csv are left out; see --known" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--normal", "fine"), "no row has the value 'fine' in the label column 'verdict', which "),
        (("--normal", "fine"), "name one of them with --normal."),
        (("--normal", "fraud", "--anomaly", "fraud"), "would mark both anomalies and known normal"),
        (("--normal", "fraud", "--anomaly", "fraud"), "name another value with --normal."),
    ],
)
def test_a_label_that_cannot_be_meant_ends_in_a_sentence(devnet, words, said):
    done = devnet(*FIT, *words)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_methods_are_compared_with_what_they_can_learn(devnet):
    words = ("compare", "t.csv", "--label", "verdict", "--repeats", "1")
    methods = ("--method", "PU trees", "--method", "sklearn.naive_bayes:GaussianNB")
    said = in_one_line(devnet(*words, *methods, *NORMAL))
    assert "15 labelled anomalies, 885 unlabelled rows" in said
    assert "GaussianNB" in said
    told, plain = (
        json.loads(devnet(*words, *methods, *more, "--json").stdout)
        for more in (NORMAL, ("--anomaly", "fraud"))
    )
    figures = [
        {one["method"]: one["auc_pr"] for one in found["methods"]} for found in (told, plain)
    ]
    assert figures[0]["PU trees"] != figures[1]["PU trees"]
