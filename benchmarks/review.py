"""The analysts' page under load, on this machine: verdicts, training meanwhile, start, memory.

Eight analysts judge without a pause through the loopback device, each over one connection, as a
proxy would hand them on. `python benchmarks/review.py` takes about ten minutes.
"""

import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sections
from sections import Effort

from devnet import TableModel
from devnet.datasets.payments import make_payments
from devnet.review.server.accounts import Accounts, accounts_beside
from devnet.review.server.visitors import Role
from devnet.review.store import LabelStore

N_ANALYSTS, N_ALERTS = 8, 5_000
NAME, PASSWORD = "review.test", "correct horse battery"
HEADERS = {"Host": NAME, "Origin": f"https://{NAME}", "X-Forwarded-Proto": "https"}
FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')


class Analyst:
    """One connection that is signed in."""

    def __init__(self, port: int, name: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = dict(HEADERS)
        form = {"name": name, "password": PASSWORD}
        status, headers, _ = self.request("POST", "/sign-in", form)
        assert status == 303, status
        self._headers["Cookie"] = headers["set-cookie"].partition(";")[0]

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def request(
        self, method: str, path: str, form: dict[str, str] | None = None
    ) -> tuple[int, Any, str]:
        """Status, headers and text of an answer."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
        body = urlencode(form) if form else None
        self._connection.request(method, path, body, {**self._headers, **kind})
        answer = self._connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def judge(self, verdict: str) -> tuple[float, float, str]:
        """Open the next card and judge it: seconds of both, and the verdict's token."""
        start = time.perf_counter()
        status, _, page = self.request("GET", "/")
        shown = time.perf_counter()
        form = page[page.index('class="verdicts"') :]
        fields = dict(FIELD.findall(form[: form.index("</form>")]))
        assert status == 200, page
        status, _, page = self.request("POST", "/verdict", {**fields, "verdict": verdict})
        assert status == 303, page
        return shown - start, time.perf_counter() - shown, fields["token"]


@contextmanager
def served(folder: Path, table: Path, *words: str) -> Iterator[tuple[int, int]]:
    """A server in a process of its own: its port and its process."""
    accounts = Accounts(accounts_beside(folder / "review.db"))
    for i in range(N_ANALYSTS):
        accounts.add(f"a{i}", Role.LEAD, PASSWORD)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "devnet.cli", "review", str(table), *words]
    command += ["--store", str(folder / "review.db"), "--behind-proxy", "127.0.0.1"]
    command += ["--name", NAME, "--port", str(port), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(b"}"):  # the address is printed: it listens
                break
        try:
            yield port, process.pid
        finally:
            process.terminate()


def verdicts(effort: Effort) -> None:
    """Seconds of a verdict with eight analysts at once; then the same while a model is trained."""
    n_alerts = 80 if effort.is_quick else N_ALERTS
    with TemporaryDirectory() as name:
        folder = Path(name)
        table, _ = make_payments(effort.rows(200_000), seed=0)
        pq.write_table(table, folder / "payments.parquet")
        method = "logistic regression" if effort.is_quick else "deviation ensemble"
        TableModel(method, random_state=0).fit(table, "fraud").save(folder / "m.devnet")
        words = ("--model", str(folder / "m.devnet"))
        with served(folder, folder / "payments.parquet", *words) as (port, _), ExitStack() as calls:
            print(f"\n{N_ANALYSTS} analysts, {n_alerts:,} verdicts, {table.num_rows:,} rows")
            analysts = [
                calls.enter_context(closing(Analyst(port, f"a{i}"))) for i in range(N_ANALYSTS)
            ]
            calm = _judge_all(analysts, n_alerts)
            _print("alone", calm)
            busy = _judge_while_training(analysts, max(2 * N_ANALYSTS, n_alerts // 50))
            _print("while training", busy)
        with LabelStore(folder / "review.db") as store:
            events = store.events()
        tokens = {token for _, _, token in (*calm, *busy)}
        n_lost, n_more = len(tokens - {one.token for one in events}), len(events) - len(tokens)
        print(f"acknowledged {len(tokens):,}, lost {n_lost}, doubled {n_more}")


def _judge_while_training(analysts: list[Analyst], n_alerts: int) -> list[tuple[float, float, str]]:
    """Judge so many cards again and again, until a new model ranks the rows."""
    begun, _, said = analysts[0].request("POST", "/train")
    assert begun == 303, said
    done: list[tuple[float, float, str]] = []
    while "Model 2 ranks the rows" not in said:
        done += _judge_all(analysts, n_alerts)
        _, _, said = analysts[0].request("GET", "/training")
        assert "did not work" not in said, said
    return done


def _judge_all(analysts: list[Analyst], n_alerts: int) -> list[tuple[float, float, str]]:
    """Judge so many cards, all analysts at once."""
    done: list[tuple[float, float, str]] = []

    def work(analyst: Analyst) -> None:
        for i in range(n_alerts // N_ANALYSTS):
            done.append(analyst.judge("anomaly" if i % 3 == 0 else "normal"))

    threads = [threading.Thread(target=work, args=(one,)) for one in analysts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def _print(what: str, done: list[tuple[float, float, str]]) -> None:
    for name, place in (("verdict", 1), ("next card", 0)):
        times = 1000 * np.array([one[place] for one in done])
        middle, high = np.median(times), np.quantile(times, 0.95)
        print(f"{what:<15} {name:<10} median {middle:4.0f} ms  95% {high:4.0f} ms", flush=True)


def start(effort: Effort) -> None:
    """Seconds until the page answers, and memory, from 200,000 rows to 5,000,000."""
    rows = [effort.rows(200_000), effort.longest(5_000_000)]
    part, _ = make_payments(effort.rows(200_000), seed=0)
    model = TableModel("logistic regression" if effort.is_quick else "deviation ensemble")
    with TemporaryDirectory() as name:
        model.fit(part, "fraud").save(Path(name) / "m.devnet")
        for n_rows in dict.fromkeys(rows):
            folder = Path(name) / str(n_rows)
            folder.mkdir()
            _write_long(folder / "payments.parquet", part, n_rows)
            begun = time.perf_counter()
            words = ("--model", str(Path(name) / "m.devnet"))
            with served(folder, folder / "payments.parquet", *words) as (port, process):
                seconds = time.perf_counter() - begun
                with closing(Analyst(port, "a0")) as analyst:
                    analyst.judge("normal")
                used = _peak_megabytes(process)
            print(f"{n_rows:>9,} rows: {seconds:5.1f} s, at most {used:,.0f} MB", flush=True)


def _write_long(path: Path, part: pa.Table, n_rows: int) -> None:
    """The same rows again and again, with ids of their own."""
    with pq.ParquetWriter(path, part.schema) as writer:
        for first in range(0, n_rows, part.num_rows):
            chunk = part.slice(0, min(part.num_rows, n_rows - first))
            ids = pa.array([f"P{first + i:09}" for i in range(chunk.num_rows)])
            place = chunk.column_names.index("payment_id")
            writer.write_table(chunk.set_column(place, "payment_id", ids))


def _peak_megabytes(process: int) -> float:
    """Most memory that a process ever had."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():  # not Linux
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+)", status.read_text())
    return int(kilobytes) / 1024


SECTIONS = [verdicts, start]

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sections.run(__file__, SECTIONS, __doc__)
