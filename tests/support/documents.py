"""The project's documents, as text and as what can be run of them."""

import importlib
import sys
from pathlib import Path

import click

ROOT = Path(__file__).parents[2]


def script(name):
    """A script that makes or checks pages."""
    sys.path.insert(0, str(ROOT / "docs" / "scripts"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


examples = script("examples")
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
GUIDES = ["README.md", *PAGES]
DOCUMENTS = [*GUIDES, "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
TEXTS = {name: (ROOT / name).read_text() for name in DOCUMENTS}
README = TEXTS["README.md"]


def commands(group, path=()):
    """All verbs of the command line, by their words."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command
