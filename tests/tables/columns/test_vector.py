"""Vectors: lists of equally many numbers in one column of a table."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import roc_auc_score

import devnet
from devnet.core.model_file import ModelFileError
from devnet.detectors.methods import METHODS
from devnet.tables import TableModel
from devnet.tables.columns.kinds import encoding_from_header, start_summary
from devnet.tables.columns.left_out import LeftOut
from devnet.tables.columns.vector import LONGEST, VectorColumn
from devnet.tables.table_error import TableError

N, SIZE = 600, 6
TYPES = [
    *(pa.list_(number) for number in (pa.float64(), pa.float32(), pa.float16(), pa.int32())),
    pa.large_list(pa.float64()),
    pa.list_(pa.float64(), SIZE),
]


def learned(values):
    summary = start_summary(pa.field("embedding", values.type), is_forced=False)
    summary.add(values)
    return summary.learn(len(values), values)


def encoded(column, values):
    rows = np.zeros((len(values), column.width), np.float32)
    for entry in column.entries(values):
        rows[:, entry.column] = entry.value
    return rows


def whole_numbers(seed, n=N):
    """Vectors that are the same in every type."""
    return np.random.default_rng(seed).integers(-50, 50, (n, SIZE))


def listed(vectors, kind=TYPES[0]):
    number = np.float16 if pa.types.is_float16(kind.value_type) else lambda value: value
    return pa.array([None if one is None else [*map(number, one)] for one in vectors], kind)


def table(seed, n=N):
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(n, SIZE))
    is_anomaly = np.arange(n) < n // 15
    vectors[is_anomaly, :2] += 3
    amount = generator.normal(size=n)
    known = is_anomaly & (np.arange(n) % 2 == 0)
    rows = pa.table({"amount": amount, "embedding": listed(vectors), "fraud": known.astype(int)})
    return rows, is_anomaly


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_each_number_is_scaled_by_its_range_whatever_its_type(kind, seed):
    vectors = whole_numbers(seed)
    column = learned(listed(vectors.tolist(), kind))
    low, high = vectors.min(axis=0), vectors.max(axis=0)
    found = encoded(column, listed(vectors.tolist(), kind))
    np.testing.assert_allclose(found, (vectors - low) / (high - low), rtol=1e-6)
    assert column == learned(listed(vectors.tolist()))


@pytest.mark.parametrize("kind", TYPES[:-1], ids=str)
def test_an_empty_list_is_a_missing_vector(kind, seed):
    vectors = whole_numbers(seed).tolist()
    missing = listed([None, None, *vectors], kind)
    empty = listed([None, [], *vectors], kind)
    assert learned(empty) == learned(missing)
    column = learned(missing)
    assert column.missing == 2 / (N + 2)
    np.testing.assert_array_equal(encoded(column, empty), encoded(column, missing))
    assert column.phrase(empty[1:2]) == column.phrase(missing[1:2])
    assert not column.unseen(empty).is_unseen[:2].any()


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_part_of_a_column_is_encoded_as_in_the_whole(kind, seed):
    vectors = [None if i % 7 == 3 else one for i, one in enumerate(whole_numbers(seed).tolist())]
    values = listed(vectors, kind)
    column = learned(values)
    part = values.slice(100, 50)
    np.testing.assert_array_equal(encoded(column, part), encoded(column, values)[100:150])


def test_what_is_missing_is_the_mean_and_marked(seed):
    vectors = [*map(list, whole_numbers(seed).astype(float))]
    vectors[0] = None
    vectors[1][2] = None
    vectors[2][3] = float("nan")
    vectors[3][4] = float("inf")
    values = listed(vectors)
    column = learned(values)
    rows = encoded(column, values)
    low, high, mean = (np.array(part) for part in (column.low, column.high, column.mean))
    scaled_mean = ((mean - low) / (high - low)).astype(np.float32)
    np.testing.assert_array_equal(rows[0], [*scaled_mean, 1])
    for row, number in ((1, 2), (2, 3), (3, 4)):
        assert rows[row, number] == scaled_mean[number]
        assert rows[row, -1] == 0
    assert column.missing == 1 / N
    np.testing.assert_array_equal(encoded(column, pa.nulls(2))[0], rows[0])


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float64, st.tuples(st.integers(2, 30), st.integers(1, 5))))
def test_any_numbers_give_finite_rows_and_a_file_that_is_read_back(vectors):
    values = listed(vectors.tolist())
    column = learned(values)
    if isinstance(column, LeftOut):
        return
    assert np.isfinite(encoded(column, values)).all()
    assert encoding_from_header(json.loads(json.dumps(column.to_header()))) == column


@pytest.mark.parametrize("others", [[None, None], [[1.0], [2.0] * 9], [[0.0] * (LONGEST + 1)]])
def test_parts_of_a_table_give_the_same_summary(others, seed):
    values = listed([*whole_numbers(seed).tolist(), *others])
    field = pa.field("embedding", values.type)
    ends = np.sort(np.random.default_rng(seed).integers(0, len(values), 4)).tolist()
    parts = []
    for start, end in zip([0, *ends], [*ends, len(values)], strict=True):
        parts.append(start_summary(field, is_forced=False))
        parts[-1].add(values[start:end])
    whole = start_summary(field, is_forced=False)
    whole.add(values)
    merged = parts[4].merged(parts[2]).merged(parts[0].merged(parts[3])).merged(parts[1])
    assert merged == whole
    batches = start_summary(field, is_forced=False)
    for start, end in zip([0, *ends], [*ends, len(values)], strict=True):
        batches.add(values[start:end])
    assert batches == whole


def test_a_sample_without_any_vector_is_enough(seed):
    values = listed(whole_numbers(seed).tolist())
    summary = start_summary(pa.field("embedding", values.type), is_forced=False)
    summary.add(values)
    column = summary.learn(N, pa.nulls(5, values.type))
    assert np.isfinite(encoded(column, values)).all()


@pytest.mark.parametrize(
    ("vectors", "why"),
    [
        ([[1.0, 2.0], [1.0]] * 50, "lists of different lengths: 1 to 2 numbers"),
        ([[], [1.0], [1.0, 2.0]] * 50, "lists of different lengths: 1 to 2 numbers"),
        ([[]] * 50, "empty"),
        ([None] * 50, "empty"),
        ([[None, None]] * 50, "empty"),
        ([[1.0, 2.0]] * 50, "constant: always the same numbers"),
        ([[0.0] * (LONGEST + 1)] * 3, "lists of 4,096 numbers; at most 4,095 are possible"),
    ],
)
def test_lists_that_are_no_vectors_are_left_out(vectors, why):
    assert str(learned(listed(vectors))) == why


def test_a_vector_of_another_length_gets_a_sentence(seed):
    rows, _ = table(seed)
    model = TableModel("logistic regression", random_state=0).fit(rows, "fraud")
    other = rows.set_column(1, "embedding", listed([[0.0] * 9] * N))
    with pytest.raises(
        TableError, match="has a list of 9 numbers, where the model learned lists of 6"
    ):
        model.score(other)
    text = rows.set_column(1, "embedding", pa.array(["x"] * N))
    with pytest.raises(TableError, match="has text, where the model learned vectors"):
        model.score(text)


@pytest.mark.parametrize("method", ["DevNet", "deviation ensemble", "PU trees"])
def test_methods_learn_from_vectors(method, seed, tmp_path):
    assert method in METHODS
    rows, is_anomaly = table(seed, 1500)
    model = TableModel(method, random_state=0).fit(rows, "fraud")
    scores = model.score(rows)["anomaly_score"].to_numpy()
    hidden = rows["fraud"].to_numpy() == 0
    assert roc_auc_score(is_anomaly[hidden], scores[hidden]) > 0.9
    model.save(tmp_path / "m.devnet")
    assert devnet.load(tmp_path / "m.devnet").score(rows).equals(model.score(rows))
    np.testing.assert_array_equal(
        model.score(rows.slice(7, 1))["anomaly_score"].to_numpy(), scores[7:8]
    )


def test_a_reason_is_about_the_vector_as_a_whole(seed):
    rows, _ = table(seed)
    model = TableModel(random_state=0).fit(rows, "fraud")
    (first,) = devnet.find_alerts(model, rows, policy=devnet.Budget(1)).shown
    assert first.reasons[0].text.startswith("embedding: ")
    assert "of its 6 numbers are unusual" in first.reasons[0].text


def test_vectors_of_another_scale_are_told_as_a_change_and_others_are_not(seed):
    rows, _ = table(seed, 2000)
    model = TableModel("logistic regression", random_state=0).fit(rows, "fraud")
    same, _ = table(seed + 1, 2000)
    assert "embedding" not in [change.column for change in devnet.find_drift(model, same).changes]
    scaled = [(10 * np.array(one)).tolist() for one in same["embedding"].to_pylist()]
    other = same.set_column(1, "embedding", listed(scaled))
    (change,) = [
        one for one in devnet.find_drift(model, other).changes if one.column == "embedding"
    ]
    assert "of its vectors have numbers outside the range of training" in change.text


@pytest.mark.parametrize(
    ("vector", "says"),
    [
        ([0.0] * SIZE, "embedding: none of its 6 numbers is unusual alone"),
        ([99.0, -99.0, *[0.0] * 4], "embedding: 2 of its 6 numbers are unusual"),
        (None, "embedding is missing (as in 0.2% of rows)"),
    ],
)
def test_a_vector_in_words(vector, says, seed):
    column = learned(listed([*whole_numbers(seed).tolist(), None]))
    assert column.phrase(listed([vector])) == says


@pytest.mark.parametrize(
    "changes",
    [
        {"size": 0},
        {"size": LONGEST + 1},
        {"size": SIZE + 1},
        {"low": [9e9] * SIZE},
        {"mean": [float("nan")] * SIZE},
        {"upper": [-9e9] * SIZE},
        {"lower": "x"},
    ],
)
def test_an_edited_column_is_refused(changes, seed):
    column = learned(listed(whole_numbers(seed).tolist()))
    assert isinstance(column, VectorColumn)
    with pytest.raises(ModelFileError):
        encoding_from_header({**column.to_header(), **changes})
