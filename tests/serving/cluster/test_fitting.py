"""Training from a cluster's table gives the model of one machine, to the bit."""

import logging
import os
import signal
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.damaged_files import damage_a_page
from support.payment_tables import make_table

from devnet.serving.cluster.fitting import _on_workers, fit_on_cluster
from devnet.tables import TableError, TableModel

distributed = pytest.importorskip("distributed")

N = 3000
QUICK = {"n_epochs": 1, "n_batches": 2}


@pytest.fixture(scope="module")
def client():
    """Two real worker processes."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table of three files, in many parts."""
    monkeypatch.setattr("devnet.tables.sources.parquet.PART_ROWS", 300)
    table, _ = make_table(N)
    for i in range(3):
        path = tmp_path / f"{i}.parquet"
        pq.write_table(table.slice(i * N // 3, N // 3), path, row_group_size=150)
    return tmp_path


def new_model():
    return TableModel("DevNet", parameters=QUICK, random_state=2)


def file_of(model, folder):
    model.save(folder / "model.devnet")
    return (folder / "model.devnet").read_bytes()


def plain_sentence(table, label="fraud"):
    with pytest.raises(TableError) as plain:
        new_model().fit(table, label)
    return str(plain.value)


def test_worker_processes_give_the_model_of_one_machine(client, folder):
    told = []
    table = str(folder / "*.parquet")
    model = fit_on_cluster(new_model(), table, "fraud", client, on_rows=told.append)
    assert told == [N]
    assert file_of(model, folder) == file_of(new_model().fit(table, "fraud"), folder)


def test_a_name_of_files_is_relative_to_where_it_was_typed(client, folder, monkeypatch):
    plain = file_of(new_model().fit(str(folder / "*.parquet"), "fraud"), folder)
    monkeypatch.chdir(folder)
    assert file_of(fit_on_cluster(new_model(), "*.parquet", "fraud", client), folder) == plain


def test_a_worker_that_dies_changes_nothing(client, folder):
    table = str(folder / "*.parquet")
    plain = file_of(new_model().fit(table, "fraud"), folder)
    pid = next(iter(client.run(os.getpid).values()))

    def kill():
        time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    model = fit_on_cluster(new_model(), table, "fraud", client)
    killer.join()
    assert file_of(model, folder) == plain
    client.wait_for_workers(2, timeout=60)


def test_faults_have_the_words_of_one_machine(client, folder):
    table = str(folder / "*.parquet")
    with pytest.raises(TableError) as found:
        fit_on_cluster(new_model(), table, "shop", client)
    assert "has 3 or more different values" in str(found.value)
    assert str(found.value) == plain_sentence(table, "shop")
    damage_a_page(folder / "1.parquet")
    with pytest.raises(TableError) as found:
        fit_on_cluster(new_model(), table, "fraud", client)
    assert "1.parquet cannot be read: it is damaged" in str(found.value)
    assert str(found.value) == plain_sentence(table)


def test_a_late_value_decides_for_files_that_others_have_read(client, tmp_path):
    for i in range(3):
        days = [f"0{1 + j % 9}/0{1 + j % 9}/2026" for j in range(200)]
        if i == 2:
            days[150] = "25/03/2026"
        rows = [f"{day},{j % 7},{int(j % 50 == 3)}" for j, day in enumerate(days)]
        (tmp_path / f"{i}.csv").write_text("\n".join(["day,amount,fraud", *rows, ""]))
    table = str(tmp_path / "*.csv")
    model = fit_on_cluster(new_model(), table, "fraud", client)
    assert model.encoder_.reader.readings["day"].order == "day first"
    assert file_of(model, tmp_path) == file_of(new_model().fit(table, "fraud"), tmp_path)


def test_workers_that_always_die_are_told(client):
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    with pytest.raises(TableError, match="workers died again and again .* more memory"):
        _on_workers(client, os._exit, max, [1])
    client.wait_for_workers(2, timeout=60)


def test_a_table_in_memory_is_refused():
    with pytest.raises(
        TableError, match="reads tables from files, not an object of the type Table"
    ):
        fit_on_cluster(new_model(), pa.table({"a": [1]}), "a", None)


def test_a_worker_without_the_files_is_named(folder):
    class Elsewhere:
        def run(self, function, paths):
            return {"tcp://10.0.0.5:1": None, "tcp://10.0.0.6:1": paths[0]}

    with pytest.raises(
        TableError, match=r"tcp://10.0.0.6:1 does not find .*0\.parquet; .*all of them"
    ):
        fit_on_cluster(new_model(), folder, "fraud", Elsewhere())
