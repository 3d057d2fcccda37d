"""Verbs that write a model or a page say what to do about a full disk."""

import pathlib

import pytest
from click.testing import CliRunner
from support.payment_tables import fitted, make_table

from devnet.cli.main import main

FIT = ["fit", "t.csv", "--label", "fraud", "--method", "PU trees"]


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ([*FIT, "-o", "new.devnet"], "new.devnet"),
        ([*FIT, "-o", "m.devnet"], "m.devnet"),
        (["policy", "m.devnet", "--budget", "3"], "m.devnet"),
    ],
)
def test_a_full_disk_gets_a_sentence_and_leaves_the_model(words, target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_table()[0].to_pandas().to_csv("t.csv", index=False)
    fitted().save("m.devnet")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert done.stderr.endswith(
        f"Error: {target} cannot be written: No space left on device; free some space or write to "
        "another disk, then try again. Nothing was left there.\n"
    )
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
