"""What y may look like, and what it may not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from devnet.core.labels import order_classes, read_labels, unlabelled


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, 1, 0], [0, 1]),
        ([-1, 1, -1], [-1, 1]),
        ([False, True, False], [False, True]),
        ([0.0, 1.0, 0.0], [0, 1]),
        ([np.nan, 1, np.nan], [0, 1]),
        ([np.nan, 1, 0], [0, 1]),
        ([None, 1, None], [0, 1]),
        ([None, True, None], [False, True]),
        (["ok", "zombie", "ok"], ["ok", "zombie"]),
        ([None, "fraud", None], ["unlabelled", "fraud"]),
        ((np.nan, "fraud", np.nan), ["unlabelled", "fraud"]),
        ([None, "unlabelled", None], ["", "unlabelled"]),
        (["normal", "zombie", None], ["normal", "zombie"]),
        (np.array([[0], [1], [0]])[:, 0], [0, 1]),
        (pd.Series([0, 1, pd.NA], dtype="Int64"), [0, 1]),
        (pd.Series([None, True, None], dtype="boolean"), [False, True]),
        (pd.Series(["a", "b", "a"], dtype="category"), ["a", "b"]),
        (pd.Series(["ok", "zombie", None]), ["ok", "zombie"]),
        (pl.Series([0, 1, None]), [0, 1]),
        (pl.Series([False, True, False]), [False, True]),
    ],
)
def test_the_larger_value_is_the_anomaly_and_missing_is_unlabelled(y, classes):
    labels = read_labels(y)
    assert labels.is_anomaly.tolist() == [False, True, False]
    assert labels.classes.tolist() == classes


def test_pos_label_names_the_anomaly():
    labels = read_labels(["fraud", "ok", "ok"], pos_label="fraud")
    assert labels.is_anomaly.tolist() == [True, False, False]
    assert labels.classes.tolist() == ["ok", "fraud"]
    assert read_labels([0, None, None], pos_label=0).is_anomaly.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        ([0, 0, 0], {}, "only one class, 0: no labelled anomaly"),
        ([1, 1, 1], {}, "all rows are labelled"),
        ([0, None, 0], {}, "no labelled anomaly"),
        ([np.nan, np.nan], {}, "only missing values"),
        ([0, 1, 2], {}, "3 different values .0, 1, 2"),
        ([0.1, 0.5, 0.7, 0.2], {}, "Unknown label type: continuous"),
        (list("abcdef"), {}, "6 different values .'a', 'b', 'c', 'd', ..."),
        ([0, np.inf, 0], {}, "infinity"),
        (["a", 1, None], {}, "mixes text and numbers"),
        ([0, 1, 0], {"pos_label": 7}, r"pos_label=7 does not occur in y.*\[0, 1\]"),
        ([0, 0], {"pos_label": 1}, "pos_label=1 does not occur"),
        ([1, 1], {"pos_label": 1}, "all 2 rows are labelled"),
        ([0, 3, 0], {"classes": [0, 1]}, "y contains 3"),
        ([0, 0], {"classes": [0, 1]}, "no labelled anomaly"),
        ([], {}, "y is empty"),
        ([b"a", b"b"], {}, "labels such as .*b'a'"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"), {}, "labels such as"),
    ],
)
def test_other_labels_get_a_sentence(y, options, words):
    with pytest.raises(ValueError, match=words):
        read_labels(y, **options)


def test_a_column_of_labels_is_taken_with_a_warning():
    with pytest.warns(UserWarning, match="column-vector"):
        assert read_labels([[0], [1]]).is_anomaly.tolist() == [False, True]


# Known normal rows


@pytest.mark.parametrize(
    ("y", "normal_label", "classes"),
    [
        ([2, 1, 0], 2, [0, 1]),
        ([0, 1, np.nan], 0, [0, 1]),
        ([-1, 1, 0], -1, [0, 1]),
        ([-1.0, 1.0, np.nan], -1, [-1, 1]),
        ([False, True, None], False, [False, True]),
        ([0, True, None], False, [0, 1]),
        (["ok", "fraud", None], "ok", ["ok", "fraud"]),
        (["ok", "fraud", np.nan], "ok", ["ok", "fraud"]),
        (["false alarm", "fraud", "a"], "false alarm", ["a", "fraud"]),
        (["zoo", "fraud", "a"], "zoo", ["a", "fraud"]),
        (pd.Series([0, 1, pd.NA], dtype="Int64"), 0, [0, 1]),
        (pd.Series([False, True, None], dtype="boolean"), False, [False, True]),
        (pd.Series(["ok", "fraud", None], dtype="category"), "ok", ["ok", "fraud"]),
        (pd.Series(["ok", "fraud", pd.NA], dtype="string"), "ok", ["ok", "fraud"]),
        (pl.Series([2, 1, None]), 2, [2, 1]),
        (pl.Series([False, True, None]), False, [False, True]),
    ],
)
def test_one_value_marks_normal_rows_and_the_rest_is_read_as_before(y, normal_label, classes):
    labels = read_labels(y, normal_label=normal_label)
    assert labels.is_normal.tolist() == [True, False, False]
    assert labels.is_anomaly.tolist() == [False, True, False]
    assert labels.classes.tolist() == classes


def test_where_both_labels_are_named_all_others_are_unlabelled():
    y = ["fraud", "unsure", "ok", None, "reopened", "fraud"]
    labels = read_labels(y, pos_label="fraud", normal_label="ok")
    assert labels.is_anomaly.tolist() == [True, False, False, False, False, True]
    assert labels.is_normal.tolist() == [False, False, True, False, False, False]
    assert labels.classes[1] == "fraud"


def test_nobody_need_have_dismissed_anything_yet():
    for y, options in (
        ([0, 1, 0], {"normal_label": 2}),
        ([None, "fraud", None], {"normal_label": "ok"}),
        (["open", "fraud", "open"], {"normal_label": "ok", "pos_label": "fraud"}),
    ):
        labels = read_labels(y, **options)
        assert labels.is_anomaly.tolist() == [False, True, False]
        assert not labels.is_normal.any()


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        ([0, 1, 2], {"normal_label": 1, "pos_label": 1}, "1 would mark both anomalies and known"),
        ([0, 1, 2], {"normal_label": 1, "classes": [0, 1]}, "1 would mark both"),
        (["ok", "fraud"], {"normal_label": "OK"}, r"no value of y equals normal_label='OK'.*'ok'"),
        ([0, 1], {"normal_label": "0"}, "no value of y equals normal_label='0'"),
        (["0", "1"], {"normal_label": 0}, "no value of y equals normal_label=0"),
        ([0, 0, None], {"normal_label": 0}, "no labelled anomaly: 2 values of y are normal_label"),
        ([0, 2, 2], {"normal_label": 2}, "no labelled anomaly"),
        ([0, 1, 2, 3], {"normal_label": 3}, "3 different values"),
        ([1, 2, 2], {"normal_label": 2, "pos_label": 7}, "pos_label=7 does not occur"),
    ],
)
def test_doubtful_labels_of_normal_rows_get_a_sentence(y, options, words):
    with pytest.raises(ValueError, match=words):
        read_labels(y, **options)


@pytest.mark.parametrize(
    ("y", "normal_label"),
    [
        ([1, 0, 2, 0], 2),
        ([1, None, 0, None], 0),
        (["fraud", None, "ok", "ok"], "ok"),
        (["fraud", "open", "ok", "ok"], "ok"),
        ([True, None, False, None], False),
        ([1, 0, 0, 0], 2),
    ],
)
def test_labels_can_be_written_out_and_read_again(y, normal_label):
    labels = read_labels(y, pos_label=y[0], normal_label=normal_label)
    again = read_labels(labels.as_y(normal_label), pos_label=y[0], normal_label=normal_label)
    for part, same in zip(labels, again, strict=True):
        assert part.tolist() == same.tolist()


def test_announced_classes_may_hold_the_label_of_normal_rows():
    assert order_classes([0, 1, 2], None, 2).tolist() == [0, 1]
    assert order_classes(["ok", "fraud"], None, "ok").tolist() == ["ok", "fraud"]
    assert order_classes([0, 1], 1, 7).tolist() == [0, 1]


def test_without_anomalies_rows_are_unlabelled_or_known_normal():
    labels = unlabelled([0, 2, None, 0], 4, normal_label=2)
    assert labels.is_normal.tolist() == [False, True, False, False]
    assert not labels.is_anomaly.any()
    assert unlabelled(["ok", None], 2, normal_label="ok").is_normal.tolist() == [True, False]
    assert unlabelled([0, 1, 2], 3, normal_label=2) is None
    assert unlabelled([0, None], 2) is None


@pytest.mark.parametrize(("other", "anomaly"), [("fraud", "ok"), (-1, 1), ("anomaly", "normal")])
def test_a_label_of_most_rows_is_not_taken_for_that_of_anomalies(other, anomaly):
    """Unless somebody says so: the larger of two values is only a guess."""
    y = np.array([other] * 2 + [anomaly] * 8)
    with pytest.raises(ValueError, match=f"8 of 10 rows have the label .* pos_label={other!r}"):
        read_labels(y)
    assert read_labels(y, pos_label=other).is_anomaly.sum() == 2
    assert read_labels(y, pos_label=anomaly).is_anomaly.sum() == 8
    assert read_labels(y, classes=np.array([other, anomaly])).is_anomaly.sum() == 8


@pytest.mark.parametrize("y", [[0, 1, 1, 1, 1], [False, True, True, True, True]])
def test_ones_mark_anomalies_however_many_there_are(y):
    assert read_labels(y).is_anomaly.sum() == 4
