"""Figures of a comparison are those of rows to come: of the future, of others, never of copies."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from devnet.detectors.methods import METHODS
from devnet.experiments.comparison import compare_methods
from devnet.tables.table_error import TableError

NEIGHBOUR = "sklearn.neighbors:KNeighborsClassifier"  # it remembers rows
LINE = "logistic regression"


def compared(table, method=NEIGHBOUR, **more):
    return compare_methods(table, "fraud", methods=[method], random_state=0, **more)


def auc_pr(found):
    return found.methods[0].auc_pr.mean


def waves(seed=0, n=1200):
    """Frauds come in waves, each at a place of its own, which says nothing of the next."""
    generator = np.random.default_rng(seed)
    day = np.sort(generator.uniform(0, 60, size=n))
    wave = (day // 3).astype(int)
    place = generator.uniform(size=(20, 2))[wave]
    label = generator.random(n) < 0.08
    columns = np.where(label[:, None], place, generator.uniform(size=(n, 2)))
    columns += 0.005 * generator.normal(size=(n, 2))
    return {"x": columns[:, 0], "y": columns[:, 1], "day": day, "fraud": label.astype(int)}


def customers(seed=0, n=900):
    """A defrauded customer's rows are all alike, and unlike those of any other."""
    generator = np.random.default_rng(seed)
    customer = np.arange(n) // 9
    home = generator.uniform(size=(n // 9, 3))
    is_victim = generator.random(n // 9) < 0.15
    columns = home[customer] + 0.003 * generator.normal(size=(n, 3))
    return {
        **dict(zip("abc", columns.T, strict=True)),
        "customer": [f"C{one:04d}" for one in customer],
        "fraud": is_victim[customer].astype(int),
    }


def test_compare_time_a_random_split_flatters_frauds_that_come_in_waves(seed):
    table = waves(seed)
    at_random, by_time = compared(table), compared(table, time="day")
    assert auc_pr(at_random) > auc_pr(by_time) + 0.2
    assert by_time.time == "day"
    assert by_time.n_splits > 5


def test_compare_group_a_random_split_flatters_customers_that_repeat(seed):
    table = customers(seed)
    at_random, by_customer = (
        compared(table, ignore=["customer"], group=group) for group in (None, "customer")
    )
    assert auc_pr(at_random) > 0.9
    assert auc_pr(by_customer) < 0.4
    assert by_customer.group == "customer"


def test_compare_time_and_group_together(seed):
    table = customers(seed)
    when = np.random.default_rng(seed).permutation(900).astype(float)
    by_time, by_both = (
        compared({**table, "when": when}, ignore=["customer", "when"], time="when", group=group)
        for group in (None, "customer")
    )
    assert auc_pr(by_time) > 0.9
    assert auc_pr(by_both) < 0.4


def test_copies_of_rows_do_not_flatter_and_are_told(seed):
    generator = np.random.default_rng(seed)
    label = np.arange(400) < 40
    once = {"a": generator.normal(size=400), "b": generator.normal(size=400)}
    twice = {name: np.concatenate([values, values]) for name, values in once.items()}
    twice |= {"number": np.arange(800), "fraud": np.concatenate([label, label]).astype(int)}
    found = compared(twice)
    assert auc_pr(found) < 0.25  # nothing can be known
    assert found.n_equal == 800
    assert found.notes == [
        "800 rows equal another one in all columns that are used; equal rows are never on both "
        "sides of a split."
    ]
    assert compared({**once, "fraud": label.astype(int)}).notes == []


def test_dates_numbers_and_times_with_a_zone_give_the_same_windows():
    table = waves()
    first = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
    instants = [first + datetime.timedelta(days=float(day)) for day in table["day"]]
    found = [
        compared({**table, "when": when, "day": np.zeros(1200)}, time="when", ignore=["when"])
        for when in (
            table["day"],
            pa.array(instants, pa.timestamp("us", "America/New_York")),
            pa.array([one.replace(tzinfo=None) for one in instants], pa.timestamp("ms")),
        )
    ]
    assert auc_pr(found[0]) == auc_pr(found[1]) == auc_pr(found[2])


def test_the_time_column_is_learned_from_unless_it_is_ignored():
    table = waves()
    table["fraud"] = (np.argsort(np.argsort(table["day"])) % 10 == 0).astype(int)
    shown, hidden = (compared(table, LINE, time="day", ignore=ignore) for ignore in ([], ["day"]))
    assert auc_pr(shown) != auc_pr(hidden)


def test_rows_without_a_time_are_left_out_and_those_without_a_customer_stand_alone():
    table = customers()
    when = [None if i % 100 == 0 else float(i * 7 % 900) for i in range(900)]
    table["customer"][5] = None
    found = compared({**table, "when": when}, LINE, time="when", group="customer")
    assert found.notes[-2:] == [
        "9 rows have no 'when': left out, as the time is unknown.",
        "1 row has no 'customer': kept, each as an entity of its own.",
    ]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"time": "dya"}, "unknown column 'dya'.*Did you mean 'day'"),
        ({"group": "custmer"}, "unknown column 'custmer'.*Did you mean 'customer'"),
        ({"time": "fraud"}, "'fraud' is the label column, so rows cannot be split by it.*time"),
        ({"group": "fraud"}, "'fraud' is the label column, so rows cannot be split by it.*group"),
        ({"time": "customer"}, "does not say when a row happened: it has text, such as 'C0000'"),
        ({"time": "clock"}, "it has times of day, such as"),
        ({"time": "empty"}, "'empty'.*no values"),
        ({"time": "unknown"}, "'unknown' of the table has no values"),
        ({"group": "one"}, "'one' of the table has one value only, so all rows belong together"),
        ({"time": "one_day"}, "too close together in time, by its column 'one_day'"),
    ],
)
def test_a_column_that_cannot_split_rows_ends_in_a_sentence(settings, told):
    table = {
        **customers(), "day": np.arange(900.0), "one": ["x"] * 900, "one_day": np.zeros(900),
        "clock": [datetime.time(3, 4)] * 900, "empty": pa.nulls(900),
        "unknown": pa.nulls(900, pa.float64()),
    }  # fmt: skip
    with pytest.raises(TableError, match=told):
        compared(table, LINE, **settings)


