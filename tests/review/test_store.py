"""The store keeps every event, and is one file of one table."""

import os
import random
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from support.hostile import EVIL

from devnet.review.events import (
    LONGEST_NOTE,
    REASONS,
    VERDICTS,
    Dealt,
    Event,
    Judged,
    StoreError,
    standing,
)
from devnet.review.store import LabelStore, ReviewedTable
from devnet.review.store_file import TABLES

TABLE = ReviewedTable("payments.csv", ("id", "amount"), id_column="id", label="fraud")


@pytest.fixture
def store(tmp_path):
    with LabelStore(tmp_path / "review.db", TABLE) as store:
        yield store


def rows(*keys):
    return [Judged(key) for key in keys]


def test_an_event_is_kept_as_it_was_given(store):
    model = store.add_model("first.devnet", "sha256:ab", who="lea", n_anomalies=5)
    at = datetime(2026, 11, 17, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    given = Judged(f"../{EVIL}", score=7.25, rank=3)
    dealt = Dealt("random", at, 1 / 4000)
    (event,) = store.add(
        "unsure", [given], who="Zoë", note=EVIL, dealt=dealt, model=model.number, token="t-1"
    )
    assert event[1:5] == (given.row, "unsure", EVIL, "Zoë")
    assert event[6:] == (1, 7.25, 3, "random", at, 1 / 4000, 1, "t-1", None)
    assert event.dealt_at.tzinfo is not None
    assert abs(event.at - datetime.now(UTC)) < timedelta(minutes=1)
    path = store.path
    store.close()
    with LabelStore(path) as again:
        assert again.events() == [event]
        assert again.table == TABLE


def test_labels_are_the_latest_events_of_rows(store, seed):
    rng, expected = random.Random(seed), {}
    for _ in range(300):
        keys = rng.sample("abcdefghij", rng.choice([1, 1, 3]))
        verdict = rng.choice(VERDICTS)
        store.add(verdict, rows(*keys), who="ana")
        expected.update(dict.fromkeys(keys, verdict))
    latest = {row: event.verdict for row, event in store.latest().items()}
    assert latest == expected
    known = {row: one for row, one in expected.items() if one in ("anomaly", "normal")}
    assert store.labels() == known


def test_an_undo_restores_what_was_before_and_can_be_undone(store, seed):
    rng, states, tokens = random.Random(seed), [{}], []
    for number in range(20):
        keys = rng.sample("abcde", 2)
        store.add(rng.choice(["anomaly", "normal"]), rows(*keys), who="ana", token=f"t{number}")
        states.append(store.labels())
        tokens.append(f"t{number}")
    kept = standing(store.events())
    for number in reversed(range(20)):
        store.undo(tokens[number], who="ben", token=f"u{number}")
        assert store.labels() == states[number]
    assert standing(store.events()) == []
    store.undo("u0", who="ana")
    assert store.labels() == states[1]
    assert standing(store.events()) == kept[:2]
    store.undo("t0", who="ana")
    assert store.labels() == {}
    assert len(store.events()) == 84


def test_an_undo_is_refused_after_a_later_verdict(store):
    store.add("normal", rows("a", "b"), who="ana", token="t")
    store.add("anomaly", rows("b"), who="ben")
    with pytest.raises(StoreError, match="'b' has a later verdict, anomaly by ben; nothing was"):
        store.undo("t", who="ana")
    with pytest.raises(StoreError, match="no verdict 'x' to undo"):
        store.undo("x", who="ana")
    assert len(store.events()) == 3


def test_a_request_that_comes_twice_is_recorded_once(store):
    first = store.add("normal", rows("a", "b"), who="ana", token="t")
    assert store.add("normal", rows("a", "b"), who="ana", token="t") == first
    undone = store.undo("t", who="ana", token="u")
    assert store.undo("t", who="ana", token="u") == undone
    assert len(store.events()) == 4
    with pytest.raises(StoreError, match="names another verdict, that 'a' is normal"):
        store.add("anomaly", rows("a", "b"), who="ana", token="t")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"verdict": "fraud"}, "verdict 'fraud' is unknown; give one of anomaly, normal"),
        ({"rows": []}, "a verdict on 0 rows"),
        ({"rows": rows("a", "a")}, "'a' is given twice"),
        ({"rows": rows("x" * 1001)}, "has 1,001 characters; at most 1,000"),
        ({"rows": rows("  ")}, "the row id is empty"),
        ({"rows": rows(7)}, "the row id is a int"),
        ({"rows": rows("\ud800")}, "not valid Unicode"),
        ({"rows": [Judged("a", score=float("nan"))]}, "score nan"),
        ({"rows": [Judged("a", rank=0)]}, "rank 0; 1 is the first"),
        ({"who": " "}, "name of who judges is empty"),
        ({"note": "x" * (LONGEST_NOTE + 1)}, "at most 2,000"),
        ({"token": "x" * 65}, "at most 64"),
        ({"dealt": Dealt("luck")}, "reason 'luck' is unknown"),
        ({"dealt": Dealt("random")}, "a random card has no probability"),
        ({"dealt": Dealt("random", None, 1.5)}, "probability 1.5"),
        ({"dealt": Dealt("highest", datetime(2026, 1, 1))}, "has no zone"),
        ({"model": 7}, "does not take this"),
    ],
)
def test_what_cannot_be_kept_is_refused_whole(store, wrong, says):
    given = {"verdict": "normal", "rows": rows("b", "a"), "who": "ana", **wrong}
    with pytest.raises(StoreError, match=says):
        store.add(given.pop("verdict"), given.pop("rows"), **given)
    assert store.events() == []


