"""The scripts of examples/ run, and draw what the gallery shows."""

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
