"""Commands that messages advise can be typed as they are, whatever a path holds."""

import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.experiments import FILE, make_sets

from devnet.cli.main import main

ODD = "a b; touch x $(y)'"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["fit", "t.parquet", "--label", "y", "-o", f"{ODD}/m"], ["mkdir", "-p", ODD]),
        (
            ["inspect", f"{ODD}.parquet"],
            ["devnet", "fit", f"{ODD}.parquet", "--label", "COLUMN", "--output", "MODEL"],
        ),
        (
            ["experiment", "table", ODD, "--folder", ODD, "--results", f"{ODD}/r"],
            ["devnet", "experiment", "run", ODD, "--folder", ODD, "--results", f"{ODD}/r"],
        ),
    ],
)
def test_paths_in_commands_are_quoted(words, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("t.parquet", f"{ODD}.parquet"):
        pq.write_table(pa.table({"a": [1.0, 2.0], "y": [0, 1]}), name)
    if words[0] == "experiment":
        (tmp_path / ODD / "r").mkdir(parents=True)
        (tmp_path / ODD / f"{ODD}.toml").write_text(FILE)
        make_sets(tmp_path)
        monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    typed = done.stderr[done.stderr.rindex(f": {command[0]} ") + 2 :]
    assert shlex.split(typed) == command
