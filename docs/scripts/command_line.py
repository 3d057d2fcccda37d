"""Write docs/reference/command_line.md: what `devnet VERB --help` prints, for every verb."""

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from devnet.cli.main import main

PAGE = Path(__file__).parents[1] / "reference" / "command_line.md"
OPENING = """# Command line

What `devnet VERB --help` prints, for every verb; `docs/scripts/command_line.py` writes this page.
"""


def verbs(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The group itself, then its commands in their order."""
    yield path
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from verbs(command, (*path, name))
        else:
            yield (*path, name)


def page() -> str:
    """The whole page."""
    parts = [OPENING]
    for path in verbs(main):
        called = CliRunner().invoke(
            main, [*path, "--help"], prog_name="devnet", terminal_width=88, catch_exceptions=False
        )
        parts.append(
            f"## {' '.join(('devnet', *path))}\n\n```text\n{called.output.rstrip()}\n```\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
