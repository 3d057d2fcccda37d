"""Running a campaign: in a process that may die or stall, and on from where it was stopped."""

import hashlib
import json
import multiprocessing
import os
import resource
import shlex
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Self

import devnet
from campaigns.campaign import REFUSED, RIGHT, WRONG, Campaign, Outcome, judged, made

MOST_MEMORY = 8 << 30  # bytes of addresses: a runaway case must not take the machine with it
PREPARATION = 120.0  # seconds that making a case may take, such as fitting the model to damage
PATIENCE = 10  # times the computing that a case may take, by the clock
SOURCES = (Path(devnet.__file__).parent, Path(__file__).parent)


class Worker:
    """A process that judges one case after another, and is replaced if a case kills it."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def judge(self, campaign: Campaign, seed: int) -> Outcome:
        """How the case of a seed ended."""
        if self._process is None:
            self._start()
        self._connection.send((campaign, seed))
        what = "a case that is not made yet"
        try:
            what = self._receive(PREPARATION)
            outcome: Outcome = self._receive(PATIENCE * campaign.seconds)
            return outcome
        except TimeoutError as error:
            said = str(error)
        except (EOFError, ConnectionError):
            self._process.join()
            said = f"the process died: {_cause(self._process.exitcode)}"
        self._stop()
        return Outcome(seed, WRONG, what, said)

    def _receive(self, seconds: float) -> Any:
        if not self._connection.poll(seconds):
            raise TimeoutError(f"it did not end within {seconds:.0f} s")
        return self._connection.recv()

    def _start(self) -> None:
        self._connection, other = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(other,))
        self._process.start()
        other.close()  # so that the connection breaks when the process dies

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def _work(connection: Connection) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, hard))
    with suppress(EOFError, KeyboardInterrupt):  # until the parent is gone
        while True:
            campaign, seed = connection.recv()
            case = made(campaign, seed)
            connection.send(str(case))
            connection.send(judged(campaign, seed, case))


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


class Log:
    """Outcomes as JSON lines; those of other code do not count."""

    def __init__(self, path: Path) -> None:
        self._path, self._key = path, source_key()

    def read(self) -> dict[int, Outcome]:
        """By seed; a line that a killed run left unfinished is ignored."""
        if not self._path.exists():
            return {}
        lines = []
        for line in self._path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                lines.append(json.loads(line))
        ours = [one for one in lines if one.pop("code", None) == self._key]
        return {one["seed"]: Outcome(**one) for one in ours}

    def add(self, outcome: Outcome) -> None:
        """Append a line, below a line of its own if the last one is unfinished."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                file.write(b"" if file.read() == b"\n" else b"\n")
            file.write(json.dumps({**outcome._asdict(), "code": self._key}).encode() + b"\n")


def source_key() -> str:
    """A short text that changes with the code that is tried, and with the campaigns."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in SOURCES for path in folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def run(
    campaign: Campaign,
    seeds: Iterable[int],
    worker: Worker,
    log: Log | None = None,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> Iterator[Outcome]:
    """Outcomes of the seeds, those of an earlier run included."""
    done = {} if log is None else log.read()
    for seed in seeds:
        outcome = done.get(seed)
        if outcome is None:
            outcome = worker.judge(campaign, seed)
            if log is not None:
                log.add(outcome)
            on_outcome(outcome)
        yield outcome


def failure_text(name: str, outcome: Outcome) -> str:
    """What went wrong, and the command that repeats it."""
    command = shlex.join(["python", "-m", "campaigns", name, "--seed", str(outcome.seed)])
    return (
        f"{name}, seed {outcome.seed}: {outcome.said}\n"
        f"  tried: {outcome.what}\n"
        f"  again: PYTHONPATH=tests {command}"
    )


class Tally(NamedTuple):
    """What came of a campaign."""

    name: str
    counts: dict[str, int]  # by verdict
    seconds: float
    slowest: float
    megabytes: float  # of the largest case

    @classmethod
    def of(cls, name: str, outcomes: list[Outcome]) -> Self:
        """Count outcomes."""
        verdicts = [one.verdict for one in outcomes]
        seconds = [one.seconds for one in outcomes]
        return cls(
            name,
            {verdict: verdicts.count(verdict) for verdict in (RIGHT, REFUSED, WRONG)},
            sum(seconds),
            max(seconds, default=0.0),
            max((one.megabytes for one in outcomes), default=0.0),
        )


def summary(tallies: Iterable[Tally]) -> str:
    """A table in Markdown, for the log of what was measured."""
    lines = [
        "| campaign | cases | right | refused | wrong | seconds | slowest case | most MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.name} | {sum(one.counts.values()):,} | "
        + " | ".join(f"{count:,}" for count in one.counts.values())
        + f" | {one.seconds:,.0f} | {one.slowest:.1f} | {one.megabytes:.0f} |"
        for one in tallies
    ]
    return "\n".join(lines)
