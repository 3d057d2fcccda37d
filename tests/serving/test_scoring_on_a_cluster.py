"""A cluster writes what one machine writes, to the row, and goes on where it was."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from support.cluster_tables import (
    assert_as_on_one_machine,
    make_rows,
    quick_model,
    read_parts,
    threads_as_workers,
    write_files,
)

pytest.importorskip("distributed", reason="clusters are Dask's")

from devnet import (  # noqa: E402
    Budget,
    FalseAlarmRate,
    FalseDiscoveryRate,
    TableError,
    TableModel,
)
from devnet.serving.cluster import score_on_cluster  # noqa: E402
from devnet.tables.sources import parquet  # noqa: E402

N = 12_000
POLICIES = [
    None,
    FalseAlarmRate(0.05),
    Budget(1),
    Budget(77),
    Budget(2 * N),
    FalseDiscoveryRate(0.4),
]


@pytest.fixture(scope="module")
def client():
    with threads_as_workers() as found:
        yield found


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parquet, "PART_ROWS", 2000)


@pytest.fixture
def table(tmp_path):
    return write_files(tmp_path / "in", make_rows(N), n_files=3, row_group_size=1000)


def score(client, table, folder, **options):
    return score_on_cluster(quick_model(), table, folder, client, **options)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("only_id", [False, True])
def test_parts_are_what_one_machine_writes(client, table, tmp_path, policy, only_id):
    done = score(client, table, tmp_path / "out", policy=policy, only_id=only_id)
    assert (done.n_parts, done.n_taken_over, done.n_rows) == (6, 0, N)
    assert_as_on_one_machine(done, table, tmp_path, policy=policy, only_id=only_id)


@pytest.mark.parametrize("n", [1, 5, 40, 400, 4000])
def test_of_equal_rows_in_several_parts_the_first_are_alerts(client, tmp_path, n):
    rows = make_rows(60).take(np.tile(np.arange(60), 100))
    table = write_files(tmp_path / "in", rows, n_files=2, row_group_size=700)
    done = score(client, table, tmp_path / "out", policy=Budget(n))
    assert done.n_alerts == n
    assert_as_on_one_machine(done, table, tmp_path, policy=Budget(n))


def test_text_files_are_counted_and_read_alike(client, tmp_path):
    """The first file decides how texts are read, and later rows count from all files before."""
    rows = make_rows(3000).drop_columns(["id"])
    (tmp_path / "in").mkdir()
    for i, size in enumerate((700, 1, 2299)):
        part = rows.slice(sum((700, 1, 2299)[:i]), size)
        part = part.set_column(0, "a", pa.array([f"{a:.1f} EUR" for a in part["a"].to_pylist()]))
        csv.write_csv(part, tmp_path / "in" / f"{i}.csv")
    table = str(tmp_path / "in" / "*.csv")
    for only_id in (False, True):
        done = score(client, table, tmp_path / f"out{only_id}", only_id=only_id)
        assert done.n_parts == 3
        assert_as_on_one_machine(done, table, tmp_path, only_id=only_id)
    assert read_parts(done.folder)["row"].to_pylist() == list(range(3000))


def test_a_column_without_values_in_one_file_has_its_type_from_the_others(client, tmp_path):
    (tmp_path / "in").mkdir()
    rows = make_rows(300)
    pq.write_table(rows.set_column(3, "kind", pa.nulls(300)), tmp_path / "in" / "0.parquet")
    pq.write_table(rows, tmp_path / "in" / "1.parquet")
    done = score(client, tmp_path / "in", tmp_path / "out")
    assert_as_on_one_machine(done, tmp_path / "in", tmp_path)


def test_nested_columns_are_flattened_as_on_one_machine(client, tmp_path):
    rows = make_rows(900)
    nested = pa.StructArray.from_arrays(
        [rows["kind"].combine_chunks(), rows["a"].combine_chunks()], names=["name", "size"]
    )
    table = write_files(tmp_path / "in", rows.append_column("more", nested), 2, 300)
    done = score(client, table, tmp_path / "out", policy=Budget(9))
    assert "more.name" in read_parts(done.folder).column_names
    assert_as_on_one_machine(done, table, tmp_path, policy=Budget(9))


@pytest.mark.parametrize("policy", [None, Budget(3), FalseDiscoveryRate(0.1)], ids=str)
def test_a_table_without_rows_is_a_part_without_rows(client, tmp_path, policy):
    pq.write_table(make_rows(5).slice(0, 0), tmp_path / "none.parquet")
    done = score(client, tmp_path / "none.parquet", tmp_path / "out", policy=policy)
    assert (done.n_parts, done.n_rows, done.n_alerts) == (1, 0, 0)
    assert_as_on_one_machine(done, tmp_path / "none.parquet", tmp_path, policy=policy)


def test_rows_are_counted_for_those_who_wait(client, table, tmp_path):
    counts = []
    score(client, table, tmp_path / "out", on_rows=counts.append)
    assert counts == sorted(counts)
    assert counts[-1] == N


@pytest.mark.parametrize("policy", [None, Budget(77)], ids=str)
def test_a_finished_job_is_known_again_and_nothing_is_done(client, table, tmp_path, policy):
    done = score(client, table, tmp_path / "out", policy=policy)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.parquet")}
    again = score(client, table, tmp_path / "out", policy=policy)
    assert again == done._replace(n_taken_over=done.n_parts)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(before) == done.n_parts  # nothing is left staged


def test_only_parts_that_are_missing_or_damaged_are_done_again(client, table, tmp_path):
    out = tmp_path / "out"
    done = score(client, table, out)
    (out / "part-00001.parquet").unlink()
    damaged = out / "part-00003.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"!")
    (out / "_devnet" / "scored" / "part-00004.json").write_text("{}")
    untouched = out / "part-00000.parquet"
    before = untouched.stat().st_mtime_ns
    assert score(client, table, out) == done._replace(n_taken_over=3)
    assert untouched.stat().st_mtime_ns == before
    assert_as_on_one_machine(done, table, tmp_path)


@pytest.mark.parametrize("step", ["staged", "alerts"])
def test_a_job_that_waits_for_all_scores_goes_on_in_either_step(
    client, table, tmp_path, monkeypatch, step
):
    from devnet.serving.cluster import job

    def killed(*arguments):
        raise KeyboardInterrupt

    stop_at = {"staged": "alert_part", "alerts": "manifest_of"}[step]
    monkeypatch.setattr(job, stop_at, killed)
    if step == "staged":
        monkeypatch.setattr(job._Job, "_alerts", killed)
    with pytest.raises(KeyboardInterrupt):
        score(client, table, tmp_path / "out", policy=Budget(50))
    assert not (tmp_path / "out" / "_SUCCESS").exists()
    assert bool([*(tmp_path / "out").glob("part-*")]) == (step == "alerts")
    monkeypatch.undo()
    monkeypatch.setattr(parquet, "PART_ROWS", 2000)
    done = score(client, table, tmp_path / "out", policy=Budget(50))
    assert done.n_taken_over == 6
    assert_as_on_one_machine(done, table, tmp_path, policy=Budget(50))


def touch(path):
    rows = pq.read_table(path)
    pq.write_table(rows.slice(0, len(rows) - 1), path)


@pytest.mark.parametrize("change", ["policy", "columns", "model", "table"])
def test_another_job_starts_anew_beside_and_nothing_is_mixed(client, table, tmp_path, change):
    out, model, options = tmp_path / "out", quick_model(), {}
    first = score(client, table, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    if change == "policy":
        options = {"policy": Budget(9)}
    elif change == "columns":
        options = {"only_id": True}
    elif change == "table":
        touch(tmp_path / "in" / "01.parquet")
    else:
        model = TableModel("DevNet", parameters={"n_epochs": 1}, random_state=3)
        model.fit(make_rows(5000, seed=1), "odd")
    done = score_on_cluster(model, table, out, client, **options)
    assert Path(done.folder).parent == tmp_path
    assert done.folder.startswith(f"{out}-")
    assert done.n_taken_over == 0
    assert f"these are in {done.folder}" in str(done.notes[0])
    assert {path: path.read_bytes() for path in before} == before
    assert score_on_cluster(model, table, out, client, **options).n_taken_over == done.n_parts
    if change != "table":
        assert score(client, table, out) == first._replace(n_taken_over=6)


def test_the_manifest_and_the_sidecars_say_what_was_done(client, table, tmp_path):
    out = tmp_path / "out"
    done = score(client, table, out)
    manifest = json.loads((out / "_manifest.json").read_text())
    assert manifest["n_rows"] == N
    assert sum(part["n_rows"] for part in manifest["parts"]) == N
    assert [part["name"] for part in manifest["parts"]] == sorted(
        path.name for path in out.glob("*.parquet")
    )
    sidecar = json.loads((out / "_devnet" / "scored" / "part-00002.json").read_text())
    assert sidecar["key"]["model"] == manifest["model"]
    assert sidecar["checksums"]["part-00002.parquet"] == manifest["parts"][2]["checksum"]
    assert pq.read_table(out).num_rows == done.n_rows  # other readers see parts alone


def test_a_folder_with_files_of_others_is_refused(client, table, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes\n.txt").write_text("mine")
    with pytest.raises(TableError, match=r"not parts of a scored table, such as 'notes\\\\n.txt'"):
        score(client, table, out)
    assert [path.name for path in out.iterdir()] == ["notes\n.txt"]
    shutil.rmtree(out)
    score(client, table, out)
    (out / "other.parquet").write_text("mine")
    with pytest.raises(TableError, match="such as 'other.parquet'; give a new or an empty folder"):
        score(client, table, out)


def test_two_jobs_on_one_folder_are_refused(client, table, tmp_path):
    refused = []

    def meanwhile(n_rows):
        if not refused:
            with pytest.raises(TableError, match="another job writes to .*out right now") as found:
                score(client, table, tmp_path / "out", policy=Budget(3))
            refused.append(found)

    score(client, table, tmp_path / "out", on_rows=meanwhile)
    assert refused


def test_a_part_that_cannot_be_read_is_named_and_the_others_are_kept(client, table, tmp_path):
    path = tmp_path / "in" / "01.parquet"
    whole = path.read_bytes()
    start = len(whole) // 2
    path.write_bytes(whole[:start] + bytes(200) + whole[start + 200 :])
    with pytest.raises(TableError, match=r"01\.parquet cannot be read.*It is part [23]") as found:
        score(client, table, tmp_path / "out")
    assert "run the same command again" in str(found.value)
    assert not (tmp_path / "out" / "_SUCCESS").exists()
    for part in (tmp_path / "out").glob("part-*"):
        pq.read_table(part)  # whatever has its final name is whole


def test_a_table_that_does_not_fit_is_refused_before_anything_is_written(client, tmp_path):
    table = write_files(tmp_path / "in", make_rows(100).drop_columns(["b"]), 2, 50)
    with pytest.raises(TableError, match="'b'|b "):
        score(client, table, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("scored.parquet", "called like a file; give a folder, such as .*scored/"),
        ("in", "would be part of the table"),
        ("no/where", "there is no folder .*no; make it"),
        ("a_file", "is a file; the parts need a folder"),
    ],
)
def test_a_place_that_is_none_gets_a_sentence(client, table, tmp_path, place, says):
    (tmp_path / "a_file").write_text("")
    with pytest.raises(TableError, match=says):
        score(client, table, tmp_path / place)


def test_a_table_in_memory_gets_a_sentence(client, tmp_path):
    with pytest.raises(TableError, match="from files, not from a Table; write it to Parquet"):
        score(client, make_rows(10), tmp_path / "out")


def test_a_file_that_changes_meanwhile_is_refused(client, table, tmp_path):
    def change(n_rows):
        touch(tmp_path / "in" / "02.parquet")

    with pytest.raises(TableError, match="was changed while it was read|had .* rows"):
        score(client, table, tmp_path / "out", on_rows=change)
