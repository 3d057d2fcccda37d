"""Real worker processes, killed at random moments: nothing is lost, doubled or done twice."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import deadly_tasks
from support.cluster_tables import (
    make_rows,
    quick_model,
    read_parts,
    threads_as_workers,
    write_files,
)

pytest.importorskip("distributed", reason="clusters are Dask's")
import dask
import psutil  # it comes with distributed

from devnet import Budget, TableError, score_table
from devnet.core.sentence import UserError
from devnet.serving.cluster import client as clients
from devnet.serving.cluster import joined_cluster, local_cluster, score_on_cluster
from devnet.serving.cluster import running as running_tasks
from devnet.serving.cluster.parts import Part
from devnet.serving.cluster.running import run_tasks
from devnet.tables.sources import parquet
from devnet.tables.sources.memory import MemorySource

PROGRAM = """
from devnet.cli.main import main
from devnet.tables.sources import parquet

parquet.PART_ROWS = 50_000
if __name__ == "__main__":
    main()
"""
N = 1_000_000
N_KILLS = int(os.environ.get("DEVNET_KILLS", 3))
FILES = [MemorySource(pa.table({"a": [i]}), paths=(Path(f"{i}.parquet"),)) for i in range(6)]
PARTS = [Part(i, file, str(i), 10 * i, 10) for i, file in enumerate(FILES)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table") / "in"
    return write_files(folder, make_rows(N), n_files=5, row_group_size=50_000)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parquet, "PART_ROWS", 50_000)


@pytest.fixture(scope="module")
def one_machine(tmp_path_factory):
    """What one machine writes and says of a table."""
    path = tmp_path_factory.mktemp("one") / "one.parquet"

    @cache
    def scored(table, policy):
        said = score_table(quick_model(), table, path, policy=policy)
        return said, pq.read_table(path)

    return scored


@pytest.fixture(scope="module")
def client():
    """Two worker processes, none of which is left in the end."""
    before = psutil.Process().children(recursive=True)  # such as joblib's, of other tests
    with local_cluster(2) as found:
        yield found
    left = [one for one in psutil.Process().children(recursive=True) if one not in before]
    _, alive = psutil.wait_procs([one for one in left if "resource_tracker" not in told(one)], 10)
    assert [told(one) for one in alive] == []


def told(process):
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "gone"


def worker_processes(client):
    """Processes of the workers that live now."""
    processes = [nanny.process for nanny in client.cluster.workers.values()]
    return [one.pid for one in processes if one is not None and one.pid is not None]


class Killer(Thread):
    """Kills workers at random moments, until the block ends."""

    def __init__(self, client, seed):
        super().__init__()
        self._client = client
        self._generator = np.random.default_rng(seed)
        self._end = Event()
        self.n_killed = 0

    def run(self):
        pause = self._generator.uniform(0, 0.2)  # a quick machine has scored all within a second
        while self.n_killed < N_KILLS and not self._end.wait(pause):
            pause = self._generator.exponential(1.5)
            processes = worker_processes(self._client)
            if processes:
                with suppress(ProcessLookupError):
                    os.kill(self._generator.choice(processes), signal.SIGKILL)
                    self.n_killed += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self._end.set()
        self.join()


@pytest.mark.parametrize(("policy", "n_files"), [(None, 5), (Budget(1000), 2)], ids=str)
def test_workers_are_killed_at_random_moments(
    client, table, one_machine, tmp_path, policy, n_files, seed
):
    table = table.replace("*", f"0[0-{n_files - 1}]")
    client.wait_for_workers(2)
    client.cluster.scheduler.allowed_failures = N_KILLS
    with Killer(client, seed) as killer:
        done = score_on_cluster(quick_model(), table, tmp_path / "out", client, policy=policy)
    assert killer.n_killed
    assert (done.n_parts, done.n_taken_over, done.n_rows) == (4 * n_files, 0, N // 5 * n_files)
    said, rows = one_machine(table, policy)
    assert done[3:] == said
    assert read_parts(done.folder).equals(rows)


def test_a_worker_that_is_killed_while_it_starts_comes_back(client):
    client.wait_for_workers(2)
    (nanny, *_) = client.cluster.workers.values()
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "2s"}):
        for _ in range(2):
            first = nanny.process.pid
            os.kill(first, signal.SIGKILL)
            wait_until(lambda dead=first: getattr(nanny.process, "pid", None) not in (None, dead))
        os.kill(nanny.process.pid, signal.SIGKILL)
        wait_until(lambda: len(client.nthreads()) < 2)
        client.wait_for_workers(2, timeout=120)
        time.sleep(2.5)  # until what Dask has in mind for the lost one is done
        client.wait_for_workers(2, timeout=120)


def test_a_coordinator_that_is_killed_and_started_again_does_no_part_twice(
    client, table, one_machine, tmp_path
):
    table = table.replace("*", "0[01]")
    quick_model().save(tmp_path / "model.devnet")
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text(PROGRAM)
    words = ["score", str(tmp_path / "model.devnet"), table, "-o", str(out), "--workers", "2"]
    scored = out / "_devnet" / "scored"
    with subprocess.Popen([sys.executable, str(script), *words]) as running:
        try:
            wait_until(lambda: len([*scored.glob("*.json")]) >= 2 or running.poll() is not None)
            family = psutil.Process(running.pid).children(recursive=True)
        finally:
            running.kill()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []  # workers end with the coordinator
    finished = {path: path.stat().st_mtime_ns for path in scored.glob("*.json")}
    assert 2 <= len(finished) < 8
    assert not (out / "_SUCCESS").exists()
    done = score_on_cluster(quick_model(), table, out, client)
    assert done.n_taken_over == len(finished)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    said, rows = one_machine(table, None)
    assert done[3:] == said
    assert read_parts(out).equals(rows)


def wait_until(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("at_fault", [0, 2])
def test_a_part_on_which_workers_die_again_and_again_is_named(client, at_fault):
    """Only the one at fault: others that were lost with the same worker are done."""
    client.cluster.scheduler.allowed_failures = 0
    arguments, done = [(part, at_fault) for part in PARTS], []
    tasks = run_tasks(client, deadly_tasks.deadly, PARTS, arguments)
    says = f"workers die again and again while they do part {at_fault}, {at_fault}.par"
    with pytest.raises(TableError, match=says):
        done.extend(number for _, number in tasks)
    assert sorted(done) == [part.number for part in PARTS if part.number != at_fault]


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (
            deadly_tasks.broken,
            r"part 4, 4.parquet \(rows 40 to 49 of the table\), could not be done: RuntimeError "
            r"\(the disk is on fire\). Finished parts are kept",
        ),
        (deadly_tasks.refused, "it is no table. It is part 4. Finished parts are kept"),
    ],
)
def test_a_part_that_cannot_be_done_is_named(client, task, says):
    with pytest.raises(TableError, match=says):
        list(run_tasks(client, task, PARTS, [(part, 4) for part in PARTS]))


def test_workers_of_this_machine_listen_to_it_alone(client):
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        listening = [one for one in process.net_connections() if one.status == "LISTEN"]
        assert {one.laddr.ip for one in listening} <= {"127.0.0.1"}


def test_a_running_cluster_is_joined(client):
    client.wait_for_workers(2)
    with joined_cluster(client.scheduler.address) as joined:
        assert len(joined.nthreads()) == 2


def test_workers_with_another_version_are_refused(client, monkeypatch):
    client.wait_for_workers(2)
    ours = {**clients.package_versions(), "devnet": "9.9"}
    monkeypatch.setattr(client, "run", lambda function: {"tcp://w\n": function()})
    monkeypatch.setattr(clients, "package_versions", iter([ours]).__next__)
    with pytest.raises(UserError, match="cannot run devnet"):
        clients.check_workers(client)
    versions = iter([ours, {"devnet": "0.1"}])
    monkeypatch.setattr(clients, "package_versions", lambda: next(versions))
    with pytest.raises(UserError, match=r"worker tcp://w\\n has devnet 0.1, but 9.9 is here"):
        clients.check_workers(client)


def test_a_cluster_without_workers_gets_a_sentence(monkeypatch):
    monkeypatch.setattr(running_tasks, "PATIENCE", 0.1)
    monkeypatch.setattr(running_tasks, "POLL", 0.1)
    monkeypatch.setattr(clients, "SECONDS", 1)
    with threads_as_workers(1) as client:
        client.cluster.scale(0)
        wait_until(lambda: not client.nthreads())
        with pytest.raises(TableError, match="has had no worker for 0 seconds; start some"):
            list(run_tasks(client, deadly_tasks.deadly, PARTS, [(part, 9) for part in PARTS]))
        with pytest.raises(UserError, match="has no workers; start some: dask worker"):
            clients.check_workers(client)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("localhost", "'localhost' is not the address of a Dask scheduler; give one such as clus"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers at tcp://127.0.0.1:9"),
        ("tls://127.0.0.1:9", "no Dask scheduler answers at tls://127.0.0.1:9"),
    ],
)
def test_an_address_where_nothing_is_gets_a_sentence(address, says, monkeypatch):
    monkeypatch.setattr(clients, "SECONDS", 0.5)
    with pytest.raises(UserError, match=says), joined_cluster(address):
        pass


@pytest.mark.parametrize("n_workers", [0, -1, 1.5])
def test_impossible_numbers_of_workers_get_a_sentence(n_workers):
    with pytest.raises(UserError, match="workers are not possible"), local_cluster(n_workers):
        pass
