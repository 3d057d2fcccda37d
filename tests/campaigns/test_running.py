"""A campaign tells right from wrong, survives its cases, and resumes."""

import json

import pytest

pytest.importorskip("resource")

from support.odd_campaign import campaign  # noqa: E402

from campaigns import running  # noqa: E402
from campaigns.campaign import REFUSED, RIGHT, WRONG, Outcome  # noqa: E402
from campaigns.running import Log, Tally, Worker, failure_text, run, summary  # noqa: E402


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        worker.judge(campaign("right"), 0)  # imports what it needs, so that times are of the cases
        yield worker


@pytest.mark.parametrize(
    ("end", "verdict", "said"),
    [
        ("right", RIGHT, ""),
        ("sentence", REFUSED, "unknown data set 'fruad'; known are fraud. Did you mean 'fraud'?"),
        ("error", WRONG, "TypeError: bad operand type for abs(): 'str' (devnet/core/wording.py:"),
        ("finding", WRONG, "2 is not 3"),
        ("slow", WRONG, "it took 1 s, more than 1 s"),
        ("large", WRONG, " MB, more than 100 MB"),
        ("crash", WRONG, "the process died: SIGSEGV"),
    ],
)
def test_every_end_is_told(worker, end, verdict, said):
    outcome = worker.judge(campaign(end), 7)
    assert (outcome.seed, outcome.verdict) == (7, verdict)
    assert said in outcome.said


def test_a_case_that_never_ends_is_ended(worker):
    assert "did not end within 3 s" in worker.judge(campaign("stall", seconds=0.3), 0).said
    assert worker.judge(campaign("right"), 0).verdict == RIGHT


def test_what_is_done_is_not_done_again(worker, tmp_path, monkeypatch):
    path, seen = tmp_path / "outcomes" / "odd.jsonl", []
    for n_seeds, n_new in ((2, 2), (3, 1)):
        seen.clear()
        found = list(run(campaign("right"), range(n_seeds), worker, Log(path), seen.append))
        assert [one.seed for one in found] == [*range(n_seeds)]
        assert len(seen) == n_new
    with path.open("a") as file:
        file.write('{"seed": 3, "verd')  # killed while writing
    assert [*Log(path).read()] == [0, 1, 2]
    list(run(campaign("right"), range(5), worker, Log(path)))
    assert [*Log(path).read()] == [0, 1, 2, 3, 4]
    monkeypatch.setattr(running, "source_key", lambda: "other code")
    assert Log(path).read() == {}
    assert len([json.loads(line) for line in path.read_text().splitlines() if "code" in line]) == 5


def test_a_failure_has_the_command_that_repeats_it():
    text = failure_text("kills", Outcome(12, WRONG, "devnet fit", "m.devnet is not whole"))
    assert text.startswith("kills, seed 12: m.devnet is not whole\n  tried: devnet fit\n")
    assert text.endswith("PYTHONPATH=tests python -m campaigns kills --seed 12")


def test_the_summary_counts_what_came_of_cases():
    outcomes = [Outcome(i, RIGHT, "", "", 2.0, 5.0) for i in range(1200)]
    outcomes.append(Outcome(1200, WRONG, "", "", 9.0, 1.0))
    shown = summary([Tally.of("kills", outcomes)])
    assert shown.splitlines()[-1] == "| kills | 1,201 | 1,200 | 0 | 1 | 2,409 | 9.0 | 5 |"
