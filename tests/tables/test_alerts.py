"""Alerts and explanations of rows of a table."""

import numpy as np
import pyarrow as pa
import pytest
from support.payment_tables import N, fitted, make_table

from devnet.significance import Budget
from devnet.tables import TableError, TableModel, find_alerts, score_table


@pytest.fixture(scope="module")
def table():
    return make_table()[0]


@pytest.fixture(scope="module")
def is_fraud():
    return make_table()[1]


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_contributions_of_columns_add_up_and_reasons_say_why(model, table):
    for one in model.explain(table, range(0, 60)):
        added = sum(one.contributions.values())
        assert one.score - one.baseline_score == pytest.approx(added, abs=1e-3)
        assert set(one.contributions) <= {"time", "amount", "shop", "limit"}
    (fraud,) = model.explain(table, [7])
    assert (fraud.row, fraud.id) == (7, "P00007")
    assert fraud.nearest.startswith("P")
    texts = " ".join(reason.text for reason in fraud.reasons)
    assert "amount" in texts
    assert "above typical" in texts


def test_a_labelled_row_is_most_like_another_one(model, table):
    (labelled,) = model.explain(table, 7)
    assert labelled.id == "P00007"
    assert labelled.nearest not in (None, "P00007")


def test_rows_are_explained_in_the_order_asked_for(model, table):
    rows = [2999, 3, 3, 1500]
    assert [one.row for one in model.explain(table, rows)] == rows
    with pytest.raises(TableError, match="there is no row 3,000: .* 0 to 2,999"):
        model.explain(table, [3000])


def test_alerts_leave_out_rows_that_are_labelled_already(model, table, is_fraud):
    found = find_alerts(model, table, policy=Budget(20), n_shown=5)
    assert (found.n_rows, found.n_alerts, len(found.shown)) == (N - 30, 20, 5)
    scores = [one.score for one in found.shown]
    assert scores == sorted(scores, reverse=True)
    labelled = table["fraud"].is_valid().to_numpy(zero_copy_only=False)
    assert not any(labelled[one.row] for one in found.shown)
    assert all(is_fraud[one.row] for one in found.shown)
    known = find_alerts(model, table, policy=Budget(20), n_shown=20, known=True)
    assert any(labelled[one.row] for one in known.shown)


@pytest.mark.parametrize("kind", [pa.bool_(), pa.string(), pa.int8(), pa.decimal128(22, 2)])
def test_known_anomalies_are_left_out_whatever_the_type_of_their_label(model, table, kind):
    labels = pa.array([1 if value == 1 else 0 for value in table["fraud"].to_pylist()])
    other = table.drop_columns(["fraud"]).append_column("fraud", labels.cast(kind))
    assert find_alerts(model, other, policy=Budget(5)).n_rows == N - 30


def test_a_budget_is_spent_where_scores_are_equal(table, tmp_path):
    few = TableModel("PU trees", parameters={"n_trees": 1}, random_state=0).fit(table, "fraud")
    few.policy = Budget(13)
    assert few.predict(table).sum() == 13
    assert find_alerts(few, table).n_alerts == 13
    assert score_table(few, table, tmp_path / "s.csv").n_alerts == 13


def test_far_dates_and_long_durations_are_explained():
    n_rows = 200
    columns = {
        "far": pa.array(np.arange(n_rows) * 40_000 + 3_000_000, pa.int32()).cast(pa.date32()),
        "long": pa.array(np.arange(n_rows) % 7 * 10**14, pa.duration("s")),
        "ratio": pa.array(np.tile([0.7, 0.3], n_rows // 2), pa.float32()),
        "fraud": [1 if i % 20 == 0 else None for i in range(n_rows)],
    }
    model = TableModel(categorical=["ratio"], random_state=0).fit(columns, "fraud")
    found = find_alerts(model, columns, policy=Budget(3))
    assert len(found.unfolded()) == 3
    texts = [r.text for one in model.explain(columns, range(20)) for r in one.reasons]
    assert not any("is new" in text for text in texts)


def test_a_stream_that_is_read_once_has_alerts_with_their_values(model, table):
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    found = find_alerts(model, stream, n_shown=3)
    assert found == find_alerts(model, table, n_shown=3)
    for one in found.shown:
        assert one.values == table.slice(one.row, 1).to_pylist()[0]
