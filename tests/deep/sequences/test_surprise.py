"""Surprise: what training sequences do not lead to expect, and what that adds to few labels."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from support.sequences import quick, ragged

from devnet.deep.sequences.encoding import learn_encoding
from devnet.deep.sequences.padding import pad
from devnet.deep.sequences.reading import read_steps
from devnet.deep.sequences.surprise import REACH, learn_surprise

pytest.importorskip("torch")


def learned(X, *, symbols=False):
    """From sequences to their surprises (n, t, c), learned from X."""
    steps = read_steps(X, symbols=symbols)
    encoding = learn_encoding(steps, symbols=symbols)
    surprise = learn_surprise(steps, encoding)

    def surprises(X):
        steps = read_steps(X, symbols=symbols)
        return surprise.of(pad(steps, encoding, slice(None), int(steps.lengths.max())))

    return surprises


def walks(seed=0, n=200, t=40, channels=1):
    """Random walks: a step is expected between its neighbours."""
    return np.random.default_rng(seed).normal(size=(n, t, channels)).cumsum(axis=1)


def test_numbers_are_expected_as_a_regression_on_their_neighbours_says(seed):
    X = walks(seed)
    z = (X[:, :, 0] - X.mean()) / X.std()
    middle = range(REACH, z.shape[1] - REACH)
    around = [np.delete(z[:, i - REACH : i + REACH + 1], REACH, axis=1) for i in middle]
    inputs, output = np.concatenate(around), np.concatenate([z[:, i] for i in middle])
    expected = LinearRegression(fit_intercept=False).fit(inputs, output).predict(inputs)
    found = np.concatenate(learned(X)(X)[:, REACH:-REACH, 0].T)
    assert np.corrcoef(np.expm1((found + 1) / 2), np.abs(output - expected))[0, 1] > 0.999


def test_a_spike_is_the_most_surprising_step(seed):
    surprises = learned(walks(seed, channels=2))
    X = walks(seed + 1, n=20, channels=2)
    X[:, 17, 1] += 20
    found = surprises(X)
    assert (found[:, :, 1].argmax(axis=1) == 17).all()
    np.testing.assert_array_equal(
        found[:, :, 0], surprises(walks(seed + 1, n=20, channels=2))[:, :, 0]
    )


def test_a_sequence_surprises_by_its_own_steps_alone(seed):
    X = ragged(walks(seed), seed)
    surprises = learned(X)
    together = surprises(X)
    for row in range(5):
        alone = surprises([X[row]])[0]
        np.testing.assert_array_equal(together[row, : len(alone)], alone)
        assert (together[row, len(alone) :] == 0).all()


def test_missing_values_do_not_surprise_and_hardly_their_neighbours(seed):
    X = walks(seed)
    surprises = learned(X)
    holes = X.copy()
    holes[:, ::7] = np.nan
    found = surprises(holes)
    assert (found[:, ::7] == 0).all()
    np.testing.assert_allclose(found[:, 1::7].mean(), surprises(X)[:, 1::7].mean(), rtol=0.5)
    assert np.isfinite(learned(holes)(holes)).all()


def test_outliers_and_constants_are_no_trouble():
    X = walks(channels=2)
    X[:, :, 1] = 5.0
    X[3, 3, 0] = 1e300
    assert np.isfinite(learned(X)(X)).all()


def test_very_many_and_very_long_sequences_are_learned_from_in_part(monkeypatch):
    X = walks()
    whole = learned(X)(X)
    monkeypatch.setattr("devnet.deep.sequences.surprise.MOST_VALUES", 2000)  # 50 of 200
    assert np.abs(learned(X)(X) - whole).mean() < 0.1
    monkeypatch.setattr("devnet.deep.sequences.surprise.MOST_VALUES", 20)  # half of one
    assert np.isfinite(learned(X)(X)).all()


def test_pairs_that_were_never_seen_surprise_more_than_common_ones():
    X = ["abcabcabc", "bcabcabca", "cabcabcab"] * 20
    surprises = learned(X, symbols=True)
    usual, odd = surprises(["abcabc", "abaabc"])[:, :, 0]
    assert usual.max() < odd[2:4].min()
    assert surprises(["a"])[0, 0, 0] == 0
    assert (surprises([["a", None, "b"]]) == 0).all()


def test_sequences_of_one_symbol_have_no_pairs():
    assert (learned(["a", "b", "a", "b"], symbols=True)(["a", "b"]) == 0).all()


def test_usual_symbols_are_learned_from_sequences_without_labels(seed):
    """Two labels cannot tell that a stretch runs backwards; 300 sequences can."""
    generator = np.random.default_rng(seed)
    after = generator.dirichlet(np.full(12, 0.1), size=12)  # a letter is followed by few others

    def text():
        letters = [0]
        while len(letters) < 40:
            letters.append(int(generator.choice(12, p=after[letters[-1]])))
        return letters

    X = np.array([text() for _ in range(330)])
    truth = np.arange(330) < 30
    X[truth, 10:30] = X[truth, 29:9:-1]
    y = (np.arange(330) < 2).astype(int)
    model = quick(symbols=True, n_epochs=20, learning_rate=0.003).fit(X, y)
    assert roc_auc_score(truth[2:], model.anomaly_score(X[2:])) > 0.9
