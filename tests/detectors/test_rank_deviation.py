"""RankDeviation finds unusual rows without a label, and says which columns make them so."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.model_files import write_sealed
from support.small_methods import fitted_small

import devnet
from devnet import ModelFileError
from devnet.core import model_file
from devnet.detectors import usual_columns
from devnet.detectors.rank_deviation import RankDeviation


def made_rows(seed, n=2000):
    generator = np.random.default_rng(seed)
    amount = generator.lognormal(size=(n, 3))
    category = (generator.random((n, 2)) < [0.5, 0.01]).astype(float)
    return np.concatenate([amount, category, np.ones((n, 1))], axis=1).astype(np.float32)


@pytest.mark.parametrize("y", [None, np.zeros(2000), np.arange(2000) < 5])
def test_the_rows_furthest_from_the_usual_come_first_with_or_without_labels(seed, y):
    rows = made_rows(seed)
    rows[100:110, :3] = 1e6
    scores = RankDeviation().fit(rows, y).anomaly_score(rows)
    assert set(np.argsort(-scores)[:10]) == set(range(100, 110))
    assert scores.mean() == pytest.approx(1)


def test_a_rare_category_counts_more_than_a_frequent_one(seed):
    rows = made_rows(seed)
    model = RankDeviation().fit(rows, None)
    usual = np.median(rows, axis=0)
    rare, frequent, new = (usual.copy() for _ in range(3))
    frequent[3], rare[4], new[5] = 1 - usual[3], 1, 7
    ordered = model.anomaly_score(np.stack([usual, frequent, rare, new]))
    assert (np.diff(ordered) > 0).all()


def test_contributions_add_up_to_the_score(seed):
    rows = made_rows(seed)
    model = RankDeviation().fit(rows, None)
    baseline = np.median(rows, axis=0)
    found = model.own_contributions(rows[:50], baseline)
    expected = model.anomaly_score(rows[:50]) - model.anomaly_score(baseline[None])
    np.testing.assert_allclose(found.sum(axis=1), expected, atol=1e-9)


def test_scales_and_units_do_not_matter(seed):
    rows = made_rows(seed)
    changed = np.exp(rows / rows.max(axis=0)).astype(np.float64)
    one, other = (RankDeviation().fit(part, None).anomaly_score(part) for part in (rows, changed))
    np.testing.assert_allclose(one, other, rtol=0.05)


def test_wide_rows_are_scored_by_the_rarity_of_what_they_have():
    rows = sp.csr_array(
        (np.ones(7), [0, 0, 0, 0, 1, 0, 1], [0, 1, 2, 3, 5, 5, 6, 7]), shape=(7, 5000)
    )
    found = RankDeviation().fit(rows, None).anomaly_score(rows)
    one, two = -np.log(5 / 7), -np.log(2 / 7)
    expected = np.array([one, one, one, (one + two) / 2, 0, one, two])
    np.testing.assert_allclose(found, expected / expected.mean())


def test_rows_of_weight_zero_are_not_learned_from(seed, monkeypatch):
    rows = made_rows(seed)
    odd = np.concatenate([rows, 1e6 * rows])
    weight = np.repeat([1.0, 0.0], len(rows))
    one = RankDeviation().fit(rows, None).anomaly_score(rows)
    other = RankDeviation().fit(odd, None, weight).anomaly_score(rows)
    np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(usual_columns, "LEARNED_ROWS", 500)
    fewer = RankDeviation(random_state=seed).fit(odd, None, weight).anomaly_score(rows)
    assert np.corrcoef(one, fewer)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("dense", "weight", "must be positive"),
        ("wide", "rarity", "must not be negative"),
    ],
)
def test_a_file_with_an_impossible_weight_is_refused(kind, name, words, tmp_path):
    path = tmp_path / "m.devnet"
    fitted_small("rank deviation", kind).save(path)
    header, tensors = model_file.read(path)
    write_sealed(path, header, {**tensors, name: -1 - tensors[name]})
    with pytest.raises(ModelFileError, match=words):
        devnet.load(path)
