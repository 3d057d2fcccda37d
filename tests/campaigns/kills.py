"""Verbs that write, killed at any moment: what they write is whole, old or absent.

A rerun then succeeds, has the same result as an undisturbed run, and leaves nothing else behind.
"""

import atexit
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from support.experiments import FILE, make_sets
from support.pages import Tags

from campaigns.campaign import Campaign
from campaigns.small_models import LABEL, small_table
from devnet.tables import TableModel

N_ROWS = 20_000
POLL = 0.001  # seconds between two looks at the folder
METHOD = "logistic regression"  # the quickest to learn
FIT = ["fit", "table.parquet", "--label", LABEL, "--method", METHOD]
ALERTS = ["alerts", "m.devnet", "table.parquet", "--budget", "3000"]
COMPARE = ["compare", "few.csv", "--label", LABEL, "--method", METHOD, "--method", "iForest"]
EXPERIMENT = ["experiment", "run", "quick", "--folder", "out", "--workers", "2"]


class Verb(NamedTuple):
    """A command that writes into the folder `out`, and the files it writes there."""

    words: list[str]
    targets: list[str]
    has_old: bool = False  # whether it changes a file that must be there


VERBS = {
    "fit": Verb([*FIT, "-o", "out/m.devnet", "--report", "out/r.html"], ["m.devnet", "r.html"]),
    **{
        f"score {suffix}": Verb(
            ["score", "m.devnet", "table.parquet", "-o", f"out/s{suffix}"], [f"s{suffix}"]
        )
        for suffix in (".parquet", ".csv", ".tsv", ".arrow", ".feather", ".pq")
    },
    "score a CSV": Verb(["score", "m.devnet", "table.csv", "-o", "out/s.csv"], ["s.csv"]),
    **{
        f"alerts {suffix}": Verb([*ALERTS, "--output", f"out/a{suffix}"], [f"a{suffix}"])
        for suffix in (".parquet", ".csv", ".arrow")
    },
    **{
        f"labels export {suffix}": Verb(
            ["labels", "export", "review.db", "-o", f"out/l{suffix}"], [f"l{suffix}"]
        )
        for suffix in (".parquet", ".csv")
    },
    "drift": Verb(["drift", "m.devnet", "table.parquet", "--report", "out/r.html"], ["r.html"]),
    "policy": Verb(["policy", "out/m.devnet", "--budget", "7"], ["m.devnet"], has_old=True),
    "compare": Verb([*COMPARE, "--repeats", "1", "--report", "out/r.html"], ["r.html"]),
    "experiment run": Verb(EXPERIMENT, ["results/quick.jsonl"]),
    "experiment report": Verb(
        ["experiment", "report", "--folder", "out", "--output", "out/r.html"], ["r.html"]
    ),
    "demo": Verb(
        ["demo", "--folder", "out", "--rows", "10000"],
        ["payments.parquet", "fraud.devnet", "scored.parquet", "report.html"],
    ),
}


class Kill(NamedTuple):
    """A command, and when it is killed."""

    verb: str
    has_old: bool  # whether files of an earlier run are there
    by_size: bool  # the moment is given by how much is written, not by time
    share: float  # of the bytes that an undisturbed run writes, or of its time

    def __str__(self) -> str:
        old = ", old files" if self.has_old else ""
        moment = f"{self.share:.3f} of its {'bytes' if self.by_size else 'time'}"
        return f"devnet {self.verb}{old}, killed after {moment}"


def make(rng: random.Random) -> Kill:
    """More than half of the kills aim at the writing, which is short; the others at any moment."""
    verb, by_size = rng.choice(list(VERBS)), rng.random() < 0.6
    has_old = VERBS[verb].has_old or rng.random() < 0.5
    return Kill(verb, has_old, by_size, rng.random() if by_size else rng.uniform(0.2, 1.1))


class Reference(NamedTuple):
    """What an undisturbed run writes, and how long it takes."""

    files: dict[str, bytes]
    seconds: float


def judge(case: Kill, folder: Path) -> None:
    """Kill it, look at what is there, run it again, look again."""
    verb, reference = VERBS[case.verb], _reference(case.verb)
    start_files = _set_up(folder, case.verb, has_old=case.has_old)
    process = _start(verb.words, folder)
    try:
        _kill(process, case, folder, reference)
        found = _files(folder / "out")
        for name in verb.targets:
            _check_whole(name, found.get(name), start_files.get(name), reference.files[name])
        done = _start(verb.words, folder)
        _, error = done.communicate()
        assert done.returncode == 0, f"a rerun fails: {error.decode()[-300:]}"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its workers outlive it
    again = _files(folder / "out")
    for name in verb.targets:
        assert _is_same(name, again.get(name), reference.files[name]), f"a rerun makes other {name}"
        _check_lines(name, found.get(name, b""), again[name])
    litter = sorted({*again, *_files(folder / "tmp")} - {*reference.files, *start_files})
    assert not litter, f"a rerun leaves {', '.join(litter)}"


def _check_whole(name: str, found: bytes | None, old: bytes | None, whole: bytes) -> None:
    """The target is as it was, or complete; lines of results are only added to."""
    if found is None:
        assert old is None, f"{name} was there, and is gone"
    elif name.endswith(".jsonl"):
        _check_lines(name, old or b"", found)
    else:
        is_old = old is not None and found == old
        assert is_old or _is_same(name, found, whole), f"{name} is there, but not whole"


