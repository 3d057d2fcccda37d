"""What y may look like, and what it may not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from devnet.core.labels import read_labels


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
