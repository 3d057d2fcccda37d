"""Processes that record verdicts, killed at any moment: what was acknowledged is there, once.

Several processes write to one store, the first of them makes it. Each acknowledges a request on its
standard output after the store has returned. Then all are killed, in the middle of a transaction or
of making the store. Verdicts on folded rows are whole or absent, and the next process goes on.
"""

import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from campaigns.campaign import Campaign
from devnet.review.events import Judged, standing
from devnet.review.store import LabelStore, ReviewedTable

TABLE = ReviewedTable("payments.csv", ("id", "amount"), id_column="id")
WRITER = """
import random, sys
from devnet.review.events import Dealt, Judged
from devnet.review.store import LabelStore, ReviewedTable

path, name, n_together, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
rng = random.Random(seed)
print("start", flush=True)
store = LabelStore(path, ReviewedTable("payments.csv", ("id", "amount"), id_column="id"))
print("open", flush=True)
for number in range(100_000):
    token = f"{name} {number}"
    rows = [Judged(f"{token} {i}", 1.5, 7) for i in range(rng.randint(1, n_together))]
    dealt = Dealt("random", None, 0.25)
    note = "x" * rng.choice([0, 10, 2000])
    store.add("anomaly", rows, who=name, note=note, dealt=dealt, token=token)
    print("did", token, flush=True)
    if rng.random() < 0.1:
        store.undo(token, who=name, token=f"undo {token}")
        print("did", f"undo {token}", flush=True)
    if rng.random() < 0.05:
        model = store.add_model(token, "", who=name, n_anomalies=number)
        print("model", token, flush=True)
"""


class KilledReview(NamedTuple):
    """Who writes what, and when they are killed."""

    n_writers: int
    n_together: int  # rows of a folded card, at most
    seconds: float  # since the first writer has opened the store
    is_early: bool  # since it is about to make it instead
    seed: int

    def __str__(self) -> str:
        since = "starting" if self.is_early else "opening the store"
        return (
            f"{self.n_writers} writers of up to {self.n_together} rows at once, killed "
            f"{self.seconds:.4f} s after {since}"
        )


def make(rng: random.Random) -> KilledReview:
    """Most kills come while verdicts are written, some while the store is made."""
    is_early = rng.random() < 0.25
    seconds = rng.expovariate(1 / 0.02) if is_early else rng.expovariate(1 / 0.15)
    return KilledReview(
        rng.choice([1, 1, 2, 3]), rng.choice([1, 5, 200]), seconds, is_early, rng.getrandbits(32)
    )


def judge(case: KilledReview, folder: Path) -> None:
    """Let them write, kill them, and look at what is there; then write again."""
    path = folder / "review.db"
    said = _killed(case, path)
    acknowledged = {line[4:] for line in said if line.startswith("did ")}
    models = {line[6:] for line in said if line.startswith("model ")}
    with LabelStore(path, TABLE) as store:
        _check_events(store, acknowledged, case.n_writers)
        lost = models - {one.name for one in store.models()}
        assert not lost, f"{len(lost)} models are lost"
        _check_labels(store)
        store.add("normal", [Judged("after")], who="next")
        assert store.labels()["after"] == "normal"
    _check_integrity(path)


def _killed(case: KilledReview, path: Path) -> list[str]:
    """What the writers acknowledged before they were killed."""
    writers = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                WRITER,
                str(path),
                f"w{i}",
                str(case.n_together),
                str(case.seed),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(case.n_writers)
    ]
    first = [writers[0].stdout.readline() for _ in range(1 if case.is_early else 2)]
    time.sleep(case.seconds)
    for writer in writers:
        writer.kill()
    said = [*first, *(line for writer in writers for line in writer.stdout)]
    errors = [writer.communicate()[1] for writer in writers]
    assert not any(errors), f"a writer failed: {max(errors, key=len)[-300:]}"
    return [line.rstrip("\n") for line in said if line.endswith("\n")]


def _check_events(store: LabelStore, acknowledged: set[str], n_writers: int) -> None:
    """Acknowledged requests are there, all are whole, and at most one per writer is unheard."""
    events = store.events()
    rows = Counter((event.token, event.row) for event in events)
    assert max(rows.values(), default=1) == 1, "an event is doubled"
    requests = Counter(event.token for event in events)
    lost = acknowledged - requests.keys()
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged requests are lost"
    unheard = requests.keys() - acknowledged
    assert len(unheard) <= n_writers, f"{len(unheard)} requests are there unheard of"
    for event in events:
        if event.undoes is None:
            assert requests[event.token] == event.together, f"{event.token} is there in part"
    numbers = [event.number for event in events]
    assert numbers == sorted({*numbers}), "numbers do not rise"


def _check_labels(store: LabelStore) -> None:
    """Labels are the verdicts that stand."""
    expected = {event.row: event.verdict for event in standing(store.events())}
    assert store.labels() == expected, "labels are not the verdicts that stand"


def _check_integrity(path: Path) -> None:
    connection = sqlite3.connect(path)
    try:
        (answer,) = connection.execute("PRAGMA integrity_check").fetchone()
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    finally:
        connection.close()
    assert answer == "ok", f"the file is damaged: {answer}"
    assert not broken, f"{len(broken)} rows refer to nothing"


CAMPAIGN = Campaign("killed_reviews", make, judge, n_cases=200, n_short=6, seconds=30)
