"""Where parts are written: folders, and object stores by their addresses."""

import json
import os
import time
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cluster_tables import make_rows, quick_model, threads_as_workers, write_files

pytest.importorskip("distributed", reason="clusters are Dask's")
import fsspec

from devnet import Budget, TableError, score_table
from devnet.serving.cluster import leases, local_cluster, score_on_cluster, stores
from devnet.serving.cluster.stores import store_of
from devnet.tables.sources import parquet

N = 6000


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(parquet, "PART_ROWS", 1000)
    monkeypatch.setattr(leases, "BEAT", 0.05)
    monkeypatch.setattr(leases, "STALE", 0.5)
    monkeypatch.setattr(leases, "LOOK", 0.01)


@pytest.fixture
def memory():
    """The store that a process keeps in its memory, emptied."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


@pytest.fixture(scope="module")
def client():
    with threads_as_workers() as found:
        yield found


@pytest.fixture
def table(tmp_path):
    return write_files(tmp_path / "in", make_rows(N), n_files=2, row_group_size=1000)


def read_parts(files, folder):
    names = sorted(name for name in files.ls(folder, detail=False) if name.endswith(".parquet"))
    tables = []
    for name in names:
        with files.open(name, "rb") as file:
            tables.append(pq.read_table(file))
    return pa.concat_tables(tables)


def assert_as_on_one_machine(done, files, folder, table, tmp_path, **options):
    said = score_table(quick_model(), table, tmp_path / "one.parquet", **options)
    assert done[3:] == said
    assert read_parts(files, folder).equals(pq.read_table(tmp_path / "one.parquet"))


@pytest.mark.parametrize("policy", [None, Budget(50)], ids=str)
@pytest.mark.parametrize("renames", [False, True])
def test_parts_go_to_an_address_and_are_taken_over(
    client, memory, table, tmp_path, policy, renames, monkeypatch
):
    if renames:
        monkeypatch.setattr(stores, "OBJECT_STORES", ())
    done = score_on_cluster(quick_model(), table, "memory://box/out", client, policy=policy)
    assert done.folder == "memory://box/out"
    assert_as_on_one_machine(done, memory, "/box/out", table, tmp_path, policy=policy)
    names = {name.removeprefix("/box/out/") for name in memory.find("/box/out")}
    assert {"_SUCCESS", "_manifest.json", "_devnet/job.json"} < names
    assert not [name for name in names if "staged" in name or "lock" in name or ".devnet-" in name]
    memory.rm("/box/out/_SUCCESS")
    again = score_on_cluster(quick_model(), table, "memory://box/out/", client, policy=policy)
    taken = 6 if policy is None else 0  # what was staged is gone
    assert again == done._replace(n_taken_over=taken)


def test_an_object_store_gets_each_final_key_once(client, memory, table, monkeypatch):
    written = []
    put = type(memory).put_file
    monkeypatch.setattr(
        type(memory), "put_file", lambda self, *words: written.append(words[1]) or put(self, *words)
    )
    monkeypatch.setattr(type(memory), "mv", None)
    score_on_cluster(quick_model(), table, "memory://box/out", client)
    rows = [name for name in written if name.endswith(".parquet")]
    assert sorted(rows) == [f"/box/out/part-{i:05}.parquet" for i in range(6)]


def test_another_job_starts_anew_beside_an_address(client, memory, table):
    first = score_on_cluster(quick_model(), table, "memory://box/out", client)
    other = score_on_cluster(quick_model(), table, "memory://box/out", client, only_id=True)
    assert other.folder.startswith("memory://box/out-")
    assert (first.n_taken_over, other.n_taken_over) == (0, 0)


def test_objects_of_others_are_refused(client, memory, table):
    memory.pipe_file("/box/out/mine.csv", b"1")
    with pytest.raises(TableError, match=r"memory://box/out has files .* such as 'mine.csv'"):
        score_on_cluster(quick_model(), table, "memory://box/out", client)


def test_a_live_job_keeps_others_away_and_a_dead_one_does_not(memory):
    store = store_of("memory://box/out")
    with (
        store.held(),
        pytest.raises(TableError, match=rf"another job \(process {os.getpid()} on .*\) writes to"),
        store_of("memory://box/out").held(),
    ):
        pass
    assert store.read(stores.LOCK) is None
    store.write(stores.LOCK, json.dumps({"owner": "dead", "host": "h", "process": 1}).encode())
    start = time.monotonic()
    with store.held():
        assert time.monotonic() - start >= 0.5  # it could have been alive


def test_of_two_jobs_that_come_at_once_one_is_refused(memory):
    outcomes = []

    def come():
        try:
            with store_of("memory://box/out").held():
                outcomes.append("held")
                time.sleep(1)
        except TableError as error:
            outcomes.append(str(error))

    both = [Thread(target=come) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert outcomes.count("held") == 1
    assert any("another job" in outcome for outcome in outcomes)


def test_a_job_whose_lease_was_taken_over_says_so(memory):
    store = store_of("memory://box/out")
    held = store.held()
    held.__enter__()
    store.write(stores.LOCK, b'{"owner": "somebody else"}')
    with pytest.raises(TableError, match="another job took over memory://box/out"):
        held.__exit__(None, None, None)
    assert b"somebody else" in store.read(stores.LOCK)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("foo://x/y", "foo://x/y is not a place to write to: Protocol not known: foo; give a"),
        ("hdfs://nowhere:1/y", "hdfs://nowhere:1/y (is not a place|needs one more package|cannot)"),
    ],
)
def test_an_address_that_leads_nowhere_gets_a_sentence(client, table, address, says):
    with pytest.raises(TableError, match=says):
        score_on_cluster(quick_model(), table, address, client)


def test_what_a_store_refuses_gets_a_sentence(memory, monkeypatch):
    def refuse(*words, **options):
        raise PermissionError("Access\n Denied.")

    for name in ("ls", "cat_file", "put_file", "get_file", "exists"):
        monkeypatch.setattr(type(memory), name, refuse)
    store = store_of("memory://box/out")
    for call in (
        store.names,
        lambda: store.read("x"),
        lambda: store.write("x", b""),
        lambda: store.checksum("x"),
        lambda: store.remove("x"),
    ):
        with pytest.raises(TableError, match="memory://box/out cannot be used: Access Denied; che"):
            call()


def test_file_addresses_are_local_folders(tmp_path):
    assert store_of(f"file://{tmp_path}/out").address == str(tmp_path / "out")
    assert store_of(tmp_path / "out").address == str(tmp_path / "out")


def test_workers_write_to_s3(table, tmp_path, monkeypatch):
    server = pytest.importorskip("moto.server", reason="pip install --group s3")
    pytest.importorskip("s3fs", reason="pip install --group s3")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", f"http://{host}:{port}")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        files = fsspec.filesystem("s3", skip_instance_cache=True)
        files.mkdir("box")
        with local_cluster(2) as client:
            for policy in (None, Budget(50)):
                place = f"s3://box/out{policy}"
                done = score_on_cluster(quick_model(), table, place, client, policy=policy)
                assert_as_on_one_machine(
                    done, files, place.removeprefix("s3://"), table, tmp_path, policy=policy
                )
                again = score_on_cluster(quick_model(), table, place, client, policy=policy)
                assert again == done._replace(n_taken_over=6)
    finally:
        running.stop()
