"""What the encoder leaves out, refuses and says about values."""

import datetime
import json

import numpy as np
import pyarrow as pa
import pytest

from devnet.core.model_file import ModelFileError
from devnet.core.sentence import Setting
from devnet.tables.columns.left_out import Why
from devnet.tables.encoder import TableEncoder, TableSummary
from devnet.tables.table_error import TableError

PAIR = pa.struct([("index", pa.int32()), ("value", pa.float32())])
N = 100


def learned(table, **options):
    table = table if isinstance(table, pa.Table) else pa.table(table)
    summary = TableSummary(table.schema, **options)
    summary.add(table)
    return TableEncoder.learn(summary, table)


def left_out(values, name="column", **options):
    table = {name: values, "used": np.arange(len(values)) % 3 / 2}
    found = learned(table, **options).left_out.get(name)
    return None if found is None else str(found)


def shuffled(values):
    return np.random.default_rng(0).permutation(values)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["EUR"] * N, "constant: always 'EUR'"),
        ([3.0] * N, "constant: always 3"),
        ([True] * N, "constant: always true"),
        ([datetime.date(2026, 3, 1)] * N, "constant: always 2026-03-01"),
        ([datetime.datetime(2026, 3, 1, 4)] * N, "constant: always 2026-03-01 04:00:00"),
        (pa.nulls(N), "empty"),
        (pa.nulls(N, pa.float64()), "empty"),
        ([float("nan")] * N, "empty"),
        ([{"a": 1}] * N, "nested values (struct)"),
        ([[1, 2]] * N, "constant: always the same numbers"),
        ([[[1, 2]]] * N, "nested values (list)"),
        ([b"x", b"y"] * 50, "binary values"),
        ([f"text {i}" for i in range(N)], "text: every value occurs once"),
        ([f"P{i:06}" for i in range(N)], "identifier: every value occurs once"),
        ([f"text {max(i, 2)}" for i in range(N)], "text: nearly every value occurs once"),
        (np.arange(N), "identifier: every value occurs once"),
        (-np.arange(N), "identifier: every value occurs once"),
        (np.arange(N) * 3.0, "identifier: every value occurs once"),
        (np.arange(N) + 2**62, "identifier: every value occurs once"),
        (shuffled(np.arange(N)), None),
        (np.arange(N) + 0.5, None),
        (np.arange(N) // 2, None),
        ([None, *range(N)], None),
        ([f"text {i // 2}" for i in range(N)], None),
        ([f"text {i}" for i in range(50)], None),
        (["EUR", None] * 50, None),
    ],
)
def test_columns_that_say_nothing_are_left_out_with_a_reason(values, reason):
    assert left_out(values) == reason


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([3.0] * N, Why.CONSTANT),
        (pa.nulls(N), Why.EMPTY),
        ([b"x", b"y"] * 50, Why.UNUSABLE),
        ([f"text {i}" for i in range(N)], Why.TEXT),
        ([f"P{i:06}" for i in range(N)], Why.UNIQUE),
        ([f"P{max(i, 2):06}" for i in range(N)], Why.NEARLY_UNIQUE),
    ],
)
def test_a_reason_is_a_code_that_the_header_keeps(values, reason):
    encoder = learned({"column": values, "used": np.arange(N) % 3 / 2})
    assert encoder.left_out["column"].reason is reason
    header = json.loads(json.dumps(encoder.to_header()))
    assert TableEncoder.from_header(header).left_out == encoder.left_out
    header.pop("left_out_reasons")  # as in files of version 0.1.0
    (old,) = TableEncoder.from_header(header).left_out.values()
    assert (old.reason, old.text) == (Why.UNKNOWN, encoder.left_out["column"].text)
    header["left_out_reasons"] = {"column": "nonsense"}
    with pytest.raises(ModelFileError, match="unknown reasons"):
        TableEncoder.from_header(header)