def test_nothing_recorded_can_be_changed(store):
    model = store.add_model("m", "", who="lea", n_anomalies=1)
    store.use(model.number, who="lea")
    store.add("normal", rows("a"), who="ana")
    with sqlite3.connect(store.path) as other:
        for table in TABLES:
            changes = [
                f"DELETE FROM {table}",
                f"UPDATE {table} SET rowid = 9",
                f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
                f"INSERT OR IGNORE INTO {table} SELECT * FROM {table}",
            ]
            for statement in changes:
                with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                    other.execute(statement)
        columns = ", ".join(Event._fields[1:])
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            other.execute(f"INSERT OR REPLACE INTO events ({columns}) SELECT {columns} FROM events")
    other.close()
    assert store.labels() == {"a": "normal"}


def test_every_word_of_the_schema_is_one_that_the_library_knows(store):
    for verdict in VERDICTS:
        for reason in REASONS:
            store.add(verdict, rows("a"), who="ana", dealt=Dealt(reason, None, 0.5))
    assert len(store.events()) == len(VERDICTS) * len(REASONS)


def test_models_are_kept_and_one_step_back_is_possible(store):
    assert store.model_in_use() is None
    first = store.add_model("1.devnet", "sha256:1", who="lea", n_anomalies=5)
    second = store.add_model(
        "2.devnet",
        "sha256:2",
        who="lea",
        n_anomalies=9,
        n_normal=12,
        last_event=21,
        figures={"auc_pr": 0.61, "interval": [0.5, 0.7]},
        parent=first.number,
    )
    store.use(first.number, who="lea")
    store.use(second.number, who="lea")
    assert store.model_in_use() == second
    store.use(second.parent, who="lea")
    assert store.model_in_use() == first
    assert store.models() == [first, second]
    assert second[5:] == (9, 12, 21, {"auc_pr": 0.61, "interval": [0.5, 0.7]}, 1)
    with pytest.raises(StoreError, match="has no model 9"):
        store.use(9, who="lea")


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (TABLE._replace(id_column="card"), "knows the rows of payments.csv by 'id', not by 'card'"),
        (TABLE._replace(id_column=None), "by 'id', not by their values"),
        (TABLE._replace(columns=("id", "sum")), r"it lacks 'amount'; new is 'sum'"),
        (TABLE._replace(columns=("id",), label="amount"), r"made when 'amount' was a column of"),
    ],
)
def test_the_store_of_another_table_is_refused(store, other, says):
    with pytest.raises(StoreError, match=says):
        LabelStore(store.path, other)


