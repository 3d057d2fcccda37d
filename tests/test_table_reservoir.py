"""A uniform sample of rows that stream by."""

import numpy as np
import pyarrow as pa
import pytest

from devnet.tables.reservoir import Reservoir, smallest


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
