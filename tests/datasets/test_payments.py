"""Made-up payments: raw columns with structure, fraud that no single column gives away."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

from devnet.datasets.payments import make_payments, payment_batches

TYPES = {
    "payment_id": pa.string(),
    "time": pa.timestamp("ms"),
    "customer_id": pa.int64(),
    "customer_since": pa.date32(),
    "amount": pa.float64(),
    "currency": pa.string(),
    "category": pa.string(),
    "merchant": pa.string(),
    "country": pa.string(),
    "entry_mode": pa.string(),
    "device": pa.string(),
    "device_days": pa.float64(),
    "is_online": pa.bool_(),
    "distance_km": pa.float64(),
    "minutes_since_last": pa.float64(),
    "attempts_today": pa.int64(),
    "card_limit": pa.float64(),
    "schema_version": pa.int64(),
    "fraud": pa.int64(),
}
FRAUD = ["account takeover", "card testing", "collusion", "stolen card"]


@pytest.fixture(scope="module")
def payments():
    return make_payments(seed=0)


def numbers(payments, name):
    return payments.table[name].to_numpy(zero_copy_only=False)


def missing_share(payments, name):
    return payments.table[name].null_count / payments.table.num_rows


def test_the_columns_are_raw_and_mixed(payments):
    table = payments.table
    assert {field.name: field.type for field in table.schema} == TYPES
    assert table.num_rows == len(payments.kind) == 200_000
    distinct = {name: len(table[name].unique()) for name in TYPES}
    assert distinct["payment_id"] == 200_000
    assert distinct["schema_version"] == 1
    assert 15_000 < distinct["customer_id"] <= 20_000
    assert 4_000 < distinct["merchant"] < 6_000
    assert 18 <= distinct["category"] <= 25
    assert distinct["country"] == 40
    amount = numbers(payments, "amount")
    assert amount.min() > 0
    np.testing.assert_allclose(amount, np.round(amount, 2))
    assert (numbers(payments, "currency") == "EUR").mean() > 0.8


def test_values_are_missing_where_they_would_be(payments):
    assert missing_share(payments, "distance_km") == pytest.approx(0.08, abs=0.005)
    assert 0.05 < missing_share(payments, "minutes_since_last") < 0.15
    assert 0.08 < missing_share(payments, "card_limit") < 0.16
    in_shop = ~numbers(payments, "is_online")
    for name in ("device", "device_days"):
        np.testing.assert_array_equal(payments.table[name].is_null().to_numpy(), in_shop)
    for name in set(TYPES) - {
        "distance_km", "minutes_since_last", "card_limit", "device", "device_days", "fraud",
    }:  # fmt: skip
        assert missing_share(payments, name) == 0


def test_times_and_waits_agree(payments):
    when, customer = numbers(payments, "time"), numbers(payments, "customer_id")
    assert (np.diff(when) >= np.timedelta64(0)).all()
    order = np.argsort(customer, kind="stable")
    is_first = np.diff(customer[order], prepend=0) != 0
    wait = np.diff(when[order], prepend=when[0]) / np.timedelta64(1, "m")
    told = numbers(payments, "minutes_since_last")[order]
    assert np.isnan(told[is_first]).all()
    np.testing.assert_allclose(told[~is_first], wait[~is_first], atol=0.06)


def test_attempts_grow_through_a_customers_day(payments):
    attempts, customer = numbers(payments, "attempts_today"), numbers(payments, "customer_id")
    day = numbers(payments, "time").astype("datetime64[D]").astype(np.int64)
    order = np.lexsort((np.arange(len(day)), day, customer))
    is_same = (np.diff(customer[order]) == 0) & (np.diff(day[order]) == 0)
    assert attempts.min() == 1
    assert (np.diff(attempts[order])[is_same] >= 1).all()


def test_normal_payments_have_structure(payments):
    is_normal = payments.kind == "normal"
    hour = numbers(payments, "time").astype("datetime64[h]").astype(np.int64) % 24
    category = numbers(payments, "category")
    amount = numbers(payments, "amount")
    at_night = hour < 6
    assert at_night[is_normal].mean() < 0.06
    assert (is_normal & at_night).sum() > 5 * (~is_normal & at_night).sum()  # not only fraud
    typical = {name: np.median(amount[is_normal & (category == name)]) for name in set(category)}
    assert typical["electronics"] > 10 * typical["coffee and bakery"]
    customer = numbers(payments, "customer_id")[is_normal]
    repeats = np.unique(customer * 100 + np.unique(category[is_normal], return_inverse=True)[1])
    shuffled = np.random.default_rng(0).permutation(customer)
    chance = np.unique(shuffled * 100 + np.unique(category[is_normal], return_inverse=True)[1])
    assert len(repeats) < 0.95 * len(chance)  # habits


def test_little_of_the_fraud_is_labelled_and_one_kind_never(payments):
    kinds, counts = np.unique(payments.kind, return_counts=True)
    assert [kind for kind in kinds if kind != "normal"] == FRAUD
    assert 0.005 < 1 - counts[list(kinds).index("normal")] / 200_000 < 0.007
    is_labelled = ~np.isnan(numbers(payments, "fraud"))
    assert is_labelled.sum() == 60
    assert (numbers(payments, "fraud")[is_labelled] == 1).all()
    assert set(payments.kind[is_labelled]) == {*FRAUD} - {"collusion"}


def test_no_single_number_gives_fraud_away(payments):
    is_fraud = payments.kind != "normal"
    for name, kind in TYPES.items():
        if name == "fraud" or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            continue
        values = numbers(payments, name).astype(float)
        for fraud in ("any", *FRAUD):
            looked_at = is_fraud & (payments.kind == fraud) if fraud != "any" else is_fraud
            there = ~np.isnan(values) & (looked_at | ~is_fraud)
            if not looked_at[there].any():
                continue
            auc = roc_auc_score(looked_at[there], values[there])
            assert max(auc, 1 - auc) < 0.95, (name, fraud)


def test_colluding_merchants_take_round_amounts(payments):
    colludes = payments.kind == "collusion"
    assert (numbers(payments, "amount")[colludes] % 50 == 0).all()
    assert len(np.unique(numbers(payments, "merchant")[colludes])) <= 10


def test_a_seed_gives_the_same_payments_and_another_gives_others():
    one, again, other = (make_payments(3_000, seed=seed) for seed in (1, 1, 2))
    assert one.table.equals(again.table)
    np.testing.assert_array_equal(one.kind, again.kind)
    assert not one.table.equals(other.table)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 50, 1_001])
def test_any_number_of_rows_can_be_made(n_rows):
    payments = make_payments(n_rows)
    assert payments.table.num_rows == len(payments.kind) == n_rows


def test_batches_depend_on_seed_and_place_only():
    few = list(payment_batches(2_500, seed=3, batch_rows=1_000))
    more = list(payment_batches(4_000, seed=3, batch_rows=1_000))
    assert [batch.num_rows for batch in few] == [1_000, 1_000, 500]
    assert few[0].equals(make_payments(1_000, seed=3).table)
    assert few[1].equals(more[1])
    assert few[2].equals(more[2].slice(0, 500))
    assert not few[0]["amount"].equals(few[1]["amount"])


def test_customers_persist_and_time_goes_on_over_batches():
    batches = list(payment_batches(60_000, seed=0, batch_rows=20_000))
    whole = pa.concat_tables(batches)
    assert len(whole["payment_id"].unique()) == 60_000
    since = whole.group_by("customer_id").aggregate([("customer_since", "count_distinct")])
    assert set(since["customer_since_count_distinct"].to_pylist()) == {1}
    first, second, third = (set(batch["customer_id"].to_pylist()) for batch in batches)
    assert len(first & second & third) > 0.9 * len(first)
    assert [batch["minutes_since_last"].null_count > 0 for batch in batches] == [True, False, False]
    starts = [batch["time"][0].as_py() for batch in batches]
    assert starts == sorted(starts)


@pytest.mark.parametrize("make", [make_payments, payment_batches])
@pytest.mark.parametrize("n_rows", [0, -1, 2.5, "many", None])
def test_a_number_of_rows_that_is_none_gets_a_sentence(make, n_rows):
    with pytest.raises(ValueError, match=r"n_rows=.* is not a whole number of 1 or more"):
        make(n_rows)
