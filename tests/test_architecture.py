"""The architecture that ARCHITECTURE.md promises."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import devnet

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "devnet"
TREE = re.search(r"```\nsrc/devnet/\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(), re.S)
ORDER = re.findall(r"^  (\S+\.py) ", TREE.group(1), re.M)
FILES = sorted(str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*.py"))


def module_name(file):
    parts = Path(file).with_suffix("").parts
    return ".".join(("devnet", *(part for part in parts if part != "__init__")))


def imported_modules(file):
    known = {module_name(f) for f in FILES}
    for node in ast.walk(ast.parse((SOURCE / file).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("devnet"):
            for name in node.names:
                submodule = f"{node.module}.{name.name}"
                yield submodule if submodule in known else node.module


def test_the_tree_lists_every_file():
    names = ("cli", "ensemble", "experiments", "report")
    packages = {f"{name}/__init__.py" for name in names}  # empty
    assert sorted(ORDER) == sorted(set(FILES) - packages)


@pytest.mark.parametrize("file", ORDER)
def test_a_file_imports_only_files_above_it(file):
    above = {module_name(f) for f in ORDER[: ORDER.index(file)]}
    assert set(imported_modules(file)) <= above


@pytest.mark.parametrize("file", FILES)
def test_files_are_short_and_do_not_print(file):
    text = (SOURCE / file).read_text()
    assert len(text.splitlines()) <= 300
    assert file.startswith("cli/") or "print(" not in text


@pytest.mark.parametrize(
    "word", ["import pickle", "allow_pickle=True", " eval(", " exec(", "torch.load", "random.seed"]
)
def test_dangerous_words_do_not_occur(word):
    code = {file: ast.unparse(ast.parse((SOURCE / file).read_text())) for file in FILES}
    assert not [file for file, text in code.items() if f"{word}" in _without_docstrings(text)]


def _without_docstrings(text):
    return re.sub(r'""".*?"""|\'[^\']*\'|"[^"]*"', "", text, flags=re.S)


def test_public_names_are_what_is_visible():
    modules = {module_name(file).removeprefix("devnet.").split(".")[0] for file in FILES}
    helpers = {"TYPE_CHECKING", "Any", "import_module"}
    visible = {name for name in vars(devnet) if not name.startswith("_")} - modules - helpers
    assert visible <= set(devnet.__all__)
    assert {*devnet._HOMES, "__version__"} == set(devnet.__all__) == set(dir(devnet))
    for name, home in devnet._HOMES.items():
        assert getattr(devnet, name).__module__ == home
    assert devnet.significance.Budget(3).n == 3  # submodules need no import of their own
    assert callable(devnet.explanation.contributions)
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
model = devnet.DevNet(device="cpu", n_epochs=1).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["set()", "False"], done.stderr
