"""What a user may type by mistake, and the sentence that answers it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from support.payment_tables import fitted, make_table

from devnet.cli.main import main

N = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    generator = np.random.default_rng(0)
    label = [1 if i % 20 == 3 else 0 for i in range(N)]
    frame = pd.DataFrame(
        {
            "amount": generator.lognormal(size=N) + np.array(label),
            "shop": generator.choice(["baker", "grocer", "casino"], N),
            "fraud": label,
        }
    )
    frame.to_csv(folder / "t.csv", index=False)
    frame.assign(fraud=1 - 2 * frame["fraud"]).to_csv(folder / "signs.csv", index=False)
    frame.assign(fraud=1 - frame["fraud"]).to_csv(folder / "zeros.csv", index=False)
    words = frame["fraud"].map({0: "ok", 1: "fraud"}).to_numpy(dtype=object)
    words[3], words[23] = "Fraud", "fraud "
    frame.assign(fraud=words).to_csv(folder / "words.csv", index=False)
    (folder / "models").mkdir()
    return folder


@pytest.fixture
def devnet(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda words: CliRunner().invoke(main, words.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "fit t.csv --label fraud -o m.devnet --seed -1",
            "--seed -1 is not possible: give a whole",
        ),
        ("compare t.csv --label fraud --seed -1", "--seed -1 is not possible: give a whole"),
        (
            "fit t.csv --label fraud --label shop -o m.devnet",
            "--label is given 2 times, as 'fraud'",
        ),
        (
            "fit t.csv --label fraud --categorical shop --ignore shop -o m.devnet",
            "'shop' cannot be a category and be left out or name rows; drop --categorical shop, "
            "or drop --ignore shop or --id shop.",
        ),
        ("score models t.csv -o x.csv", "models is a folder, not a model"),
        ("inspect models", "models is a folder, not a model"),
        ("score t.csv t.csv -o x.csv", "the model comes first, then the table"),
        ("fit signs.csv --label fraud -o m.devnet", "'1' or '-1': --anomaly -1"),
        (
            "fit zeros.csv --label fraud -o m.devnet",
            "'1' would mark them, but most rows have it, 380 of 400. Say which value marks "
            "anomalies, '1' or '0': --anomaly 0",
        ),
        ("fit t.csv --label amount -o m.devnet", "looks like a measurement or a name of rows, not"),
        ("fit t.csv --label fraud --anomaly yes -o m.devnet", "no row has the value 'yes'"),
        ("fit words.csv --label fraud --anomaly 1 -o m.devnet", "no row has the value '1'"),
        ("compare words.csv --label fraud --anomaly 1", "no row has the value '1'"),
    ],
)
def test_words_that_are_wrong_get_a_sentence(devnet, folder, words, sentence):
    done = devnet(words)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert not (folder / "m.devnet").exists()


def test_anomaly_minus_one_and_fraud_in_several_spellings(devnet):
    done = devnet("fit signs.csv --label fraud --anomaly -1 -o s.devnet")
    assert done.exit_code == 0, done.output
    assert "(fraud = -1): 20" in done.stdout
    done = devnet("fit zeros.csv --label fraud --anomaly 0 -o z.devnet")
    assert "(fraud = 0): 20" in done.stdout
    done = devnet("fit words.csv --label fraud -o w.devnet")
    assert done.exit_code == 0, done.output
    assert "(fraud = fraud): 20" in done.stdout
    assert "Note: 'fraud', 'Fraud', 'fraud ' in the column 'fraud' are one label." in done.stderr


def test_a_scored_file_fitted_again_says_that_its_scores_are_left_out(devnet):
    devnet("fit t.csv --label fraud --method DevNet -o t.devnet")
    devnet("score t.devnet t.csv -o scored.csv")
    done = devnet("fit scored.csv --label fraud --method DevNet -o again.devnet")
    assert done.exit_code == 0, done.output
    for name in ("anomaly_score", "p_value", "is_alert"):
        assert name in done.stdout
    assert "the table was scored before" in done.stdout


LONG = "x" * 252 + ".csv"


@pytest.mark.parametrize(
    "words",
    [
        ["score", "m.devnet", "t.csv", "-o", LONG],
        ["fit", "t.csv", "--label", "fraud", "-o", LONG],
        ["alerts", "m.devnet", "t.csv", "--output", LONG],
        ["drift", "m.devnet", "t.csv", "--report", LONG],
        ["score", LONG, "t.csv", "-o", "s.csv"],
        ["inspect", LONG],
        ["labels", "export", LONG, "-o", "l.csv"],
        ["review", "t.csv", "--store", LONG],
    ],
)
def test_names_that_are_too_long_get_a_sentence(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_table()[0].to_pandas().to_csv("t.csv", index=False)
    fitted().save("m.devnet")
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "File name too long; give a shorter name" in done.stderr
    assert "Errno" not in done.stderr


@pytest.mark.parametrize(
    ("place", "said"), [("t.csv", "a file has that name"), ("/proc/x", "make its folder first")]
)
def test_a_demo_that_has_no_place_gets_a_sentence(place, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("")
    done = CliRunner().invoke(main, ["demo", "--folder", place, "--rows", "10000"])
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Errno" not in done.stderr


def test_an_interrupted_command_says_so_and_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    make_table()[0].to_pandas().to_csv("t.csv", index=False)
    monkeypatch.setattr("devnet.tables.TableModel.fit", interrupted)
    done = CliRunner().invoke(main, ["fit", "t.csv", "--label", "fraud", "-o", "m.devnet"])
    assert (done.exit_code, done.stderr) == (130, "Error: interrupted.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