def test_many_numbers_named_as_identifiers_of_others_may_be_taken_as_categories():
    table = {"customer_id": shuffled(np.arange(300) // 3), "used": np.arange(300) % 3 / 2}
    encoder = learned(table)
    again = TableEncoder.from_header(encoder.to_header())
    for one in (encoder.left_out["customer_id"], again.left_out["customer_id"]):
        assert one.advice == Setting("categorical", ["customer_id"])
        assert str(one) == "identifier by its name; take it with categorical=['customer_id']"
    assert learned(table, categorical=["customer_id"]).left_out == {}


def test_case_id_that_duplicates_repeat_is_left_out():
    codes = [f"{i:07d}" for i in [*range(3000), *range(200)]]
    used = np.arange(3200) % 3 / 2
    assert learned({"case": codes, "used": used}).left_out["case"].reason is Why.NEARLY_UNIQUE
    thrice = [f"{i // 3:07d}" for i in range(3200)]
    encoder = learned({"case_id": thrice, "case": thrice, "used": used})
    assert encoder.left_out.keys() == {"case_id"}
    assert str(encoder.left_out["case_id"]) == (
        "identifier by its name; take it with categorical=['case_id']"
    )
    assert not learned({"case_id": thrice, "used": used}, categorical=["case_id"]).left_out


def test_a_shop_id_that_many_rows_share_is_a_category():
    shops = [f"S{i % 60}" for i in range(3000)]
    assert not learned({"shop_id": shops, "used": np.arange(3000) % 3 / 2}).left_out


@pytest.mark.parametrize(
    "name", ["id", "ID", "user_id", "userId", "uuid", "key", "order_no", "index", "Unnamed: 0"]
)
def test_distinct_whole_numbers_named_as_identifiers_are_left_out(name):
    assert left_out(shuffled(np.arange(N)), name) == "identifier: every value occurs once"
    assert left_out(shuffled(np.arange(N) // 2), name) is None


@pytest.mark.parametrize("name", ["paid", "humidity", "amount", "casino", "monkey"])
def test_other_names_are_not_those_of_identifiers(name):
    assert left_out(shuffled(np.arange(N)), name) is None


def test_the_caller_overrules_what_is_used():
    assert left_out(np.arange(N), categorical=["column"]) is None
    assert left_out([f"text {i}" for i in range(N)], categorical=["column"]) is None
    assert left_out(np.arange(N) / 3, ignore=["column"]) == "ignored"
    encoder = learned({"y": [0, 1, 0], "x": [1.5, 2.0, 4.0]}, label="y")
    assert encoder.read_columns() == ["x"]
    assert encoder.left_out == {}


@pytest.mark.parametrize("option", ["ignore", "categorical"])
def test_an_unknown_name_gets_the_nearest(option):
    with pytest.raises(TableError, match="unknown column 'amuont'.*Did you mean 'amount'"):
        learned({"amount": [1.0, 2.0]}, **{option: ["amuont"]})


def test_tables_that_cannot_be_learned_from_get_a_sentence():
    with pytest.raises(TableError, match=r"no column .* 'a' \(constant: always 1\), 'b' \(empty\)"):
        learned({"a": [1, 1], "b": pa.nulls(2)})
    with pytest.raises(TableError, match="none besides the label"):
        learned({"a": [1, 1]}, label="a")
    with pytest.raises(TableError, match="no rows"):
        learned({"a": pa.array([], pa.float64())})
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(TableError, match="the table has more than one column named 'a'"):
        learned(twice)
    with pytest.raises(TableError, match="t.csv has more than one column named 'a'"):
        learned({"a": [1.0, 2.0]}).check(twice.schema, "t.csv")
    damaged = pa.array([b"\xff", b"a"]).cast(pa.binary()).view(pa.string())
    with pytest.raises(TableError, match="'a' has values that cannot be read.*UTF-8"):
        learned({"a": damaged})


ENCODER = learned(
    {
        "amount": [1.0, 2.5, 9.0],
        "country": ["DE", "AT", "DE"],
        "time": pa.array([0, 9, 99999], pa.timestamp("s")),
    }
)


def test_a_table_with_more_columns_gets_a_note():
    schema = pa.schema([(n, t) for n, t in [("amount", pa.int8()), ("country", pa.null())]])
    schema = schema.append(pa.field("time", pa.timestamp("ns")))
    assert ENCODER.check(schema, "new.csv") == []
    more = schema.append(pa.field("a", pa.int8())).append(pa.field("b", pa.list_(pa.int8())))
    assert ENCODER.check(more, "new.csv") == [
        "2 columns are not known to the model and are ignored: a, b"
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"amount": None, "Amount": [1.0]},
            r"new.csv has no column 'amount'.*mean 'Amount'.*ignore=\['amount'\]",
        ),
        ({"amount": ["1"]}, "'amount' of new.csv has text, where the model learned numbers"),
        ({"country": [1]}, "'country' of new.csv has numbers, where the model learned text"),
        ({"time": ["x"]}, "'time' of new.csv has text, where the model learned dates"),
        ({"time": [[1]]}, "'time' of new.csv has vectors, where the model learned dates"),
        ({"time": [[[1]]]}, r"'time' of new.csv has nested values \(list\), where"),
    ],
)
def test_a_table_that_does_not_fit_the_model_gets_a_sentence(change, sentence):
    table = {"amount": [1.0], "country": ["DE"], "time": pa.array([0], pa.timestamp("s"))} | change
    table = pa.table({name: values for name, values in table.items() if values is not None})
    with pytest.raises(TableError, match=sentence):
        ENCODER.check(table.schema, "new.csv")
    with pytest.raises(TableError):
        ENCODER.encode(table)


def test_a_csv_is_read_as_was_learned():
    types = {"amount": pa.float64(), "country": pa.string(), "time": pa.timestamp("us")}
    assert ENCODER.csv_types() == types


WORDS = learned(
    {
        "amount": pa.array([*np.linspace(50, 98, 98), 9000.0, None]),
        "country": ["DE"] * 61 + ["AT"] * 36 + ["NG"] * 3,
        "online": [True] * 12 + [False] * 88,
        "time": pa.array(np.arange(N) * 10**6, pa.timestamp("s")),
        "note": [f"note {i // 2}" for i in range(98)] + [None] * 2,
        "features": pa.array([[{"index": 17, "value": 0.8}]] * N, pa.list_(PAIR)),
        "a\nb": np.arange(N) % 3 / 1000,
    }
)


@pytest.mark.parametrize(
    ("name", "value", "phrase"),
    [
        ("amount", 9120.0, "amount 9,120 is far above typical 74.25"),
        ("amount", 90, "amount 90 is above typical 74.25"),
        ("amount", 74.0, "amount 74 is near typical 74.25"),
        ("amount", 60.123456, "amount 60.12 is below typical 74.25"),
        ("amount", -1e20, "amount -1e+20 is far below typical 74.25"),
        ("amount", 10**30, "amount 1e+30 is far above typical 74.25"),
        ("amount", None, "amount is missing (as in 1% of rows)"),
        ("amount", float("nan"), "amount is missing (as in 1% of rows)"),
        ("country", "DE", "country 'DE' (61% of rows)"),
        ("country", "NG", "country 'NG' is rare (3% of rows)"),
        ("country", "FR", "country 'FR' is new"),
        ("country", "F" * 90, "country '" + "F" * 37 + "...' is new"),
        ("country", None, "country is missing (as in no row of the training table)"),
        ("note", "note 3", "note 'note 3' is rare (2% of rows)"),
        ("online", True, "online is true (as in 12% of rows)"),
        ("online", None, "online is missing (as in no row of the training table)"),
        ("time", datetime.datetime(2026, 3, 1, 3, 12), "time 03:12 on Sunday, 2026-03-01"),
        ("features[17]", [{"index": 17, "value": 0.5}], "features[17] is 0.5"),
        ("features[3]", [], "features[3] is 0"),
        ("a\nb", 0.00123, r"'a\nb' 0.00123 is near typical 0.001"),
    ],
)
def test_a_value_is_put_into_words(name, value, phrase):
    row = {name.partition("[")[0]: value}
    assert WORDS.phrase(row, name) == phrase


def test_nothing_is_said_about_a_column_that_there_is_not():
    for name in ("other", "features[18]", "features[x]", "amount[0]"):
        with pytest.raises(TableError, match="no column"):
            WORDS.phrase({}, name)


def test_columns_are_described():
    facts = {fact.name: fact for fact in WORDS.describe()}
    assert facts["amount"][1:4] == ("number", "typical 74.25, 5% above 96.07", 0.01)
    assert facts["country"].detail == "3 values: DE 61%, AT 36%, NG 3%"
    assert facts["time"].detail == "hour, weekday, month, years (1970 to 1973)"
    assert facts["online"].detail == "true 12%"
    assert facts["features"].detail == "18 entries"


def test_the_header_is_readable_and_round_trips():
    header = json.loads(json.dumps(WORDS.to_header(), allow_nan=False))
    again = TableEncoder.from_header(header)
    assert again.columns == WORDS.columns
    assert again.left_out == WORDS.left_out
    assert header["columns"][1]["values"][0] == ["DE", 61]
    assert again.to_header() == header


def test_ids_of_18_digits_that_duplicate_rows_repeat_are_identifiers():
    ids = shuffled(np.arange(N) * 10**12 + 520_238_684_948_688_896)
    ids[:3] = ids[3:6]
    assert left_out(ids, "id_str").startswith("identifier by its name")
    assert left_out(ids, "post") == "identifier: nearly every value occurs once"


def test_row_numbers_of_a_shuffled_half_of_a_table_are_identifiers():
    numbers = np.random.default_rng(0).permutation(2000)[:1000]
    assert left_out(numbers, "X") == "identifier: every value occurs once"
    assert left_out(numbers, "rank") is None


def test_whole_numbers_that_are_equal_as_often_as_by_chance_are_numbers():
    numbers = np.random.default_rng(0).integers(0, 2000, 1000)
    assert left_out(numbers, "X") is None
