"""P-values stay valid when alerts are reviewed and the dismissed ones are learned from.

Dismissed rows are no random sample: they are the highest of the normal ones. Each round reviews
the highest rows, dismisses the normal ones among them and fits again. The p-values of fresh normal
rows must stay at least as large as uniform ones. All anomalies are labelled from the beginning, so
that no hidden one makes p-values larger than they need to be.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from devnet import DeviationEnsemble, DevNet, ReviewEnsemble
from devnet.significance.calibration import calibrate
from devnet.significance.ranks import ConformalRanks

LEVELS = np.array([0.01, 0.05, 0.1])
NORMAL = 2
N_ANOMALIES, N_ROUNDS, N_REVIEWS = 12, 4, 25
N_ROWS, N_FRESH = 1000, 3000
ERRORS = 4  # standard errors by which chance may exceed a level


def table_rows(generator, n):
    """Heavy tails: many normal rows lie where the anomalies do, alone."""
    rows = generator.standard_t(4, size=(n, 6)).astype(np.float32)
    rows[:N_ANOMALIES, :3] += 3
    return rows


def wide_rows(generator, n):
    """Words: some normal rows have a few of those that mark anomalies."""
    words = generator.zipf(1.3, size=(n, 20)) % 3000
    words[:N_ANOMALIES, :6] = 4000 + generator.integers(20, size=(N_ANOMALIES, 6))
    for row in N_ANOMALIES + np.flatnonzero(generator.random(n - N_ANOMALIES) < 0.05):
        size = generator.integers(1, 5)
        words[row, :size] = 4000 + generator.integers(40, size=size)
    starts = np.arange(0, words.size + 1, 20)
    rows = sp.csr_array((np.ones(words.size), words.ravel(), starts), shape=(n, 5000))
    rows.sum_duplicates()
    return rows


def ensemble(seed):
    return DeviationEnsemble(4, 12, normal_label=NORMAL, random_state=seed)


def review_ensemble(seed):
    return ReviewEnsemble(4, 12, normal_label=NORMAL, random_state=seed)


def devnet(seed):
    return DevNet(n_epochs=8, normal_label=NORMAL, random_state=seed)


def reviewed(make_rows, make, seed, *, refits=False):
    """The last of several fits, its calibration, its labels and scores of fresh normal rows."""
    generator = np.random.default_rng(seed)
    rows, fresh = make_rows(generator, N_ROWS), make_rows(generator, N_FRESH)[N_ANOMALIES:]
    y = np.where(np.arange(N_ROWS) < N_ANOMALIES, 1, 0)
    model = None
    for number in range(N_ROUNDS + 1):
        if model is None or not refits:
            model = make(int(generator.integers(2**31)))
            calibration = calibrate(model, rows, y, random_state=number)
        else:
            calibration = model.refit(rows, y).unseen_scores()
        if number < N_ROUNDS:
            scores = np.where(y == 0, model.anomaly_score(rows), -np.inf)
            y[np.argsort(-scores)[:N_REVIEWS]] = NORMAL
    assert (y == NORMAL).sum() == N_ROUNDS * N_REVIEWS
    return model, calibration, model.anomaly_score(fresh)


def small_shares(ranks, scores):
    """Share of p-values at or below each level."""
    return (ranks.p_value(scores)[:, None] <= LEVELS).mean(axis=0)


def excess(shares):
    """By how many standard errors the mean share of repeats exceeds each level."""
    shares = np.array(shares)
    error = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    return (shares.mean(axis=0) - LEVELS) / error


@pytest.mark.parametrize(
    ("make_rows", "make", "refits"),
    [
        (wide_rows, ensemble, False),
        (table_rows, devnet, False),
        (table_rows, review_ensemble, True),
        pytest.param(table_rows, review_ensemble, False, marks=pytest.mark.slow),
        pytest.param(table_rows, ensemble, False, marks=pytest.mark.slow),
        pytest.param(table_rows, ensemble, True, marks=pytest.mark.slow),
    ],
)
def test_small_p_values_of_fresh_normal_rows_stay_rare(make_rows, make, refits, seed):
    shares = []
    for repeat in range(12):
        _, calibration, scores = reviewed(make_rows, make, [seed, repeat], refits=refits)
        shares.append(small_shares(calibration.ranks(), scores))
    assert excess(shares).max() < ERRORS


def test_ranks_without_the_dismissed_rows_would_promise_too_much(seed):
    """The reason why they stay; and the test above would notice."""
    shares = []
    for repeat in range(8):
        model, _, scores = reviewed(wide_rows, ensemble, [seed, repeat])
        stays = np.isin(np.arange(len(model.pool_)), model.normals_, invert=True)
        ranks = ConformalRanks(model.out_of_bag_.unlabelled[stays], model.pool_weight_[stays])
        shares.append(small_shares(ranks, scores))
    assert excess(shares).min() > ERRORS
    assert np.mean(shares, axis=0)[0] > 3 * LEVELS[0]
