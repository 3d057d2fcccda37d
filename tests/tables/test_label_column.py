"""Which value of a label column marks anomalies."""

import datetime

import pyarrow as pa
import pytest

from devnet.tables.label_column import find_anomaly_value, label_text, written_label
from devnet.tables.table_error import TableError


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 0, None], ["1", "0", None]),
        ([1.0, float("nan"), None, 0.5], ["1", None, None, "0.5"]),
        ([True, False, None], ["true", "false", None]),
        (["fraud", " fraud ", "", "  ", None], ["fraud", "fraud", None, None, None]),
        ([datetime.date(2026, 1, 2), None], ["2026-01-02", None]),
        ([1e300, float("inf")], ["1e+300", "inf"]),
        ([None, None], [None, None]),
    ],
)
def test_labels_are_read_as_text(values, expected):
    assert label_text(pa.array(values)).to_pylist() == expected


def test_labels_may_be_a_dictionary():
    assert label_text(pa.array(["a", None]).dictionary_encode()).to_pylist() == ["a", None]


def test_nested_labels_are_refused():
    with pytest.raises(TableError, match="list.*Name another column with label"):
        label_text(pa.array([[1], [2]]))


@pytest.mark.parametrize(
    ("counts", "n_missing", "anomaly", "expected"),
    [
        ({"0": 90, "1": 10}, 0, None, "1"),
        ({"0": 10, "1": 90}, 0, "1", "1"),
        ({"0": 10, "1": 50}, 60, None, "1"),
        ({"-1": 90, "1": 10}, 0, None, "1"),
        ({"10": 5, "9": 5}, 0, None, "10"),
        ({"true": 3, "false": 90}, 0, None, "true"),
        ({"ok": 90, "fraud": 10}, 0, None, "fraud"),
        ({"fraud": 10}, 90, None, "fraud"),
        ({"1": 10}, 90, None, "1"),
        ({"1": 5, "2": 5, "3": 90}, 0, "2", "2"),
        ({"1": 5, "2": 5, "3": 90}, 0, "2.0", "2"),
        ({"0": 5, "1": 90}, 5, "0", "0"),
        ({"01": 5, "02": 90}, 0, "01", "01"),
        ({"01": 5, "02": 90}, 0, "1", "01"),
        ({"1.0": 5, "1": 90}, 0, "1.0", "1.0"),
        ({"1e3": 5, "2": 90}, 0, "1000", "1e3"),
        ({"9007199254740993": 5, "9007199254740992": 9}, 0, "9007199254740993", "9007199254740993"),
        ({"true": 5, "false": 90}, 0, "1", "true"),
        ({"Fraud": 5, "ok": 90}, 0, "fraud", "Fraud"),
        ({"-1": 10, "1": 90}, 0, "-1", "-1"),
        ({"-1": 10, "1": 90}, 0, "1", "1"),
    ],
)
def test_the_value_of_anomalies_is_found(counts, n_missing, anomaly, expected):
    assert find_anomaly_value("fraud", counts, n_missing, anomaly) == expected


@pytest.mark.parametrize(
    ("counts", "n_missing", "anomaly", "sentence"),
    [
        ({}, 100, None, "is empty in all 100 rows"),
        ({"0": 100}, 0, None, "every label in 'state' is '0': no labelled anomaly"),
        ({"0": 10}, 90, None, "every label in 'state' is '0'"),
        ({"1": 100}, 0, None, "every label in 'state' is '1'"),
        ({"a": 3, "b": 4, "c": 90}, 0, None, "only one can mark anomalies.*: anomaly='a'"),
        ({"a": 3, "b": 4}, 0, "c", "no row has the value 'c' .* 'a', 'b'"),
        ({"a": 3}, 0, "a", "all 3 rows have the label 'a'"),
        (
            {"0": 10, "1": 90},
            0,
            None,
            "not clear .* '1' would mark them, but most rows have it, 90",
        ),
        (
            {"false": 10, "true": 90},
            0,
            None,
            "most rows have it.*'true' or 'false': anomaly='false'",
        ),
        ({"-1": 10, "1": 90}, 0, None, "'-1' marks them in scikit-learn.*: anomaly='-1'"),
        ({"-1": 5, "1": 20}, 75, None, "'-1' marks them in scikit-learn"),
        ({"fraud": 90}, 10, None, "most rows have it, 90 of 100.*'fraud': anomaly='fraud'"),
        (
            {"Yes": 90, "No": 10},
            0,
            None,
            "'No' would mark them, but it reads like .*: anomaly='Yes'",
        ),
    ],
)
def test_bad_labels_get_a_sentence(counts, n_missing, anomaly, sentence):
    with pytest.raises(TableError, match=sentence):
        find_anomaly_value("state", counts, n_missing, anomaly)


def test_zero_as_the_only_label_is_refused_with_the_way_to_say_that_it_marks_anomalies():
    with pytest.raises(TableError, match="'0' or missing.* If it is, say so with anomaly='0';"):
        find_anomaly_value("state", {"0": 10}, 90, None)
    find_anomaly_value("state", {"0": 10}, 90, "0")


@pytest.mark.parametrize(
    "values",
    [
        range(30),
        [0.5, 1.25, 7],
        [1e-07, 2e-07, 5],
        [f"${i},015.94" for i in range(30)],
        [f"{i}%" for i in range(30)],
        [f"04/{i + 1:02}/2017" for i in range(30)],
    ],
    ids=str,
)
def test_an_amount_given_as_the_label_is_said_to_be_a_measurement(values):
    said = "looks like a measurement .*, not a label.*label; if there is none, add it: 1 in"
    with pytest.raises(TableError, match=said):
        find_anomaly_value("amount", {str(value): 3 for value in values}, 5)


def test_names_given_as_the_label_are_told_from_kinds_of_attack():
    names = {f"customer {i}": 1 for i in range(30)}
    with pytest.raises(TableError, match="a name of rows, not a label"):
        find_anomaly_value("customer", names, 0)
    attacks = {f"attack {i}": 50 for i in range(30)}
    with pytest.raises(TableError, match="only one can mark anomalies.*: anomaly='attack 0'"):
        find_anomaly_value("state", attacks, 0)


def test_grades_1_to_5_are_labels_of_which_one_is_to_be_named():
    counts = {str(grade): 10 + grade for grade in range(1, 6)}
    with pytest.raises(TableError, match="only one can mark anomalies.*: anomaly='1'"):
        find_anomaly_value("grade", counts, 0)
    assert find_anomaly_value("amount", {"0.5": 3, "1.25": 4, "7": 5}, 0, "7") == "7"


def test_labels_may_be_half_floats():
    labels = pa.array([1.0, 0.0, None, 0.5], pa.float16())
    assert written_label(labels).to_pylist() == ["1", "0", None, "0.5"]
