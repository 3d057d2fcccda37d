"""The terminal: whatever the command prints goes through here.

Names, values and paths come from outside. They are printed with control and direction characters
written out, so that none of them moves the cursor, retitles the window or forges a line.
"""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

import click

from devnet.cli.spelling import worded
from devnet.core.sentence import Sentence
from devnet.core.wording import visible


def echo(*lines: str, err: bool = False) -> None:
    """Print lines; a line break within one is part of a name or a value, and is written out."""
    click.echo("\n".join(map(visible, lines)), err=err)


def echo_laid_out(text: str) -> None:
    """Print a text of many lines, perhaps in colour; what it shows must be `visible` already."""
    click.echo(text)


def echo_notes(notes: Iterable[str | Sentence]) -> None:
    """Print notes on standard error, a line each."""
    for note in notes:
        echo(f"Note: {worded(note)}", err=True)


def echo_json(value: Any) -> None:
    """Print JSON; sentences and dates become text, and numbers that JSON lacks become null."""
    click.echo(json.dumps(_as_json(value), indent=2, allow_nan=False))


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    if isinstance(value, Sentence):
        return worded(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value)  # such as a date
