"""The architecture that ARCHITECTURE.md promises."""

import ast
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import devnet
from devnet.deep.methods import DEEP_METHODS, find_deep
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.methods import NAMED

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "devnet"
ROOMS = [  # lowest first: a room imports only rooms before it
    *("core", "engine", "significance", "explanation", "detectors", "tables", "deep"),
    *("datasets", "experiments", "report", "review", "serving", "cli"),
]
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(file):
    return file.relative_to(SOURCE).parts[0]


def imported_rooms(file):
    for node in ast.walk(ast.parse(file.read_text())):
        modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"devnet.{name.name}" for name in node.names]
            modules = names if node.module == "devnet" else [node.module]
        inside = {module for module in modules if module.startswith("devnet.")}
        yield from (module.split(".")[1] for module in inside - {"devnet.__version__"})


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_room_imports_only_rooms_before_it(file):
    if room_of(file) in ROOMS[:-1]:  # the door, and the command line, which may open it
        assert set(imported_rooms(file)) <= set(ROOMS[: ROOMS.index(room_of(file)) + 1])


def test_the_architecture_names_every_room_in_order():
    assert {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} == {*ROOMS}
    drawn = re.search(r"```\nsrc/devnet/\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(), re.S)
    assert re.findall(r"^  (\w+)/ ", drawn.group(1), re.M) == ROOMS


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_files_are_one_idea_and_do_not_print(file):
    assert len(file.read_text().splitlines()) <= 450
    assert room_of(file) == "cli" or "print(" not in file.read_text()


@pytest.mark.parametrize(
    "word", ["import pickle", "allow_pickle=True", " eval(", " exec(", "torch.load", "random.seed"]
)
def test_dangerous_words_do_not_occur(word):
    assert not [file for file in FILES if word in _code_without_texts(file)]


@cache
def _code_without_texts(file):
    text = ast.unparse(ast.parse(file.read_text()))
    return re.sub(r'""".*?"""|\'[^\']*\'|"[^"]*"', "", text, flags=re.S)


def test_public_names_are_what_is_visible():
    modules = {path.stem for path in SOURCE.iterdir()}
    helpers = {"TYPE_CHECKING", "Any", "import_module"}
    visible = {name for name in vars(devnet) if not name.startswith("_")} - modules - helpers
    assert visible <= set(devnet.__all__)
    assert {*devnet._HOMES, "__version__"} == set(devnet.__all__) == set(dir(devnet))
    for name, home in devnet._HOMES.items():
        assert getattr(devnet, name).__module__ == home
    assert devnet.significance.Budget(3).n == 3  # submodules need no import of their own
    assert callable(devnet.explanation.contributions)
    assert devnet.competitors.REPEN.__name__ == "REPEN"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        devnet.nonsense  # noqa: B018


def test_importing_devnet_is_light_and_leaves_random_state_alone():
    program = """
import random, sys
import devnet
heavy = {"numpy", "scipy", "sklearn", "torch", "pyarrow", "click", "rich"} & set(sys.modules)
print(heavy)
import numpy as np
import sklearn.base, sklearn.callback
before = np.random.get_state()[1].tolist(), random.getstate()
devnet.DevNet, devnet.DeviationEnsemble, devnet.load
assert (np.random.get_state()[1].tolist(), random.getstate()) == before
model = devnet.DevNet(n_epochs=1).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["set()", "False"], done.stderr


def test_only_the_terminal_prints():
    """So that names and values from outside are shown escaped, in one place."""
    printing = [file.name for file in FILES if re.search(r"\bclick\.s?echo\(", file.read_text())]
    assert printing == ["terminal.py"]


@pytest.mark.parametrize("name", [*NAMED, *DEEP_METHODS])
def test_a_detector_is_final_and_extends_abstract_ones(name):
    if name in DEEP_METHODS:
        pytest.importorskip("torch")
    method = find_deep(name) if name in DEEP_METHODS else NAMED[name]
    assert method.__subclasses__() == []
    above = [base for base in method.__mro__[1:] if issubclass(base, FewLabelDetector)]
    assert [base.__name__ for base in above if not inspect.isabstract(base)] == []
