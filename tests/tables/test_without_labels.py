"""A method that learns without labels makes a model of a table that has none."""

import pytest
from support.payment_tables import make_table

from devnet import TableModel, find_alerts, load
from devnet.tables.table_error import TableError


@pytest.fixture(scope="module")
def table():
    return make_table()[0].drop_columns("fraud")


@pytest.fixture(scope="module")
def model(table):
    return TableModel("iForest", random_state=0).fit(table)


def test_it_ranks_and_explains(model, table):
    _, is_fraud = make_table()
    found = find_alerts(model, table, n_shown=10)
    assert sum(is_fraud[one.row] for one in found.shown) >= 8
    assert all(one.reasons and one.nearest is None for one in found.shown)
    assert (model.label_, model.n_labelled_) == ("", 0)


def test_it_is_kept_in_a_file(model, table, tmp_path):
    path = tmp_path / "m.devnet"
    model.save(path)
    assert load(path).score(table).equals(model.score(table))
    assert repr(load(path)) == "TableModel('iForest', fitted to no labels)"


def test_other_methods_still_need_a_label(table):
    with pytest.raises(TableError, match="no labels are given"):
        TableModel().fit(table)


def test_a_column_of_labels_may_still_be_named():
    with_label = make_table()[0]
    model = TableModel("iForest", random_state=0).fit(with_label, "fraud")
    assert model.n_labelled_ == 30
    assert "fraud" not in [one.name for one in model.encoder_.columns]
