"""A uniform sample of a stream of rows."""

import numpy as np
import pyarrow as pa
import pytest

from devnet.tables.reservoir import Reservoir, row_bytes, smallest


def stream(reservoir, n_rows, batch_rows, seed=0):
    generator = np.random.default_rng(seed)
    for start in range(0, n_rows, batch_rows):
        number = np.arange(start, min(start + batch_rows, n_rows))
        batch = pa.RecordBatch.from_pydict({"value": number * 10})
        reservoir.add(batch, number, generator.random(len(number)))
    return reservoir.sample()


def test_few_rows_are_all_kept_in_their_order():
    sample = stream(Reservoir(100), 50, 7)
    assert sample.number.tolist() == list(range(50))
    assert sample.rows["value"].to_pylist() == [10 * i for i in range(50)]


@pytest.mark.parametrize("batch_rows", [1, 13, 500, 5000])
def test_batches_of_any_length_give_the_same_rows(batch_rows):
    sample = stream(Reservoir(64), 2000, batch_rows)
    assert len(sample.number) == 64
    assert sample.number.tolist() == stream(Reservoir(64), 2000, 100).number.tolist()
    assert (np.diff(sample.number) > 0).all()
    assert sample.rows["value"].to_numpy().tolist() == (10 * sample.number).tolist()


def test_batches_with_codes_of_their_own_become_one_sample():
    """Codes with a missing value, or more than their type can count, cannot be joined."""
    reservoir = Reservoir(1000)
    for start in range(0, 400, 100):
        number = np.arange(start, start + 100)
        values = pa.array([None, *map(str, number[1:])])
        codes = pa.DictionaryArray.from_arrays(pa.array(number - start, pa.int8()), values)
        reservoir.add(pa.record_batch({"code": codes}), number, np.zeros(100))
    expected = [None if i % 100 == 0 else str(i) for i in range(400)]
    assert reservoir.sample().rows["code"].to_pylist() == expected


def test_every_row_is_kept_equally_often():
    counts = np.zeros(100)
    for seed in range(400):
        counts[stream(Reservoir(20), 100, 9, seed).number] += 1
    assert abs(counts.mean() - 80) < 1e-9
    assert counts.min() > 80 - 4 * 8  # binomial: standard deviation 8
    assert counts.max() < 80 + 4 * 8


def test_never_many_more_rows_are_held_than_kept():
    reservoir = Reservoir(100)
    generator = np.random.default_rng(0)
    for start in range(0, 100_000, 1000):
        number = np.arange(start, start + 1000)
        batch = pa.RecordBatch.from_pydict({"value": number})
        reservoir.add(batch, number, generator.random(1000))
        assert sum(len(part.key) for part in reservoir._kept) <= 1200


def test_samples_of_parts_become_one_of_the_whole():
    keys = np.random.default_rng(1).random(1000)
    whole, parts = Reservoir(50), [Reservoir(50), Reservoir(50)]
    for number in range(1000):
        batch = pa.RecordBatch.from_pydict({"value": [number]})
        for reservoir in (whole, parts[number % 3 == 0]):
            reservoir.add(batch, np.array([number]), keys[[number]])
    merged = smallest([part.sample() for part in parts], 50)
    assert merged.number.tolist() == whole.sample().number.tolist()


def long_rows(reservoir, batch_rows):
    """Shows 1,000 rows of 0 to 99 bytes."""
    keys = np.random.default_rng(2).random(1000)
    texts = ["x" * (i * 7 % 100) for i in range(1000)]
    for start in range(0, 1000, batch_rows):
        number = np.arange(start, min(start + batch_rows, 1000))
        batch = pa.RecordBatch.from_pydict({"text": [texts[i] for i in number]})
        reservoir.add(batch, number, keys[number])
    return reservoir.sample()


@pytest.mark.parametrize("batch_rows", [1, 17, 1000])
def test_long_rows_are_kept_up_to_a_bound_whatever_the_batches(batch_rows):
    sample = long_rows(Reservoir(500, 2000), batch_rows)
    assert 1900 < row_bytes(sample.rows).sum() <= 2000
    assert sample.number.tolist() == long_rows(Reservoir(500, 2000), 100).number.tolist()
    everything = long_rows(Reservoir(1000), 100)
    assert sample.number.tolist() == smallest([everything], len(sample.key)).number.tolist()


def test_two_rows_are_kept_however_long_they_are():
    assert len(long_rows(Reservoir(500, 1), 10).key) == 2


def test_bytes_of_rows_follow_their_values():
    pairs = pa.array([[1, 2, 3], [], None], pa.list_(pa.int32()))
    codes = pa.array(["a", "b", "a"]).dictionary_encode()
    table = pa.table({"n": [1.0, 2.0, 3.0], "t": ["abc", None, "ä"], "p": pairs, "c": codes})
    assert row_bytes(table).tolist() == [8 + 3 + 12 + 4, 8 + 4, 8 + 2 + 4]