def test_a_table_may_be_renamed_and_its_columns_reordered(store):
    renamed = TABLE._replace(name="p2.csv", columns=TABLE.columns[::-1], label=None)
    with LabelStore(store.path, renamed) as again:
        assert again.table == TABLE


def _text(path):
    path.write_text("id,verdict\n1,normal\n" * 100)


def _database(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()


def _changed(path, statement):
    LabelStore(path, TABLE).close()
    with sqlite3.connect(path) as other:
        other.execute(statement)
    other.close()


def _damaged(path):
    with LabelStore(path, TABLE) as store:
        for number in range(300):
            store.add("normal", rows(f"row {number}"), who="ana", note="x" * 100)
    content = bytearray(path.read_bytes())
    content[4096 * 4 : 4096 * 12] = os.urandom(4096 * 8)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_text, "not a store of labels, or it is damaged .*sqlite3"),
        (_database, "is a database, but not a store of labels"),
        (lambda path: _changed(path, "PRAGMA user_version = 3"), "version 3, and this devnet"),
        (
            lambda path: _changed(path, "PRAGMA user_version = 1"),
            "version 1, made by an earlier devnet, .* export the labels with the earlier one",
        ),
        (lambda path: _changed(path, "DROP TRIGGER events_no_update"), "changed by another"),
        (lambda path: _changed(path, "CREATE VIEW v AS SELECT 1"), "changed by another"),
        (_damaged, "it is damaged"),
        (lambda path: path.mkdir(), "is a folder"),
        (os.mkfifo, "is a pipe or device"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, make, says):
    path = tmp_path / "review.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for table in (None, TABLE):
        with pytest.raises(StoreError, match=says):
            LabelStore(path, table)
    assert before is None or path.read_bytes() == before


def test_a_store_is_made_only_for_a_table(tmp_path):
    with pytest.raises(StoreError, match="there is no store"):
        LabelStore(tmp_path / "review.db")
    with pytest.raises(StoreError, match="the folder .* does not exist"):
        LabelStore(tmp_path / "no" / "review.db", TABLE)
    (tmp_path / "review.db").touch()  # its making was interrupted
    with pytest.raises(StoreError, match="is empty"):
        LabelStore(tmp_path / "review.db")
    LabelStore(tmp_path / "review.db", TABLE).close()


def test_odd_names_of_files_are_only_names(tmp_path):
    path = tmp_path / "a?mode=memory&b#c %41.db"
    LabelStore(path, TABLE).close()
    assert path.is_file()
    with LabelStore(path) as store:
        assert store.table == TABLE


def test_a_locked_store_gets_a_sentence_and_readers_go_on(store, monkeypatch):
    store.add("normal", rows("a"), who="ana")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._connections.writer.execute("PRAGMA busy_timeout = 20")
    with pytest.raises(StoreError, match="another process has been writing.*Nothing was recorded"):
        store.add("anomaly", rows("b"), who="ana")
    assert store.labels() == {"a": "normal"}
    other.execute("ROLLBACK")
    other.close()
    store.add("anomaly", rows("b"), who="ana")
    assert len(store.labels()) == 2


def test_a_snapshot_stays_as_it_was_and_never_keeps_a_writer_waiting(store):
    store.add("normal", rows("a"), who="ana")
    with store.snapshot():
        before = store.labels()
        writer = threading.Thread(
            target=store.add, args=("anomaly", rows("b")), kwargs={"who": "b"}
        )
        writer.start()
        writer.join(timeout=5)
        assert not writer.is_alive()
        assert store.labels() == before == {"a": "normal"}
    assert store.labels() == {"a": "normal", "b": "anomaly"}


