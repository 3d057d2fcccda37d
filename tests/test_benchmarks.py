"""Every section of every benchmark runs; what it measures is not looked at here."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from devnet import datasets

FOLDER = Path(__file__).parents[1] / "benchmarks"
SECTIONS = {
    "run": [
        *("fit_against_plain_port", "fit_against_number_of_rows", "scoring_against_bare_product"),
        *("sparse_fit", "competitors", "ensemble", "import_time"),
    ],
    "tables": [
        *("scoring", "encoding", "commands", "explanations", "memory_of_scoring", "memory_of_fit"),
        "memory_by_columns",
    ],
    "lazy_updates": ["news20", "URL"],
    "advice": ["rules"],
    "review": ["verdicts", "start"],
    "graphs": ["matrices", "files"],
    "images": ["training", "scoring", "memory_of_files"],
    "drift": ["halves", "anomalies", "payments"],
    "cluster": ["scoring", "kills"],
    "service": ["single_rows", "long_batches", "memory"],
    "sequences": ["training", "series"],
}


@pytest.fixture
def load(monkeypatch):
    """Import a benchmark, which finds the files next to it."""
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


@pytest.mark.parametrize(("file", "name"), [(f, n) for f, names in SECTIONS.items() for n in names])
def test_a_section_runs(load, file, name, capsys):
    if name == "fit_against_plain_port":
        pytest.importorskip("torch", reason="the plain port is written in PyTorch")
    if file == "sequences":
        pytest.importorskip("torch", reason="networks of sequences are torch's")
    if file == "images":
        pytest.importorskip("torch", reason="image networks are torch's")
        pytest.importorskip("PIL", reason="image files are read with Pillow")
    if file == "cluster":
        pytest.importorskip("distributed", reason="clusters are Dask's")
    if file == "lazy_updates" and datasets.find(name) is None:
        pytest.skip(f"no copy of {name}; set DEVNET_DATA")
    if file == "drift" and name != "payments" and datasets.find("thyroid") is None:
        pytest.skip("no copy of thyroid; set DEVNET_DATA")
    by_name = {section.__name__: section for section in load(file).SECTIONS}
    by_name[name](load("sections").Effort(is_quick=True))
    assert capsys.readouterr().out


def test_every_section_of_every_benchmark_is_tested(load):
    helpers = {"sections", "plain_port"}
    assert {path.stem for path in FOLDER.glob("*.py")} == {*SECTIONS} | helpers
    for file, names in SECTIONS.items():
        assert [section.__name__ for section in load(file).SECTIONS] == names


def test_a_section_is_run_by_its_name():
    words = [sys.executable, FOLDER / "run.py", "scoring_against_bare_product", "--quick"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stdout.startswith("\nScoring 5,000 x 50"), done.stderr
