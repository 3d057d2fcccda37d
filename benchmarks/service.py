"""The service under load, through the loopback device: single rows, long batches, memory.

The client is asyncio and nothing else, in a process of its own on the same cores.
`python benchmarks/service.py` takes about five minutes; `--rows N` asks N times for memory.
"""

import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sections
from pyarrow import ipc
from sections import Effort

from devnet import TableModel
from devnet.datasets.payments import make_payments

N_CONNECTIONS, RATE = 16, 500  # requests a second
N_LONG = 10_000  # rows of a batch
TOKEN = "a" * 32
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"


class Served(NamedTuple):
    """A service in a process of its own."""

    port: int
    process: int
    folder: Path

    def processor_seconds(self) -> float:
        """That it has used so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Memory that it has now."""
        status = Path(f"/proc/{self.process}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def served(effort: Effort) -> Iterator[Served]:
    """A service with a model of made-up payments, and the payments beside it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        table, _ = make_payments(effort.rows(200_000), seed=0)
        method = "logistic regression" if effort.is_quick else "deviation ensemble"
        TableModel(method, random_state=0).fit(table, "fraud").save(folder / "m.devnet")
        pq.write_table(table, folder / "payments.parquet")
        (folder / "token").touch(0o600)
        (folder / "token").write_text(TOKEN)
        command = [sys.executable, "-m", "devnet.cli", "serve", str(folder / "m.devnet")]
        command += ["--token-file", str(folder / "token"), "--port", "0", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            said = b""
            while not said.rstrip().endswith(b"}"):
                said += process.stdout.readline()
            try:
                port = int(json.loads(said)["address"].rpartition(":")[2])
                yield Served(port, process.pid, folder)
            finally:
                process.terminate()


def rows_of(folder: Path, n_rows: int) -> list[dict[str, Any]]:
    """Payments as JSON has them."""
    rows = pq.read_table(folder / "payments.parquet").slice(0, n_rows).to_pylist()
    return [{k: v if _is_json(v) else v.isoformat() for k, v in row.items()} for row in rows]


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def request_of(body: bytes, kind: str) -> bytes:
    """A request as it goes over the line."""
    lines = [
        "POST /score HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {TOKEN}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def ask_all(
    port: int, requests: list[bytes], n_requests: int, rate: float | None
) -> list[float]:
    """Seconds of each answer; at most so many requests a second, or as fast as they are answered.

    With a rate, a request that waits for a connection has begun to wait already.
    """
    seconds: list[float] = []
    numbers = iter(range(n_requests))
    start = time.perf_counter()

    async def work() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            due = time.perf_counter() if rate is None else start + number / rate
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            await _ask(reader, writer, requests[number % len(requests)])
            seconds.append(time.perf_counter() - due)
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(work() for _ in range(N_CONNECTIONS)))
    return seconds


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    (length,) = re.findall(rb"content-length: (\d+)", head)
    body = await reader.readexactly(int(length))
    assert b"anomaly_score" in body[:2000], body[:200]
    return body


def single_rows(effort: Effort) -> None:
    """Requests of one row each: at 500 a second, and as fast as they are answered."""
    n_requests = 200 if effort.is_quick else 10_000
    with served(effort) as service:
        rows = rows_of(service.folder, 500)
        requests = [request_of(json.dumps([row]).encode(), JSON) for row in rows]
        asyncio.run(ask_all(service.port, requests, n_requests // 10, None))
        print(f"\n{n_requests:,} requests of a row, {N_CONNECTIONS} connections")
        for rate in (RATE, None):
            _load(service, requests, n_requests, rate)


def _load(service: Served, requests: list[bytes], n_requests: int, rate: float | None) -> None:
    begun, used = time.perf_counter(), service.processor_seconds()
    own = time.process_time()
    times = 1000 * np.array(asyncio.run(ask_all(service.port, requests, n_requests, rate)))
    taken = time.perf_counter() - begun
    used, own = service.processor_seconds() - used, time.process_time() - own
    print(
        f"{'any rate' if rate is None else f'{rate} a second':<13}"
        f" {n_requests / taken:6.0f} a second  median {np.median(times):5.1f} ms"
        f"  95% {np.quantile(times, 0.95):5.1f} ms  99% {np.quantile(times, 0.99):5.1f} ms"
        f"  processor: service {1000 * used / n_requests:.2f} ms, client"
        f" {1000 * own / n_requests:.2f} ms a request",
        flush=True,
    )


def long_batches(effort: Effort) -> None:
    """Batches of 10,000 rows, against the command: processor time of a row."""
    n_rows, n_batches = effort.rows(N_LONG), effort.repeats(20)
    with served(effort) as service:
        table = pq.read_table(service.folder / "payments.parquet").slice(0, n_rows)
        bodies = {
            "JSON": (json.dumps(rows_of(service.folder, n_rows)).encode(), JSON),
            "Arrow": (_stream(table), ARROW),
        }
        print(f"\n{n_batches} batches of {n_rows:,} rows; processor time of a row")
        for name, (body, kind) in bodies.items():
            asyncio.run(ask_all(service.port, [request_of(body, kind)], 1, None))
            used = service.processor_seconds()
            begun = time.perf_counter()
            asyncio.run(ask_all(service.port, [request_of(body, kind)], n_batches, None))
            taken = (time.perf_counter() - begun) / n_batches
            spent = (service.processor_seconds() - used) / n_batches
            print(f"{name:<8} {1e6 * spent / n_rows:6.1f} us  ({1000 * taken:,.0f} ms a batch)")
        few, many = (_command(service.folder, n * n_rows) for n in (1, 1 + n_batches))
        print(f"command  {1e6 * (many - few) / n_batches / n_rows:6.1f} us", flush=True)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _command(folder: Path, n_rows: int) -> float:
    """Processor seconds of `devnet score`, on so many rows."""
    table = pq.read_table(folder / "payments.parquet")
    repeated = pa.concat_tables([table] * -(-n_rows // table.num_rows)).slice(0, n_rows)
    pq.write_table(repeated, folder / "some.parquet")
    command = [sys.executable, "-m", "devnet.cli", "score", str(folder / "m.devnet")]
    command += [str(folder / "some.parquet"), "--output", str(folder / "out.arrow"), "--only-id"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def memory(effort: Effort) -> None:
    """Memory after ever more requests, of a row, of many, and refused ones."""
    n_requests = effort.n_longest or (400 if effort.is_quick else 100_000)
    with served(effort) as service:
        rows = rows_of(service.folder, 500)
        bodies = [*([row] for row in rows), rows[:100], rows]
        requests = [request_of(json.dumps(one).encode(), JSON) for one in bodies]
        print(f"\n{n_requests:,} requests of 1, 100 and 500 rows: memory")
        for part in range(11):
            if part:
                asyncio.run(ask_all(service.port, requests, n_requests // 10, None))
            print(f"{part * n_requests // 10:>9,} {service.megabytes():,.1f} MB", flush=True)


SECTIONS = [single_rows, long_batches, memory]

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
