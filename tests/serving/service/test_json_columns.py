"""JSON values of every kind of column: what is taken, how it is read, what is refused."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.services import client, json_rows, post_arrow, post_json, served_model, stream

from devnet.serving.service.json_rows import typed
from devnet.serving.service.refusal import Refusal
from devnet.tables import TableModel

N = 400
MONEY = [f"${value:,.2f}" for value in np.random.default_rng(0).lognormal(6, 1, N)]
DAYS = [datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=7 * i) for i in range(N)]


def make_table():
    """A column of every kind that JSON can hold."""
    generator = np.random.default_rng(0)
    return pa.table(
        {
            "number": generator.normal(size=N),
            "whole": generator.integers(0, 50, N),
            "flag": generator.random(N) < 0.5,
            "shop": generator.choice(["a", "b", "c"], N),
            "code": pa.array(generator.integers(1, 9, N)),
            "money": MONEY,
            "day": pa.array(DAYS, pa.timestamp("us")),
            "instant": pa.array(DAYS, pa.timestamp("us", "Europe/Berlin")),
            "clock": pa.array([one.time() for one in DAYS], pa.time64("us")),
            "written": [one.strftime("%d.%m.%Y") for one in DAYS],
            "epoch_time": pa.array([int(one.timestamp()) for one in DAYS]),
            "vector": [[{"index": int(i % 5), "value": 1.0}] for i in range(N)],
            "embedding": generator.normal(size=(N, 3)).tolist(),
            "fraud": [1.0 if i % 20 == 3 else None for i in range(N)],
        }
    )


TABLE = make_table()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kinds")


@pytest.fixture(scope="module")
def model():
    method = TableModel("logistic regression", random_state=0, categorical=["code"])
    return method.fit(TABLE, "fraud")


@pytest.fixture(scope="module")
def served(folder, model):
    return served_model(folder, model)


@pytest.fixture(scope="module")
def service(folder, model):
    return client(folder, model)


def test_every_kind_gets_the_scores_of_the_table(service, model):
    answer = service.post("/score", json=json_rows(TABLE))
    assert answer.status_code == 200, answer.text
    wanted = model.score(TABLE)["anomaly_score"].to_pylist()
    assert [row["anomaly_score"] for row in answer.json()["rows"]] == wanted
    arrow = post_arrow(service, stream(TABLE), Accept="application/json")
    assert [row["anomaly_score"] for row in arrow.json()["rows"]] == wanted


def test_the_schema_says_what_each_column_takes(service):
    found = {one["name"]: one for one in service.get("/schema").json()["columns"]}
    assert set(found) == set(TABLE.schema.names) - {"fraud"}
    assert found["number"]["takes"] == "a number"
    assert found["flag"]["takes"] == "true or false"
    assert found["money"]["takes"] == "a text or a number (text read as US dollars)"
    assert found["instant"]["takes"].startswith("a time such as 2026-11-17T10:05:00Z")
    assert found["day"]["takes"].startswith("a time such as 2026-11-17T10:05:00 without")
    assert found["clock"]["takes"].startswith("a time of day such as 14:30:05")
    assert found["epoch_time"]["takes"].endswith("(numbers read as seconds since 1970)")
    assert found["vector"]["takes"] == 'a list of objects such as {"index": 3, "value": 0.5}'
    assert found["embedding"]["takes"] == "a list of 3 numbers"


SAME = [
    ("number", 3.0, 3),
    ("number", 10.0**20, 10**20),
    ("day", "2026-03-01T10:05:00", "2026-03-01 10:05:00.000000"),
    ("day", "2026-03-01T00:00:00", "2026-03-01"),
    ("day", "2026-03-01T10:05:00", 1_772_359_500_000_000),
    ("instant", "2026-03-01T10:05:00Z", "2026-03-01T11:05:00+01:00"),
    ("instant", "2026-03-01T10:05:00Z", 1_772_359_500_000_000),
    ("clock", "14:30", "14:30:00"),
    ("clock", "14:30", 52_200_000_000),
    ("money", "$1,234.50", 1234.5),
    ("money", "$1,234.50", "1234.5"),
    ("money", None, "n/a"),
    ("code", "7", 7),
    ("code", 7, 7.0),
    ("written", "01.03.2026", "2026-03-01"),
    ("epoch_time", 1_772_359_500, 1_772_359_500.0),
    ("vector", [{"index": 1, "value": 2}], [{"value": 2.0, "index": 1}]),
    ("embedding", [1, 2, 3.5], [1.0, 2.0, 3.5]),
    ("embedding", [], []),
]


@pytest.mark.parametrize(("column", "value", "same"), SAME)
def test_a_value_may_be_written_in_several_ways(service, column, value, same):
    row = json_rows(TABLE.slice(5, 1))[0]
    answers = [service.post("/score", json=[{**row, column: one}]) for one in (value, same)]
    assert [one.status_code for one in answers] == [200, 200], [one.text for one in answers]
    assert answers[0].json() == answers[1].json()


WRONG = [
    ("number", "3", "takes a number"),
    ("number", True, "takes a number"),
    ("number", 10**400, "takes a number"),
    ("number", [1], "takes a number"),
    ("whole", {"a": 1}, "takes a number"),
    ("flag", 1, "takes true or false"),
    ("flag", "true", "takes true or false"),
    ("shop", 3, "takes a text"),
    ("shop", "\ud800", "takes a text"),
    ("money", "a lot", "takes a text or a number (text read as US dollars)"),
    ("money", False, "takes a text or a number"),
    ("day", "yesterday", "takes a time such as"),
    ("day", "2026-03-01T10:05:00Z", "without an offset"),
    ("day", 1_772_359_500, "from 1990 to 2100"),  # seconds
    ("day", 1_772_359_500_000, "from 1990 to 2100"),  # milliseconds
    ("day", 0, "from 1990 to 2100"),
    ("day", 1.5, "whole microseconds"),
    ("instant", "2026-03-01T10:05:00", "with another offset"),
    ("clock", "25:00", "a time of day"),
    ("clock", 90_000_000_000, "since midnight"),
    ("written", "31.02.2026", "takes a text"),
    ("epoch_time", 5, "takes a text or a number"),
    ("vector", [1, 2], "a list of objects"),
    ("vector", [{"index": 1}], "a list of objects"),
    ("vector", [{"index": 1.5, "value": 1}], "a list of objects"),
    ("vector", [{"index": 2**70, "value": 1}], "a list of objects"),
    ("embedding", [1, 2], "takes a list of 3 numbers"),
    ("embedding", [1, 2, "3"], "takes a list of 3 numbers"),
    ("embedding", [1, 2, True], "takes a list of 3 numbers"),
    ("embedding", [1, 2, 10**400], "takes a list of 3 numbers"),
    ("embedding", 5, "takes a list of 3 numbers"),
]


@pytest.mark.parametrize(("column", "value", "sentence"), WRONG)
@pytest.mark.parametrize("n_before", [0, 2])
def test_a_bad_value_is_refused_with_its_row_and_column(service, column, value, sentence, n_before):
    row = json_rows(TABLE.slice(5, 1))[0]
    answer = post_json(service, [row] * n_before + [{**row, column: value}, row])
    assert answer.status_code == 422
    said = answer.json()
    assert (said["row"], said["column"]) == (n_before, column)
    assert sentence in said["error"]
    assert said["error"].startswith(f"row {n_before} (counted from 0) has ")
    if not isinstance(value, str) and len(str(value)) < 50:
        assert said["value"] == value


def test_text_and_numbers_in_one_request_are_refused_where_they_differ(service):
    rows = json_rows(TABLE.slice(0, 3))
    rows[2]["money"] = 5.0
    said = service.post("/score", json=rows).json()
    assert (said["row"], said["column"], said["value"]) == (2, "money", 5.0)
    assert "a text in this request, as in row 0" in said["error"]


@pytest.mark.parametrize(
    ("column", "value"),
    [("money", pa.array(["$5", "a lot"])), ("epoch_time", pa.array([1_772_359_500, 5]))],
)
def test_a_bad_value_in_arrow_is_refused_alike(service, column, value):
    table = TABLE.slice(0, 2)
    table = table.set_column(table.schema.get_field_index(column), column, value)
    answer = post_arrow(service, stream(table))
    assert answer.status_code == 422
    assert (answer.json()["row"], answer.json()["column"]) == (1, column)


VALUES = {
    "number": st.none() | st.floats(-1e9, 1e9) | st.integers(-(2**70), 2**70),
    "whole": st.none() | st.integers(-100, 100),
    "flag": st.none() | st.booleans(),
    "shop": st.none() | st.text(max_size=5),
    "code": st.none() | st.integers(0, 2**62),
    "money": st.none() | st.sampled_from([*MONEY[:9], "n/a"]),
    "day": st.none() | st.datetimes(datetime.datetime(1900, 1, 1)).map(str),
    "instant": st.none() | st.integers(7 * 10**14, 4 * 10**15),
    "clock": st.none() | st.times().map(str),
    "written": st.none() | st.dates().map(lambda day: day.strftime("%d.%m.%Y")),
    "epoch_time": st.none() | st.integers(7 * 10**8, 4 * 10**9),
    "vector": st.none() | st.just([{"index": 2, "value": 0.5}]),
    "embedding": st.none() | st.lists(st.none() | st.floats(-9, 9), min_size=2, max_size=3),
}


@settings(max_examples=30)
@given(st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=6))
def test_a_row_alone_becomes_what_it_is_among_others(served, rows):
    """Also if values are wrong: then the first of the rows that are refused alone is refused."""
    alone = []
    for row in rows:
        try:
            alone.append(typed([row], served))
        except Refusal:
            alone.append(None)
    if None in alone:
        with pytest.raises(Refusal) as refused:
            typed(rows, served)
        assert alone[refused.value.where["row"]] is None
    else:
        assert typed(rows, served).equals(
            pa.concat_batches([one.cast(typed(rows, served).schema) for one in alone])
        )
