"""A fit learns from verdicts, which find their rows by key."""

import numpy as np
import pyarrow as pa
import pytest
from support.payment_tables import make_table

from devnet.review.events import Judged, StoreError
from devnet.review.labelled import labelled_rows
from devnet.review.row_keys import RowKeys
from devnet.review.store import LabelStore
from devnet.tables import TableModel
from devnet.tables.given_labels import StandIn


def store_of(path, table, verdicts, **how):
    """A store with verdicts on rows given by number."""
    keys = RowKeys.read(table, **how)
    store = LabelStore(path, keys.table)
    for number, verdict in verdicts.items():
        store.add(verdict, [Judged(keys.of([number])[0])], who="ana")
    return store


def rows(n_rows, **more):
    rng = np.random.default_rng(n_rows)
    return pa.table({"id": [f"P{i}" for i in range(n_rows)], "x": rng.normal(size=n_rows), **more})


@pytest.mark.parametrize("id_column", [None, "id"])
def test_labels_find_their_rows_in_any_order(tmp_path, id_column, seed):
    table = rows(40)
    verdicts = {3: "anomaly", 7: "normal", 8: "unsure", 9: "anomaly", 30: "normal"}
    with store_of(tmp_path / "r.db", table, verdicts, id_column=id_column) as store:
        order = np.random.default_rng(seed).permutation(40)
        found = labelled_rows(store, table.take(pa.array(order)))
        expected = {**verdicts, 8: None}
        assert found.column.to_pylist() == [expected.get(number) for number in order.tolist()]
        assert found[2:] == ("anomaly", "normal", 2, 2, 0)


def test_verdicts_on_rows_that_are_gone_are_counted(tmp_path):
    table = rows(10)
    verdicts = {0: "anomaly", 8: "anomaly", 9: "normal"}
    with store_of(tmp_path / "r.db", table, verdicts, id_column="id") as store:
        found = labelled_rows(store, table.slice(0, 5))
        assert (found.n_anomalies, found.n_normal, found.n_gone) == (1, 0, 2)
        with pytest.raises(StoreError, match="neither .* knows an anomaly .*confirm at least one"):
            labelled_rows(store, table.slice(1, 5))
        dismissed = labelled_rows(store, table.slice(9, 1), needs_anomalies=False)
        assert (dismissed.n_anomalies, dismissed.n_normal) == (0, 1)
        with pytest.raises(StoreError, match="has a verdict on any row; judge some first"):
            labelled_rows(store, table.slice(1, 5), needs_anomalies=False)
        with pytest.raises(StoreError, match="has other columns"):
            labelled_rows(store, rows(10, y=[0] * 10))


def test_the_store_has_the_last_word_over_the_tables_own_labels(tmp_path):
    fraud = ["Yes", "yes", None, "no", "yes ", None]
    table = rows(6, fraud=fraud)
    how = {"id_column": "id", "label": "fraud"}
    with store_of(tmp_path / "r.db", table, {1: "normal", 2: "anomaly"}, **how) as store:
        found = labelled_rows(store, table, label="fraud", anomaly="yes")
        assert found.column.to_pylist() == ["yes", "normal", "yes", None, "yes", None]
        assert found.name == "fraud"
        both = labelled_rows(store, table, label="fraud", anomaly="yes", normal="NO")
        assert both.column.to_pylist() == ["yes", "NO", "yes", "NO", "yes", None]
        assert both[2:] == ("yes", "NO", 3, 2, 0)
        without = labelled_rows(store, table)
        assert without.column.to_pylist() == [None, "normal", "anomaly", None, None, None]
        empty = table.set_column(2, "fraud", pa.nulls(6, pa.string()))
        assert labelled_rows(store, empty, label="fraud").n_anomalies == 1
        store.add("unsure", [Judged("P0")], who="ana")  # what the table says is doubted
        store.add("reopened", [Judged("P2")], who="ana")
        doubted = labelled_rows(store, table, label="fraud", anomaly="yes")
        assert doubted.column.to_pylist() == [None, "normal", None, None, "yes", None]


def test_the_word_for_normal_rows_is_not_that_for_anomalies(tmp_path):
    table = rows(4, state=["Normal", None, None, None])
    how = {"id_column": "id", "label": "state"}
    with store_of(tmp_path / "r.db", table, {1: "normal"}, **how) as store:
        found = labelled_rows(store, table, label="state", anomaly="Normal")
        assert found.column.to_pylist() == ["Normal", "not an anomaly", None, None]


@pytest.mark.parametrize("n_dismissed", [0, 12])
def test_a_fit_by_verdicts_is_the_fit_by_the_same_column(tmp_path, n_dismissed):
    table, label = make_table()[0], "fraud"
    marked = [value in (1, True) for value in table[label].to_pylist()]
    without = table.drop_columns(label)
    anomalies = dict.fromkeys(np.flatnonzero(marked).tolist(), "anomaly")
    others = np.flatnonzero(~np.array(marked))[:n_dismissed]
    verdicts = {**anomalies, **dict.fromkeys(others.tolist(), "normal")}
    with store_of(tmp_path / "r.db", without, verdicts) as store:
        found = labelled_rows(store, without)
    words = {"anomaly": "anomaly", "normal": "normal" if n_dismissed else None}
    expected = TableModel("PU trees", **words, random_state=0).fit(
        without, pa.array([verdicts.get(number) for number in range(len(marked))])
    )
    for given in (without, table):  # a column of the same name is not learned from
        model = TableModel("PU trees", **words, random_state=0)
        model.fit(given, StandIn(label, found.column))
        assert model.label_ == label
        assert label not in model.encoder_.read_columns()
        assert (model.n_labelled_, model.n_normal_) == (sum(marked), n_dismissed)
        np.testing.assert_array_equal(
            model.score(without)["anomaly_score"], expected.score(without)["anomaly_score"]
        )
        assert model.classes_.tolist() == [0, 1]
