"""Labels come in from tables once, and go out whole."""

import random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from support.hostile import EVIL

from devnet.review.events import Dealt, Judged, StoreError
from devnet.review.exchange import LabelFile, import_labels, write_labels
from devnet.review.row_keys import RowKeys
from devnet.review.store import LabelStore, ReviewedTable
from devnet.tables import TableError

TABLE = ReviewedTable("payments.csv", ("payment", "amount"), id_column="payment")
BY_ANA = LabelFile(who="ana")


@pytest.fixture
def store(tmp_path):
    with LabelStore(tmp_path / "review.db", TABLE) as store:
        yield store


def test_labels_are_taken_over_once(store):
    file = {
        "payment": [1, 2, 3, 4, 5],
        "verdict": ["anomaly", " Normal", "unsure", None, ""],
        "note": ["card stolen", None, "?", "x", "y"],
        "who": ["ben", None, None, "ben", "ben"],
    }
    assert import_labels(store, file, BY_ANA) == (3, 0, 0, 2, None)
    assert store.labels() == {"1": "anomaly", "2": "normal"}
    found = [(one.row, one.note, one.who, one.reason, one.together) for one in store.events()]
    assert found == [
        ("1", "card stolen", "ben", "imported", 1),
        ("2", "", "ana", "imported", 1),
        ("3", "?", "ana", "imported", 1),
    ]
    before = store.events()
    assert import_labels(store, file, BY_ANA) == (0, 3, 0, 2, None)
    assert store.events() == before


def test_other_verdicts_stay_unless_they_are_to_be_replaced(store):
    store.add("normal", [Judged("1")], who="lea")
    store.add("anomaly", [Judged("2")], who="lea")
    store.add("reopened", [Judged("2")], who="lea")
    file = {"id": ["1", "2"], "verdict": ["anomaly", "normal"]}
    assert import_labels(store, file, BY_ANA)[:3] == (1, 0, 1)
    assert store.labels() == {"1": "normal", "2": "normal"}
    assert import_labels(store, file, BY_ANA, replace=True)[:3] == (1, 1, 1)
    assert store.labels() == {"1": "anomaly", "2": "normal"}
    assert [one.verdict for one in store.history("1")] == ["normal", "anomaly"]


def test_words_and_columns_may_be_named(store, tmp_path):
    (tmp_path / "l.csv").write_text("payment,state\n007,1\n8,0\n9.0,0\n")
    words = LabelFile("state", "1", "0", "ana")
    import_labels(store, str(tmp_path / "l.csv"), words)
    assert store.labels() == {"007": "anomaly", "8": "normal", "9": "normal"}


def test_labels_of_rows_that_are_gone_are_counted_and_kept(store):
    keys = RowKeys.read({"payment": ["a", "b"], "amount": [1, 2]}, id_column="payment")
    file = {"id": ["a", "gone"], "verdict": ["normal", "anomaly"]}
    assert import_labels(store, file, BY_ANA, keys=keys).n_gone == 1
    assert store.labels() == {"a": "normal", "gone": "anomaly"}


@pytest.mark.parametrize(
    ("file", "words", "says"),
    [
        ({"id": ["a"], "verdict": ["fraud"]}, BY_ANA, "verdict 'fraud', which is neither"),
        ({"id": ["a"], "verdict": ["normal"]}, LabelFile(), "does not say who judged 'a'"),
        ({"id": ["a", None], "verdict": ["normal"] * 2}, BY_ANA, "has no id"),
        ({"x": ["a"], "verdict": ["normal"]}, BY_ANA, "'id'"),
        ({"id": ["a"], "state": ["normal"]}, BY_ANA, "'verdict'"),
        (
            {"id": ["a", "b", "a"], "verdict": ["normal", "normal", "anomaly"]},
            BY_ANA,
            "calls 'a' both normal and anomaly, the latter in row 2",
        ),
    ],
)
def test_files_that_do_not_say_what_is_what_are_refused_whole(store, file, words, says):
    with pytest.raises(TableError, match=says):
        import_labels(store, file, words)
    assert store.events() == []


def test_a_long_note_is_refused_with_all_others(store):
    file = {"id": ["a", "b"], "verdict": ["normal"] * 2, "note": ["", "x" * 2001]}
    with pytest.raises(StoreError, match="at most 2,000"):
        import_labels(store, file, BY_ANA)
    assert store.events() == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_what_is_exported_can_be_imported(store, tmp_path, seed, suffix):
    rng = random.Random(seed)
    for number in range(200):
        verdict = rng.choice(["anomaly", "normal", "unsure", "reopened"])
        note = rng.choice(["", 'a, "b"\nc', "=1+1", EVIL.strip()])
        store.add(verdict, [Judged(f"P {number % 50}", 1.5, 2)], who="Zoë", note=note)
    path = tmp_path / f"labels{suffix}"
    n_written = write_labels(store, path)
    with LabelStore(tmp_path / "other.db", TABLE) as other:
        assert import_labels(other, str(path), LabelFile()).n_added == n_written
        assert other.labels() == store.labels()
        notes = {row: one.note for row, one in store.latest().items() if one.verdict != "reopened"}
        assert {row: one.note for row, one in other.latest().items()} == notes
    assert import_labels(store, str(path), LabelFile())[:3] == (0, n_written, 0)


def test_everything_is_exported(store, tmp_path):
    model = store.add_model("first.devnet", "", who="lea", n_anomalies=3)
    dealt = Dealt("random", store.add("normal", [Judged("a")], who="ana")[0].at, 0.125)
    store.add("anomaly", [Judged("a", 2.5, 7), Judged("b")], who="ben", dealt=dealt, model=1)
    token = store.events()[-1].token
    store.undo(token, who="ben")
    assert write_labels(store, tmp_path / "e.parquet", all_events=True) == 5
    found = pq.read_table(tmp_path / "e.parquet").to_pylist()
    for row, event in zip(found, store.events(), strict=True):
        expected = {**event._asdict(), "id": event.row}
        del expected["row"]
        expected["model"] = model.name if event.model else None
        assert row == expected


def test_an_export_for_spreadsheets_runs_no_formula(store, tmp_path):
    store.add("normal", [Judged("=cmd()")], who="@ana", note="+1+1")
    write_labels(store, tmp_path / "l.csv", spreadsheet_safe=True)
    (row,) = pyarrow.csv.read_csv(tmp_path / "l.csv").to_pylist()
    assert (row["id"], row["who"], row["note"]) == ("'=cmd()", "'@ana", "'+1+1")


def test_an_empty_store_is_exported_with_its_columns(store, tmp_path):
    assert write_labels(store, tmp_path / "l.csv") == 0
    assert pa.csv.read_csv(tmp_path / "l.csv").column_names[:4] == ["id", "verdict", "note", "who"]
