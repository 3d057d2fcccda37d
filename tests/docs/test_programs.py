"""What the documents show is what is printed."""

import re
import subprocess
import sys

import pytest
from support.documents import DOCUMENTS, README, TEXTS, commands, examples

from devnet.cli.main import main

BLOCKS = {name: examples.blocks(TEXTS[name]) for name in DOCUMENTS}
STORIES = [name for name in DOCUMENTS if BLOCKS[name] and examples.is_story(name, TEXTS[name])]


def steps_of(name):
    return [step for block in BLOCKS[name] for step in block.steps]


def marks(*blocks):
    return [pytest.mark.slow] if any(block.is_slow for block in blocks) else []


PROGRAMS = [
    pytest.param(block.steps[0], id=f"{name}-{i}", marks=marks(block))
    for name in DOCUMENTS
    if name not in STORIES
    for i, block in enumerate(block for block in BLOCKS[name] if block.steps[0].is_python)
]


def skip_without_torch(*steps):
    if any(re.search(r"import torch|ImageDevNet|SequenceDevNet", step.code) for step in steps):
        pytest.importorskip("torch")


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_print_what_the_documents_say(program, tmp_path):
    skip_without_torch(program)
    assert examples.run(program, tmp_path, {}) == program.said


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(*BLOCKS[name])) for name in STORIES]
)
def test_stories_print_what_the_documents_say(name, tmp_path):
    """One step after the other: what is typed in a terminal as well as Python."""
    names, steps = {}, steps_of(name)
    skip_without_torch(*steps)
    for step in steps:
        printed = examples.run(step, tmp_path, names)
        assert examples.is_as_said(step.said, printed), f"{step.code}\n{printed}"


def test_programs_are_found():
    programs = [step for name in BLOCKS for step in steps_of(name)]
    assert sum(bool(step.said) for step in programs) >= 4
    n_python = sum(step.is_python for step in programs)
    assert n_python == sum(text.count("```python\n") for text in TEXTS.values())


def test_every_session_and_all_output_in_the_documents_is_compared():
    """A prompt says that a command is run: what is not stands without one, and without output."""
    compared_below = {"README.md": 1, "docs/explanation/reasons.md": 1}
    for name, text in TEXTS.items():
        sessions = [block for block in BLOCKS[name] if not block.steps[0].is_python]
        assert name in STORIES or len(sessions) == compared_below.get(name, 0), name
        prompts = sum(len(block.steps) for block in sessions)
        assert len(re.findall(r"^\$ ", text, re.M)) == prompts, name
        if name != "docs/reference/command_line.md":  # it is compared as a whole
            printed = sum(step.is_python and bool(step.said) for step in steps_of(name))
            assert len(re.findall(r"^```text$", text, re.M)) == printed, name


def test_commands_shown_without_output_have_options_that_exist():
    verbs = dict(commands(main))
    for text in TEXTS.values():
        for block in re.findall(r"^```\n(.*?)^```$", text, re.S | re.M):
            for line in re.findall(r"^devnet (.*)$", block, re.M):
                words = re.split("[#|]", line)[0].split()
                verb = next(path for path in verbs if path == tuple(words[: len(path)]))
                known = {option for one in verbs[verb].params for option in one.opts}
                assert {word for word in words if word.startswith("-")} <= known, line


def test_a_score_adds_up_as_in_the_tutorial():
    (block,) = examples.blocks(TEXTS["docs/explanation/reasons.md"])
    (step,) = block.steps
    (told,) = [one for one in steps_of("docs/tutorials/payments.md") if one.code == step.code]
    assert examples.is_as_said(step.said, told.said)


def test_what_is_printed_may_be_cut_short_and_nothing_else_may_differ():
    assert examples.is_as_said("one\ntwo\n\n", "one\ntwo\n")
    assert examples.is_as_said("one\n...\nfour", "one\ntwo\nthree\nfour\n")
    assert examples.is_as_said("one\n...\n", "one\n")
    assert examples.is_as_said(
        "DevNet  0.5           9.9\nIt took 1 s.", "DevNet  0.5          12.1\nIt took 2.1 s."
    )
    assert not examples.is_as_said("one\n...\nfour", "one\ntwo\nfour and more\n")
    assert not examples.is_as_said("one...\n", "one or two\n")
    assert not examples.is_as_said("", "one\n")
    assert not examples.is_as_said("a.c\n", "abc\n")


def test_commands_and_what_they_print_are_told_apart():
    page = "<!-- slow -->\n```\n$ echo a \\\n    b\na b\n\n$ true\n```\n"
    (block,) = examples.blocks(page)
    assert block.is_slow
    assert [step.code for step in block.steps] == ["echo a \\\n    b\n", "true\n"]
    assert [step.said.strip() for step in block.steps] == ["a b", ""]
    (found,) = examples.blocks(f"```sh\n$ no session\n```\n\n{page}")
    assert found.steps == block.steps


def test_the_readme_s_first_screen_is_the_demo(tmp_path):
    """The journey as a user goes it: what the README shows is what the demo prints."""
    (screen,) = re.findall(r"```\n(\$ devnet fit .*?)```", README, re.S)
    done = subprocess.run(
        [sys.executable, "-m", "devnet.cli", "demo", "--folder", "x"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    shown = done.stdout.replace("x/", "")
    for part in screen.split("\n\n"):
        assert part.strip() in shown
    assert "Now open report.html" in shown
    names = {path.name for path in (tmp_path / "x").iterdir()}
    assert names == {"payments.parquet", "fraud.devnet", "scored.parquet", "report.html"}
    (n_fraud,) = re.findall(r"(\d+) are fraud \(", shown)
    assert f"Of the 100 highest other payments {n_fraud} are fraud." in README
    assert int(n_fraud) >= 90
