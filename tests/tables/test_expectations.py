"""What cannot be known is withheld in terminal, JSON and report alike, with the reason."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from click.testing import CliRunner
from support.pages import check

from devnet.cli.main import main
from devnet.detectors.ensemble.deviation_ensemble import DeviationEnsemble

N = 900
WIDE = {"value": 0.3, "low": 0.15, "high": 0.73}
NARROW = {"value": 0.03, "low": 0.02, "high": 0.05}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    generator = np.random.default_rng(0)
    amount = generator.lognormal(3, 1, N)
    path = tmp_path_factory.mktemp("t") / "t.csv"
    label = [1 if value > np.quantile(amount, 0.97) else None for value in amount]
    columns = {"amount": amount, "hour": generator.integers(0, 24, N), "fraud": label}
    csv.write_csv(pa.table(columns), path)
    return path


def surfaces(table, folder, monkeypatch, share, quality):
    """What terminal, JSON and page say if the method expects this."""
    found = {"hidden_anomaly_share": share, "expected_quality": quality}
    monkeypatch.setattr(DeviationEnsemble, "expectations", lambda self: found)
    words = ["fit", table, "--label", "fraud", "-o", folder / "m", "--report", folder / "r.html"]
    terminal = CliRunner().invoke(main, [*map(str, words)])
    assert terminal.exit_code == 0, terminal.output
    fit, inspect = (
        json.loads(CliRunner().invoke(main, [*map(str, one), "--json"]).stdout)
        for one in (words, ["inspect", folder / "m"])
    )
    page = check((folder / "r.html").read_text())
    return " ".join(terminal.stdout.split()), [fit, inspect], page


def test_a_hidden_share_of_15_to_73_percent_is_said_nowhere(table, tmp_path, monkeypatch):
    quality = {"auc_pr": 0.6, "low": 0.5, "high": 0.7}
    terminal, both, page = surfaces(table, tmp_path, monkeypatch, WIDE, quality)
    assert (
        "Hidden cannot be estimated: labelled anomalies and other rows score too much alike"
        in terminal
    )
    assert "Expect cannot be estimated: it depends on the share of hidden anomalies" in terminal
    for facts in both:
        assert facts["hidden_anomaly_share"] is None
        assert facts["expected_quality"] is None
        assert "too much alike" in facts["withheld"]["hidden_anomaly_share"]
    assert "hidden anomalies cannot be estimated" in page
    assert "anomalies hide among the unlabelled rows cannot be estimated: labelled" in page
    for text in (terminal, page):
        assert "15% to 73%" not in text
        assert "0.60 (0.50" not in text


def test_a_share_of_21_percent_that_may_be_10_to_51_is_not_shown_where_it_is_4_5(
    table, tmp_path, monkeypatch
):
    quality = {"auc_pr": 0.6, "low": 0.5, "high": 0.7}
    share = {"value": 0.21, "low": 0.103, "high": 0.506}
    terminal, both, page = surfaces(table, tmp_path, monkeypatch, share, quality)
    for text in (terminal, page):
        assert "cannot be estimated" in text
        assert "21" not in text.partition("Hidden")[2].partition("Alerts")[0]
        assert "10% to 51%" not in text
    assert [facts["hidden_anomaly_share"] for facts in both] == [None, None]


def test_a_cost_that_rests_on_a_share_which_cannot_be_estimated_says_so(
    table, tmp_path, monkeypatch
):
    quality = {"auc_pr": 0.6, "low": 0.5, "high": 0.7}
    surfaces(table, tmp_path, monkeypatch, WIDE, quality)
    model = str(tmp_path / "m")
    done = CliRunner().invoke(main, ["policy", model, "--cost", "500", "5", "--json"])
    (note,) = json.loads(done.stdout)["notes"]
    assert note.startswith("the expected cost takes ")
    assert "cannot be estimated: labelled anomalies and other rows score too much alike" in note
    alerts = ["alerts", model, str(table)]
    assert "the expected cost takes" in CliRunner().invoke(main, alerts).stderr
    other = CliRunner().invoke(main, [*alerts, "--budget", "5"])
    assert "the expected cost takes" not in other.stderr
    found = {"hidden_anomaly_share": NARROW, "expected_quality": quality}
    monkeypatch.setattr(DeviationEnsemble, "expectations", lambda self: found)
    assert "the expected cost takes" not in CliRunner().invoke(main, alerts).stderr


def test_what_is_known_is_said_everywhere(table, tmp_path, monkeypatch):
    quality = {"auc_pr": 0.6, "low": 0.5, "high": 0.7}
    terminal, both, page = surfaces(table, tmp_path, monkeypatch, NARROW, quality)
    assert "about 3.0% of the unlabelled rows" in terminal
    assert "AUC-PR 0.60 (0.50 to 0.70)" in terminal
    for facts in both:
        assert facts["hidden_anomaly_share"] == NARROW
        assert facts["expected_quality"] == quality
        assert facts["withheld"] == {}
    assert "hidden anomalies 2% to 5%" in page


def test_the_score_of_a_typical_row_is_said_everywhere(table, tmp_path, monkeypatch):
    terminal, both, page = surfaces(table, tmp_path, monkeypatch, NARROW, WIDE | {"auc_pr": 0.2})
    assert f"a typical row scores {both[0]['typical_row_score']:.2f}" in terminal
    assert "a typical row scores" in page
    assert both[1]["expected_quality"] is None
    assert set(both[1]["withheld"]) == {"expected_quality"}


def test_with_one_label_nothing_is_expected_of_it(tmp_path):
    generator = np.random.default_rng(1)
    columns = {"a": generator.random(300), "b": generator.random(300)}
    csv.write_csv(pa.table(columns | {"bad": [1] + [None] * 299}), tmp_path / "t.csv")
    words = ["fit", tmp_path / "t.csv", "--label", "bad", "-o", tmp_path / "m"]
    done = CliRunner().invoke(main, [*map(str, words)])
    assert (
        "Hidden         cannot be estimated: it takes at least 5 labelled anomalies" in done.stdout
    )
