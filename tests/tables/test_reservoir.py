"""A uniform sample of a stream of rows."""

import random
from functools import reduce

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.tables.reservoir import Reservoir, row_bytes, row_keys, smallest


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


def test_a_row_has_the_same_bytes_alone_as_among_others():
    pair = pa.struct([("index", pa.int32()), ("value", pa.float64())])
    vectors = [[{"index": 1, "value": 2.0}], None, []]
    table = pa.table(
        {
            "n": [1.0, None, 3.0],
            "b": [True, None, False],
            "v": pa.array(vectors, pa.list_(pair)),
            "f": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int16(), 2)),
            "l": [["a", "b"], [], None],
            "0": pa.nulls(3),
        }
    )
    assert row_bytes(table).tolist() == [8 + 12 + 4 + 16, 8 + 4, 8 + 4]
    assert [row_bytes(table.slice(i, 1))[0] for i in range(3)] == row_bytes(table).tolist()


@given(st.integers(0, 2**63))
def test_parts_merged_in_any_order_keep_the_rows_of_the_whole(seed):
    """A long row that does not fit ends the sample, though short rows of other parts would."""
    rng = random.Random(seed)
    lengths = rng.choices([0, 5, 9, 200], k=rng.randint(1, 40))
    part_of = [rng.randrange(3) for _ in lengths]
    size, n_bytes = rng.randint(1, 30), rng.randint(0, 300)

    def kept(rows):
        reservoir = Reservoir(size, n_bytes)
        for i in rows:
            batch = pa.RecordBatch.from_pydict({"text": ["x" * lengths[i]]})
            reservoir.add(batch, np.array([i]), row_keys(np.array([i]), seed))
        reservoir.shrink()
        return reservoir

    parts = rng.sample(sorted(set(part_of)), len(set(part_of)))
    own = [kept(i for i in range(len(lengths)) if part_of[i] == part) for part in parts]
    merged, whole = reduce(Reservoir.merged, own).sample(), kept(range(len(lengths))).sample()
    assert merged.number.tolist() == whole.number.tolist()
    assert merged.rows.equals(whole.rows)
    assert merged.key.tolist() == whole.key.tolist()


def test_merging_leaves_both_as_they_were():
    one, other = Reservoir(64), Reservoir(64)
    before = [stream(reservoir, 300, 50, seed) for seed, reservoir in enumerate((one, other))]
    one.merged(other).sample()
    assert [one.sample().number.tolist(), other.sample().number.tolist()] == [
        sample.number.tolist() for sample in before
    ]


def test_keys_are_distinct_and_look_random():
    number = np.arange(200_000)
    for seed in (0, 1, 2**63 - 1):
        key = row_keys(number, seed)
        assert len(np.unique(key)) == len(key)
        share = np.sort(key) / 2.0**64
        assert np.abs(share - (number + 0.5) / len(number)).max() < 1.9 / np.sqrt(len(number))
        assert abs(np.corrcoef(key.astype(float), number)[0, 1]) < 0.01
        assert abs(np.corrcoef(key[1:].astype(float), key[:-1].astype(float))[0, 1]) < 0.01


def test_keys_are_those_of_splitmix64():
    """Its first number for the seed 0 is public; the others follow from 64 bits in Python."""
    assert row_keys(np.array([0])).tolist() == [0xE220A8397B1DCDAF]

    def mixed(bits):
        bits = (bits + 0x9E3779B97F4A7C15) % 2**64
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
        return bits ^ (bits >> 31)

    numbers, seeds = [0, 1, 12345, 2**40], [0, 7, 2**63 - 1]
    for seed in seeds:
        found = row_keys(np.array(numbers), seed).tolist()
        assert found == [mixed(number + seed) for number in numbers]
