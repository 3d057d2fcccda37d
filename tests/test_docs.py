"""What the documents show is true."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def test_the_readme_s_program_prints_what_the_readme_says():
    text = (ROOT / "README.md").read_text()
    ((program, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.S)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(program, {})
    assert shown.getvalue() == expected


def test_every_make_target_in_the_documents_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for document in DOCUMENTS:
        named = re.findall(r"(?:`|^)make\s([a-z]+)", (ROOT / document).read_text(), re.M)
        assert set(named) <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_named_in_the_documents_exists(document):
    text = (ROOT / document).read_text()
    for name in re.findall(r"`((?:[a-z_]+/)*[A-Za-z_]+\.(?:py|md|txt|toml))`", text):
        places = [ROOT / name, ROOT / "src" / "devnet" / name, ROOT / "tests" / name]
        assert any(place.exists() for place in places), name


def test_the_demo_finds_the_anomalies():
    done = subprocess.run(
        [sys.executable, "-m", "devnet.cli", "demo"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    auc_pr = float(re.search(r"AUC-PR +([\d.]+)", done.stdout).group(1))
    assert auc_pr > 0.9
    assert "8 of them are among the 8 anomalies" in done.stdout
