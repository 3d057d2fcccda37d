"""A short text that changes with the code that results depend on.

That is every module that a run imports, directly or through others: no table, figure, page or
verb. Comments, docstrings and layout do not count. Which runs there are is said by the plans,
and a line of results says all that its run depends on.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from devnet.experiments.runner import versions

ROOT = "devnet"
STARTS = (  # all but the first are named by plans
    "devnet.experiments.runner",
    "devnet.experiments.raw_methods",
    "devnet.experiments.feedback_methods",
    "devnet.experiments.image_methods",
    "devnet.experiments.sequence_methods",
    "devnet.deep.images.image_devnet",
    "devnet.competitors",
)
LENGTH = 12  # hexadecimal digits


@cache
def source_key() -> str:
    """The same for the same code and the same versions of Python and numerical libraries."""
    digest = hashlib.sha256()
    for name, path in sorted(result_modules().items()):
        digest.update(f"{name}\n{_meaning(path)}\n".encode())
    for library, version in sorted(versions().items()):
        if library != "machine":
            digest.update(f"{library} {version}\n".encode())
    return digest.hexdigest()[:LENGTH]


def result_modules() -> dict[str, Path]:
    """Our modules that a run may use, by name."""
    found: dict[str, Path] = {}
    waiting = list(STARTS)
    while waiting:
        name = waiting.pop()
        path = None if name in found else _source(name)
        if path is not None:
            found[name] = path
            waiting.extend(_imported(ast.parse(path.read_text(encoding="utf-8"))))
    return found


def _source(name: str) -> Path | None:
    """The file of a module; None for a name that is not one, such as that of a class."""
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:  # the part before the last dot is no package
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _imported(tree: ast.Module) -> Iterator[str]:
    """Names that may be modules of ours, packages on the way included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == ROOT:
                yield from (".".join(parts[:end]) for end in range(2, len(parts) + 1))


def _meaning(path: Path) -> str:
    """The code without comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_text(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant and isinstance(node.value.value, str)  # type: ignore[attr-defined]
