"""The code in pages of documentation, and what it prints.

A page is a story if its blocks go on from each other: all of them run in one folder, in order, and
Python keeps its names. Pages of docs/tutorials are stories, and so are those that say
`<!-- in order -->`. In other pages every Python block stands for itself. A prompt, `$ `, says that
a command is run, so it belongs to stories; elsewhere commands are shown without one, and without
output. `<!-- slow -->` before a block says that it takes longer than some seconds.

`python docs/scripts/examples.py PAGE...` runs pages and writes what they now print into them.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(
    r"^```(?P<language>[^\n]*)\n(?P<code>.*?)^```$(?:\n\n^```text\n(?P<printed>.*?)^```$)?",
    re.S | re.M,
)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*\n)", re.M)
LEFT_OUT = re.compile(r"^\.\.\.\n", re.M)  # a line that stands for any lines
SECONDS = re.compile(r"\b[0-9.]+ s\b| {10,}[0-9]+\.[0-9]$", re.M)  # the latter of a comparison
SLOW = "<!-- slow -->\n"
IN_ORDER = "\n<!-- in order -->\n"


class Step(NamedTuple):
    """A program, or a command in a terminal, and what the page says that it prints."""

    code: str
    said: str
    is_python: bool


class Block(NamedTuple):
    """Steps that a page shows together."""

    steps: list[Step]
    is_slow: bool
    span: tuple[int, int]  # in the text of the page


def blocks(text: str) -> list[Block]:
    """What can be run of a page."""
    found = []
    for match in FENCE.finditer(text):
        code = match["code"]
        if match["language"] == "python":
            steps = [Step(code, match["printed"] or "", True)]
        elif not match["language"] and code.startswith("$ "):
            pieces = COMMAND.split(code)
            steps = [Step(*pair, False) for pair in zip(pieces[1::2], pieces[2::2], strict=True)]
        else:
            continue
        found.append(Block(steps, text[: match.start()].endswith(SLOW), match.span()))
    return found


def is_story(path: str, text: str) -> bool:
    """Whether the blocks of a page go on from each other."""
    return "tutorials/" in path or IN_ORDER in text


def run(step: Step, folder: Path, names: dict[str, Any]) -> str:
    """What a step prints."""
    if step.is_python:
        return run_python(step.code, folder, names)
    return run_command(step.code, folder)


def run_python(program: str, folder: Path, names: dict[str, Any]) -> str:
    """What a program prints."""
    shown = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(shown):
        exec(program, names)
    return shown.getvalue()


def run_command(command: str, folder: Path) -> str:
    """What a command prints; `devnet` is that of this Python."""
    called = f'devnet() {{ "{sys.executable}" -m devnet.cli "$@"; }}\n{command}'
    done = subprocess.run(
        ["bash", "-c", called],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.stdout


def is_as_said(said: str, printed: str) -> bool:
    """Whether this is what the page says, but for seconds and blank lines at its end."""
    said, printed = (f"{SECONDS.sub('0 s', text).rstrip()}\n" for text in (said, printed))
    pattern = "(?:.*\n)*?".join(map(re.escape, LEFT_OUT.split(said)))
    return re.fullmatch(pattern, printed) is not None


def rewritten(path: Path) -> str:
    """The text of a page with what its code prints now; what is cut short stays as it is."""
    text = path.read_text()
    together = is_story(path.as_posix(), text)
    names: dict[str, Any] = {}
    pieces, end = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for i, block in enumerate(blocks(text)):
            if not together and not block.steps[0].is_python:
                continue
            place = Path(folder, "story" if together else str(i))
            place.mkdir(exist_ok=True)
            shown = [_renewed(step, place, names if together else {}) for step in block.steps]
            pieces += [text[end : block.span[0]], _fenced(shown)]
            end = block.span[1]
    return "".join([*pieces, text[end:]])


def _renewed(step: Step, folder: Path, names: dict[str, Any]) -> Step:
    printed = run(step, folder, names)
    if LEFT_OUT.search(step.said) or is_as_said(step.said, printed):
        return step
    blank = re.search(r"\n*\Z", step.said)[0] if step.said.strip() else f"\n{step.said}"
    return step._replace(said=f"{printed.rstrip()}{blank}" if printed else "")


def _fenced(steps: list[Step]) -> str:
    """A block as a page shows it."""
    if not steps[0].is_python:
        return f"```\n{''.join(f'$ {step.code}{step.said}' for step in steps)}```"
    ((code, said, _),) = steps
    return f"```python\n{code}```" + (f"\n\n```text\n{said}```" if said else "")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(rewritten(page))
