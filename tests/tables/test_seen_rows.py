"""What a pass has seen does not depend on batches, and is merged exactly."""

import numpy as np
import pyarrow as pa
import pytest

from devnet.significance.calibration import Calibration
from devnet.tables import seen_rows
from devnet.tables.seen_rows import SeenRows, learned_scores

N = 5000
TABLE = pa.table({"a": np.arange(N), "b": [f"t{i % 7}" for i in range(N)], "c": np.zeros(N)})
SCORES = np.sin(np.arange(N))
ENDS = np.array([-0.5, 0.0, 0.5])


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(seen_rows, "MOST_ROWS", 200)
    monkeypatch.setattr(seen_rows, "MIN_ROWS", 100)


def seen(start, stop, step, of_rows=None):
    found = SeenRows(["a", "b"], ENDS, of_rows)
    for first in range(start, stop, step):
        part = slice(first, min(first + step, stop))
        number = np.arange(part.start, part.stop)
        (batch,) = TABLE.slice(part.start, len(number)).combine_chunks().to_batches()
        found.add(batch, number, SCORES[part])
    return found


def assert_same(one, other):
    assert one.n_rows == other.n_rows
    np.testing.assert_array_equal(one.scores, other.scores)
    assert one.sample().rows.equals(other.sample().rows)


@pytest.mark.parametrize("step", [1, 97, 1000])
def test_batches_of_any_length_give_the_same(step):
    assert_same(seen(0, N, step), seen(0, N, N))


@pytest.mark.parametrize("cut", [0, 1, 2500, N])
def test_parts_of_a_table_are_merged_exactly(cut):
    first, second = seen(0, cut, 100), seen(cut, N, 300)
    second.merge(first)
    assert_same(second, seen(0, N, N))


def test_a_table_of_known_length_gives_the_same_rows_and_copies_few(monkeypatch):
    copied = []
    monkeypatch.setattr(seen_rows, "_plain_rows", lambda batch: copied.append(len(batch)) or batch)
    assert_same(seen(0, N, 100, of_rows=N), seen(0, N, N))
    n_copied = sum(copied[:-1])
    assert n_copied < 2 * 200
    copied.clear()
    seen(0, N, 100)
    assert sum(copied) > 2 * n_copied


def test_rows_are_counted_and_a_uniform_sample_is_kept():
    found = seen(0, N, 100)
    assert found.n_rows == N
    counts = [np.count_nonzero(end >= SCORES) for end in ENDS]
    assert np.cumsum(found.scores).tolist() == [*counts, N]
    rows = found.sample().rows
    assert rows.column_names == ["a", "b"]
    assert len(rows) == 200
    assert abs(np.mean(rows["a"].to_numpy()) - N / 2) < 4 * N / np.sqrt(12 * 200)


def test_dictionaries_of_batches_may_differ():
    found = SeenRows(["a"], ENDS)
    for start, texts in enumerate([["x", None], ["y", "x"]]):
        column = pa.array(texts).dictionary_encode()
        batch = pa.RecordBatch.from_pydict({"a": column})
        found.add(batch, 2 * start + np.arange(2), np.zeros(2))
    assert found.sample().rows["a"].to_pylist() == ["x", None, "y", "x"]


def test_nothing_is_kept_without_rows():
    assert SeenRows(["a"], ENDS).sample() is None


def test_scores_are_learned_with_their_weights():
    scores, weight = np.arange(1000.0), np.where(np.arange(1000) < 500, 1.0, 0.5)
    learned = learned_scores(Calibration(scores, weight, None, None), 499.0, 2000.0)
    assert learned.n_rows == pytest.approx(750**2 / (500 + 125))
    assert learned.counts.sum() == pytest.approx(learned.n_rows)
    above = [learned.n_above(score, learned.counts) for score in (499, learned.high, 2000)]
    assert np.divide(above, learned.n_rows) == pytest.approx([1 / 3, 0.05, 0], abs=0.001)


def test_scores_that_hardly_differ_share_a_range():
    """Ranks within a crowd say nothing; the table's own scores may have other ones."""
    crowd = 1e-3 * np.arange(950) / 950
    learned = learned_scores(
        Calibration(np.append(crowd, np.arange(1, 51)), np.ones(1000), None, None)
    )
    assert learned.counts.max() >= 940


@pytest.mark.parametrize("cut", [0, 1, 2500, N])
def test_what_was_seen_survives_as_a_table(cut):
    whole = seen(0, cut, 100)
    whole.merge_table(seen(cut, N, 300, of_rows=N).to_table())
    assert_same(whole, seen(0, N, N))


def test_columns_of_any_name_survive_as_a_table():
    rows = pa.table({"0": [1.5, 2.5], "number": ["a", None]})
    one, other = (SeenRows(rows.column_names, ENDS) for _ in range(2))
    one.add(*rows.to_batches(), np.arange(2), np.zeros(2))
    other.merge_table(one.to_table())
    assert other.sample().rows.equals(rows)