def test_threads_and_other_processes_write_at_once(store):
    def write(name):
        for number in range(40):
            store.add("normal", rows(f"{name} {number}"), who=name)
            store.labels()

    program = (
        "import sys\n"
        "from devnet.review.store import LabelStore\n"
        "from devnet.review.events import Judged\n"
        "with LabelStore(sys.argv[1]) as store:\n"
        "    for number in range(40):\n"
        "        store.add('anomaly', [Judged(f'other {number}')], who='other')\n"
    )
    other = subprocess.Popen([sys.executable, "-c", program, str(store.path)])
    threads = [threading.Thread(target=write, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert other.wait() == 0
    events = store.events()
    assert len({event.row for event in events}) == len(events) == 200
    assert [event.number for event in events] == list(range(1, 201))


def test_a_full_disk_gets_a_sentence_and_loses_nothing(tmp_path):
    program = f"""
import resource, signal, sys
sys.path[:0] = {sys.path!r}
from devnet.review.store import LabelStore
from devnet.review.events import Judged, StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store, done = LabelStore(sys.argv[1]), 0
resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))
try:
    while done < 10_000:
        store.add("normal", [Judged(f"row {{done}}")], who="ana", note="x" * 1000)
        done += 1
except StoreError as error:
    print(done, error)
"""
    path = tmp_path / "review.db"
    LabelStore(path, TABLE).close()
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    number, _, said = done.stdout.partition(" ")
    assert "the disk is full, or does not answer" in said
    with LabelStore(path) as store:
        assert len(store.events()) == int(number) > 0
        store.add("normal", rows("more"), who="ana")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_gets_a_sentence(store):
    store.close()
    store.path.chmod(0o400)
    with pytest.raises(StoreError, match="must be writable"):
        LabelStore(store.path, TABLE)


def test_the_file_is_kept_by_full_synchronisation(store):
    store.add("normal", rows("a"), who="ana")
    with store.snapshot() as reader:
        for connection in (store._connections.writer, reader):
            found = [
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")
            ]
            assert found == ["wal", 2, 1, 0]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_threads_that_come_and_go_leave_no_connection_open(store):
    def open_files():
        return len([*Path("/proc/self/fd").iterdir()])

    store.labels()
    before = open_files()
    for _ in range(30):
        thread = threading.Thread(target=store.labels)
        thread.start()
        thread.join()
    assert open_files() == before
    with store.snapshot():
        store.close()
        assert store.labels() == {}  # of the same moment
    assert open_files() < before


def test_a_store_that_cannot_be_made_is_made_by_the_next_process(tmp_path, monkeypatch):
    """Its blank file stays: to remove it could take away what another process is making."""

    def full(*given):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("devnet.review.store.make_tables", full)
        with pytest.raises(StoreError):
            LabelStore(tmp_path / "review.db", TABLE)
    with LabelStore(tmp_path / "review.db", TABLE) as store:
        store.add("normal", rows("a"), who="ana")
        assert store.labels() == {"a": "normal"}


def test_processes_that_make_a_store_at_once_all_write_to_it(tmp_path):
    program = (
        "import sys\n"
        "from devnet.review.store import LabelStore, ReviewedTable\n"
        "from devnet.review.events import Judged\n"
        "print('ready', flush=True)\n"
        "for path in sys.stdin:\n"
        "    table = ReviewedTable('payments.csv', ('id', 'amount'), id_column='id')\n"
        "    with LabelStore(path.strip(), table) as store:\n"
        "        store.add('anomaly', [Judged(sys.argv[1])], who='other')\n"
        "    print('done', flush=True)\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    names = ["w0", "w1", "w2", "w3"]
    writers = [subprocess.Popen([sys.executable, "-c", program, name], **pipes) for name in names]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for number in range(30):
        path = tmp_path / f"{number}.db"
        for writer in writers:
            print(path, file=writer.stdin, flush=True)
        assert [writer.stdout.readline() for writer in writers] == ["done\n"] * 4
        with LabelStore(path) as store:
            assert set(store.labels()) == {*names}
    for writer in writers:
        writer.communicate()
