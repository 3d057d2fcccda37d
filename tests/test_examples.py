"""The scripts of examples/ and those that pages show run, and draw what the gallery shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SLOW = {"matrix", "payments"}  # more than ten seconds
SCRIPTS = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if path.stem != "picture")
GALLERY = (ROOT / "docs" / "tutorials" / "gallery.md").read_text()


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in SCRIPTS]
)
def test_an_example_draws_the_picture_of_the_gallery(name, tmp_path):
    if name == "own_network":
        pytest.importorskip("torch")
    script = ROOT / "examples" / f"{name}.py"
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True, stdout=subprocess.PIPE)
    (drawn,) = tmp_path.iterdir()
    shown = ROOT / "docs" / "pictures" / "examples" / drawn.name
    assert drawn.read_text() == shown.read_text()


def test_the_gallery_shows_every_example_and_examples_are_short():
    assert len(SCRIPTS) == 4
    for name in SCRIPTS:
        assert f"](../../examples/{name}.py)" in GALLERY
        assert f"](../pictures/examples/{name}.svg)" in GALLERY
        text = (ROOT / "examples" / f"{name}.py").read_text()
        assert text.startswith('"""')
        assert 30 <= len(text.splitlines()) <= 60


SCHEDULE = (ROOT / "docs" / "how_to" / "schedule.md").read_text()


@pytest.mark.parametrize(
    ("drift", "weekday", "verbs", "code"),
    [
        (0, 3, ["drift", "score"], 0),
        (0, 1, ["drift", "fit", "score"], 0),
        (3, 3, ["drift", "fit", "score"], 0),
        (2, 1, ["drift"], 2),
        (1, 3, ["drift"], 1),
    ],
)
def test_the_daily_script_does_what_exit_codes_ask_for(drift, weekday, verbs, code, tmp_path):
    (script,) = re.findall(r"```sh\n(.*?)```", SCHEDULE, re.S)
    (tmp_path / "daily.sh").write_text(script.replace("/srv/fraud", str(tmp_path)))
    commands = {
        "devnet": f'echo "$1" >> verbs; [ "$1" = drift ] && exit {drift}; exit 0',
        "date": f'[ "$1" = +%u ] && echo {weekday} || echo 2026-11-16',
    }
    for name, does in commands.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["sh", tmp_path / "daily.sh"], env={**os.environ, **path}, check=False)
    assert done.returncode == code
    assert (tmp_path / "verbs").read_text().split() == verbs


def test_the_dag_is_short_and_is_python():
    (program,) = re.findall(r"```py\n(.*?)```", SCHEDULE, re.S)
    assert len(program.splitlines()) <= 25
    compile(program, "dag", "exec")
