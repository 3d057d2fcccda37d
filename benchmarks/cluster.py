"""Scoring by worker processes against the plain command on the same cores, and with workers killed.

`python benchmarks/cluster.py` measures both; `--rows` sets the rows of the table.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import wraps
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow.parquet as pq
import sections
from sections import Effort, Section

from devnet import TableModel
from devnet.datasets.payments import make_payments, payment_batches
from devnet.serving.cluster import local_cluster, score_on_cluster

METHODS = ("DevNet", "deviation ensemble")
N_FITTED, GROUP_ROWS = 200_000, 131_072
N_WORKERS, N_KILLS, N_PARTS, REPEATS = 2, 10, 20, 3
Times = tuple[float, float]  # by the clock, of the processor


def in_a_folder(section: Section) -> Section:
    @wraps(section)
    def run(effort: Effort) -> None:
        with tempfile.TemporaryDirectory() as folder:
            section(effort, Path(folder))

    return run


def write_payments(folder: Path, n_rows: int, n_files: int) -> str:
    """Payments in files; returns the pattern that reads them."""
    folder.mkdir()
    for i, batch in enumerate(payment_batches(n_rows, batch_rows=-(-n_rows // n_files))):
        pq.write_table(batch, folder / f"{i:03}.parquet", row_group_size=GROUP_ROWS)
    return str(folder / "*.parquet")


def fitted(effort: Effort, method: str) -> TableModel:
    payments = make_payments(effort.rows(N_FITTED)).table
    return TableModel(method, id_column="payment_id", random_state=0).fit(payments, "fraud")


def measured(*words: object) -> Times:
    """Seconds of a command and of all processes that it starts."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "devnet.cli", *map(str, words)]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
    return time.perf_counter() - start, used


@in_a_folder
def scoring(effort: Effort, folder: Path) -> None:
    n_rows = effort.longest(20_000_000)
    table = write_payments(folder / "in", n_rows, max(1, n_rows // 1_000_000))
    print(f"\nScoring {n_rows:,} payments by {N_WORKERS} workers, against the plain command on the")
    print("same cores: seconds by the clock (of the processor) and ratios of both, start included")
    for method in METHODS[: effort.repeats(len(METHODS))]:
        fitted(effort, method).save(folder / "model.devnet")
        words = ["score", folder / "model.devnet", table, "--output"]
        plain: list[Times] = []
        parts: list[Times] = []
        for _ in range(effort.repeats(REPEATS)):  # in turns
            plain.append(measured(*words, folder / "scored.parquet"))
            shutil.rmtree(folder / "out", ignore_errors=True)
            parts.append(measured(*words, folder / "out", "--workers", N_WORKERS))
        one, two = ([min(found) for found in zip(*times, strict=True)] for times in (plain, parts))
        print(
            f"  {method:<18} {one[0]:7.1f} ({one[1]:7.1f}) s plain, {two[0]:7.1f} ({two[1]:7.1f}) "
            f"s by workers: {two[0] / one[0]:.2f} ({two[1] / one[1]:.2f})",
            flush=True,
        )


@in_a_folder
def kills(effort: Effort, folder: Path) -> None:
    n_rows = effort.longest(2_000_000)
    table, model = write_payments(folder / "in", n_rows, N_PARTS), fitted(effort, "DevNet")
    print(f"\nScoring {n_rows:,} payments while workers are killed at random moments")
    with local_cluster(N_WORKERS) as client:
        start = time.perf_counter()
        score_on_cluster(model, table, folder / "undisturbed", client)
        usual = time.perf_counter() - start
        killer = Killer(client, usual / N_KILLS, effort.repeats(N_KILLS))
        score_on_cluster(model, table, folder / "disturbed", client)
        killer.end()
    names = sorted(path.name for path in (folder / "undisturbed").glob("part-*"))
    same = [
        (folder / "undisturbed" / name).read_bytes() == (folder / "disturbed" / name).read_bytes()
        for name in names
    ]
    n_found = len([*(folder / "disturbed").glob("part-*")])
    print(
        f"  {killer.n_killed} killed: {sum(same)} of {len(names)} parts are the same to the byte, "
        f"{n_found - len(names)} more than there should be"
    )


class Killer(Thread):
    """Kills workers at random moments, so many seconds apart in the mean."""

    def __init__(self, client: object, seconds: float, most: int) -> None:
        super().__init__(daemon=True)
        self._client, self._seconds, self._most = client, seconds, most
        self._end, self.n_killed = Event(), 0
        self.start()

    def run(self) -> None:
        """Wait and kill."""
        generator = np.random.default_rng(0)
        while self.n_killed < self._most and not self._end.wait(
            generator.exponential(self._seconds)
        ):
            processes = [nanny.process for nanny in self._client.cluster.workers.values()]
            alive = [one.pid for one in processes if one is not None and one.pid is not None]
            with suppress(ProcessLookupError, ValueError):  # none is alive right now
                os.kill(int(generator.choice(alive)), signal.SIGKILL)
                self.n_killed += 1

    def end(self) -> None:
        """Let the workers live."""
        self._end.set()
        self.join()


SECTIONS = (scoring, kills)

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