def test_too_few_labels_for_a_past_and_a_future_are_refused():
    table = {name: values[:60] for name, values in waves().items()}
    table["fraud"] = (np.arange(60) % 9 == 0).astype(int)
    with pytest.raises(TableError, match="at least 8, four in the past.* compare without time"):
        compared(table, LINE, time="day")


def test_too_few_unlabelled_rows_with_time_are_not_told_of_folds():
    table = {name: values[:60] for name, values in waves().items()}
    table["fraud"] = [1 if i >= 5 else None for i in range(60)]
    with pytest.raises(TableError, match=r"has 5 unlabelled rows .* takes at least 6\. Give more"):
        compared(table, LINE, time="day", anomaly="1")


def test_columns_that_rows_might_better_be_split_by_are_named():
    table = customers()
    table["customer_id"] = [int(one[1:]) * 7 for one in table.pop("customer")]
    day = np.datetime64("2024-01-01", "s") + np.arange(900) * 3600
    found = compared({**table, "booked": day}, LINE, n_repeats=1)
    assert [*map(str, found.notes)] == [
        "rows are split at random; to rank the future, give time='booked'.",
        "rows with the same 'customer_id' may be on both sides; to prevent it, give "
        "group='customer_id'.",
    ]
    assert compared({**table, "booked": day}, LINE, n_repeats=1, group="customer_id").notes == []


def test_methods_are_told_which_columns_of_the_matrix_belong_together(monkeypatch):
    told = []
    monkeypatch.setattr(METHODS[LINE], "take_layout", lambda self, layout: told.append(layout))
    shops = ["casino", "grocer", "baker"] * 400
    compared({**waves(), "shop": shops}, LINE, n_repeats=1)
    assert [one.widths for one in told] == [(1, 1, 1, 4)] * 3  # with a bucket of rare shops
