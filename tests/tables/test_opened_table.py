"""A table opened for a model: checked once, scored batch by batch."""

import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet.core.read_ahead import map_ahead
from devnet.datasets.payments import make_payments
from devnet.significance import Budget
from devnet.tables import TableModel, find_alerts, score_table
from devnet.tables.encoder import TableEncoder
from devnet.tables.opened_table import OpenedTable
from devnet.tables.sources import source
from devnet.tables.sources.opening import open_table

TINY = {
    "deviation ensemble": {"n_networks": 3, "n_trees": 6},
    "DevNet": {"n_epochs": 1, "n_batches": 10, "device": "cpu"},
}


@pytest.fixture(scope="module")
def payments():
    return make_payments(6000).table


@pytest.fixture(scope="module", params=TINY)
def model(request, payments):
    table = TableModel(request.param, parameters=TINY[request.param], random_state=0)
    return table.fit(payments, "fraud")


def scores_of(model, table):
    return np.concatenate([one.scores for one in OpenedTable(model, table).scored_batches()])


@pytest.mark.parametrize("batch_rows", [97, 1000, 4096])
def test_scores_do_not_change_by_a_bit_with_the_size_of_batches(
    model, payments, batch_rows, monkeypatch
):
    whole = scores_of(model, payments)
    monkeypatch.setattr(source, "BATCH_ROWS", batch_rows)
    assert np.array_equal(whole, scores_of(model, payments))


def test_columns_are_checked_once_however_many_batches_there_are(
    model, payments, tmp_path, monkeypatch
):
    checked, check = [], TableEncoder.check

    def counted(*arguments):
        checked.append(arguments)
        return check(*arguments)

    monkeypatch.setattr(TableEncoder, "check", counted)
    monkeypatch.setattr(source, "BATCH_ROWS", 500)
    for run in (
        lambda: score_table(model, payments, tmp_path / "scored.parquet", policy=Budget(3)),
        lambda: find_alerts(model, payments, policy=Budget(3)),
        lambda: model.score(payments),
        lambda: model.explain(payments, [3, 5]),
        lambda: model.encoder_.encode(payments),
    ):
        checked.clear()
        run()
        assert len(checked) == 1


def test_texts_that_come_as_codes_score_to_the_bit_as_texts(model, payments, tmp_path):
    path = tmp_path / "payments.parquet"
    pq.write_table(payments, path, row_group_size=1500)
    read = model.encoder_.read_columns()
    opened = open_table(path)
    types = {field.name: field.type for field in opened.with_codes(read).schema}
    assert pa.types.is_dictionary(types["country"])
    assert not pa.types.is_dictionary(types["payment_id"])
    assert opened.schema.field("country").type == pa.string()
    assert np.array_equal(scores_of(model, path), scores_of(model, payments))


def test_several_files_come_as_codes_only_where_all_of_them_have_codes(payments, tmp_path):
    pq.write_table(payments.slice(0, 3000), tmp_path / "a.parquet")
    pq.write_table(payments.slice(3000), tmp_path / "b.parquet")
    joined = open_table(tmp_path).with_codes(["country"])
    assert pa.types.is_dictionary(joined.schema.field("country").type)
    pq.write_table(payments.slice(3000), tmp_path / "b.parquet", use_dictionary=False)
    plain = open_table(tmp_path).with_codes(["merchant"])
    assert plain.schema.field("merchant").type == pa.string()
    assert sum(map(len, plain.batches(["merchant"]))) == 6000


def test_what_is_made_ahead_comes_in_order():
    def make(n):
        time.sleep(0.002 * (n % 3))
        return n * n

    assert list(map_ahead(make, iter(range(50)), 4)) == [n * n for n in range(50)]
    assert list(map_ahead(make, iter([]))) == []


def test_no_more_items_are_taken_ahead_than_threads_can_use():
    taken = []

    def items():
        for n in range(100):
            taken.append(n)
            yield n

    made = map_ahead(lambda n: n, items(), 3)
    assert next(made) == 0
    assert len(taken) == 4
    made.close()
    assert len(taken) == 4


def test_what_goes_wrong_is_raised_in_its_place_and_ends_the_threads():
    n_before = threading.active_count()
    made = map_ahead(lambda n: 10 // n, iter([5, 2, 0, 1]), 2)
    assert [next(made), next(made)] == [2, 5]
    with pytest.raises(ZeroDivisionError):
        next(made)
    assert threading.active_count() == n_before