def _is_same(name: str, found: bytes | None, whole: bytes) -> bool:
    """Whether a file is that of an undisturbed run; pages and results tell times, which differ."""
    if found is None:
        return False
    if name.endswith(".html"):
        Tags(found.decode().replace("<rect", "<svg").replace("</rect", "</svg"))
        return found.rstrip().endswith(b"</html>")
    if name.endswith(".jsonl"):
        return {*_runs(found)} == {*_runs(whole)}
    return found == whole


def _check_lines(name: str, before: bytes, after: bytes) -> None:
    """No run that was recorded is lost; only the last line may be unfinished."""
    if name.endswith(".jsonl"):
        lost = [key for key, line in _runs(before).items() if _runs(after).get(key) != line]
        assert not lost, f"{len(lost)} finished runs are lost"


def _runs(content: bytes) -> dict[str, Any]:
    """The complete lines, by what ran."""
    lines = [json.loads(line) for line in content.split(b"\n")[:-1]]
    return {json.dumps([one["dataset"], one["method"], one["seed"]]): one for one in lines}


def _start(words: list[str], folder: Path) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "DEVNET_DATA": str(folder / "sets")}
    return subprocess.Popen(
        [sys.executable, "-m", "devnet.cli", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _kill(process: Any, case: Kill, folder: Path, reference: Reference) -> None:
    """Kill the process itself, not its workers, as a crash would."""
    before, start = _written(folder), time.monotonic()
    n_bytes = sum(len(reference.files[name]) for name in VERBS[case.verb].targets)

    def is_time() -> bool:
        if not case.by_size:
            return time.monotonic() - start >= case.share * reference.seconds
        new = _written(folder) - before
        return bool(new) and sum(size for *_, size in new) >= case.share * n_bytes

    while process.poll() is None and not is_time():
        time.sleep(POLL)
    process.kill()
    process.wait()
    process.stderr.close()


def _written(folder: Path) -> set[tuple[str, int, int]]:
    """Name, time and size of each file, hidden ones included."""
    found = set()
    for path in (folder / "out").rglob("*"):
        with suppress(FileNotFoundError):  # renamed meanwhile
            facts = path.stat()
            found |= {(str(path), facts.st_mtime_ns, facts.st_size)} if path.is_file() else set()
    return found


def _files(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _set_up(folder: Path, verb: str, *, has_old: bool) -> dict[str, bytes]:
    """Everything that commands read, and the files of an earlier run."""
    shutil.copytree(_prepared(), folder, dirs_exist_ok=True)
    if verb == "experiment report":
        runs = _reference("experiment run").files["results/quick.jsonl"]
        (folder / "out" / "results" / "quick.jsonl").write_bytes(runs)
    if has_old:
        _write_old(folder, verb)
    return _files(folder / "out")


def _write_old(folder: Path, verb: str) -> None:
    """Files of an earlier run: a model that can be changed, some runs, or anything else."""
    out = folder / "out"
    for name in VERBS[verb].targets:
        (out / name).parent.mkdir(exist_ok=True)
        if name.endswith(".jsonl"):
            lines = _reference(verb).files[name].splitlines(keepends=True)
            (out / name).write_bytes(b"".join(lines[:2]))
        elif name == "m.devnet":
            shutil.copy(folder / "m.devnet", out / name)
        elif name == "payments.parquet":  # of another demo, as other files are not replaced
            (out / name).write_bytes(_reference(verb).files[name])
        else:
            (out / name).write_bytes(b"an older file")


@cache
def _prepared() -> Path:
    """A folder with tables, a model, data sets and a plan, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix="devnet-kills-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("out", "tmp", "sets"):
        (folder / name).mkdir()
    table = small_table(n_rows=N_ROWS)
    pq.write_table(table, folder / "table.parquet")
    pyarrow.csv.write_csv(table, folder / "table.csv")
    pyarrow.csv.write_csv(table.slice(0, 2000), folder / "few.csv")
    TableModel(METHOD, random_state=0).fit(table, LABEL).save(folder / "m.devnet")
    make_sets(folder / "sets")
    _import_verdicts(folder)
    (folder / "out" / "quick.toml").write_text(FILE)
    (folder / "out" / "results").mkdir()
    return folder


def _import_verdicts(folder: Path) -> None:
    """A store with verdicts on the first rows of the table."""
    n_rows = 2000
    verdicts = {"id": list(range(n_rows)), "verdict": ["anomaly", "normal"] * (n_rows // 2)}
    pq.write_table(pa.table(verdicts), folder / "verdicts.parquet")
    named = small_table(n_rows=n_rows).append_column("id", pa.array(verdicts["id"]))
    pq.write_table(named, folder / "named.parquet")
    words = ["labels", "import", "review.db", "verdicts.parquet", "--table", "named.parquet"]
    done = _start([*words, "--id", "id", "--who", "ana"], folder)
    _, error = done.communicate()
    assert done.returncode == 0, f"labels are not imported: {error.decode()[-300:]}"


@cache
def _reference(verb: str) -> Reference:
    folder = Path(tempfile.mkdtemp(prefix="devnet-kills-"))
    try:
        _set_up(folder, verb, has_old=VERBS[verb].has_old)
        start = time.monotonic()
        done = _start(VERBS[verb].words, folder)
        _, error = done.communicate()
        assert done.returncode == 0, f"devnet {verb} fails undisturbed: {error.decode()[-300:]}"
        return Reference(_files(folder / "out"), time.monotonic() - start)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


CAMPAIGN = Campaign("kills", make, judge, n_cases=200, n_short=2, seconds=80)
