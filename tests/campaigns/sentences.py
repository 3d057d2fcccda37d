"""Telling a sentence of ours from an error that merely happened."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from traceback import walk_tb

import click
import sklearn

import devnet

KINDS = (ValueError, TypeError, OSError, ImportError, click.ClickException)
HOMES = tuple(str(Path(module.__file__).parent) for module in (devnet, sklearn))
LONGEST = 5000  # characters that anybody reads


def is_sentence(error: BaseException) -> bool:
    """Whether a `raise` of ours, or of scikit-learn's contract, says what is wrong in words.

    A ValueError or TypeError of NumPy or Arrow, or of a line of ours that does not raise, is a bug
    that only looks like one.
    """
    if not isinstance(error, KINDS) or not 0 < len(str(error).strip()) <= LONGEST:
        return False
    *_, (frame, line) = walk_tb(error.__traceback__)
    path = frame.f_code.co_filename
    return path.startswith(HOMES) and any(a <= line <= b for a, b in _raises(path))


@cache
def _raises(path: str) -> list[tuple[int, int]]:
    """First and last line of each `raise` in a file; none in compiled code."""
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return [(node.lineno, node.end_lineno or node.lineno) for node in found]


def diagnosis(error: BaseException) -> str:
    """What happened, and in which line of devnet, in one line."""
    frames = [(f.f_code.co_filename, line) for f, line in walk_tb(error.__traceback__)]
    ours = [(path, line) for path, line in frames if path.startswith(HOMES[0])]
    path, line = (ours or frames)[-1]
    place = f"{Path(path).relative_to(Path(HOMES[0]).parent) if ours else Path(path).name}:{line}"
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words[:300]} ({place})"


@contextmanager
def accepted(what: str) -> Iterator[None]:
    """Here even a sentence is wrong: what was asked for must work."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{what} fails: {diagnosis(error)}") from error


@contextmanager
def accepted_or_refused() -> Iterator[None]:
    """Here a sentence is as good as an answer, and the case goes on."""
    try:
        yield
    except Exception as error:
        if not is_sentence(error):
            raise
