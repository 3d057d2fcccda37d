"""Refusing outputs that would replace what they are made from, or become part of the table."""

import glob
import os
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from devnet.core.wording import path_text
from devnet.tables.sources.opening import PARQUET_SUFFIXES, paths_of
from devnet.tables.sources.source import Source
from devnet.tables.table_error import TableError


def refuse_overwriting(
    table: Any, *targets: str | Path | None, model: str | Path | None = None
) -> None:
    """Refuse outputs that are table or model, would be read with the table, or are the same file.

    Parameters
    ----------
    table : Source, path, glob or object in memory
    *targets : str, path or None
        Files to write; None stands for no file.
    model : str or path, optional
        The file of the model that scores the table.
    """
    paths = [Path(target) for target in targets if target is not None]
    for i, target in enumerate(paths):
        if any(_is_same(target, other) for other in paths[:i]):
            raise TableError(
                f"two outputs are the same file {path_text(target)}; give each its own name."
            )
    for target in paths:
        if model is not None and _is_same(target, Path(model)):
            raise TableError(f"the output {target} is the model itself; give another name.")
        _refuse(target, table)


def refuse_replacing(target: str | os.PathLike[str], learned_from: Collection[Path]) -> None:
    """Refuse to write to one of the files that are learned from."""
    if any(_is_same(Path(target), path) for path in learned_from):
        raise TableError(
            f"the output {path_text(target)} is a file that is learned from; give another name."
        )


def _refuse(target: Path, table: Any) -> None:
    name, inputs = _inputs(table)
    shown, output = path_text(name), path_text(target)
    same = [path for path in inputs if _is_same(target, path)]
    if same:
        what = "the table itself" if len(inputs) == 1 else f"a file of the table {shown}"
        raise TableError(f"the output {output} is {what}; give another name.")
    if inputs and _would_be_read(target, name):
        raise TableError(
            f"the output {output} would be part of the table {shown} when that is read again; "
            "give it another name or folder."
        )


def _inputs(table: Any) -> tuple[str, tuple[Path, ...]]:
    """The name of a table, and its files."""
    if isinstance(table, Source):
        return table.name, table.paths
    if isinstance(table, str | os.PathLike) and os.fspath(table):
        return str(os.fspath(table)), tuple(paths_of(str(os.fspath(table))))
    return "", ()


def _is_same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _would_be_read(target: Path, name: str) -> bool:
    """Whether a new file lies in a folder, or matches a pattern, that is read as a table."""
    path = PurePath(os.path.realpath(target))
    if Path(name).is_dir():
        is_table = path.suffix.lower() in PARQUET_SUFFIXES and path.name[0] not in "._"
        return is_table and str(path.parent) == os.path.realpath(name)
    if Path(name).exists() or not glob.has_magic(name):
        return False
    spellings = {str(path), os.path.abspath(target)}  # noqa: PTH100
    return any(_matches(spelling, os.path.abspath(name)) for spelling in spellings)  # noqa: PTH100


def _matches(path: str, pattern: str) -> bool:
    if "**" in pattern:
        return fnmatchcase(path, pattern.replace("**/", "*"))
    return PurePath(path).match(pattern)
