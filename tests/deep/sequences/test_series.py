"""Long series: step scores, p-values that keep their promise, and events."""

import numpy as np
import pytest
from support.sequences import quick

from devnet.deep.sequences import series_scores
from devnet.deep.sequences.score_series import (
    Event,
    ScoredSeries,
    SeriesBlock,
    find_events,
    score_blocks,
    score_series,
)
from devnet.deep.sequences.series_calibration import SeriesRanks, fit_series
from devnet.deep.sequences.series_scores import step_scores

pytest.importorskip("torch")


class MeanSize:
    """A detector that has nothing to learn: a window's score is its mean absolute value."""

    def fit(self, X, y):
        self.seen_ = X
        return self

    def anomaly_score(self, X):
        return np.abs(X).mean(axis=(1, 2))


class Places(MeanSize):
    """Scores steps: each by its place in the window."""

    head = "steps"

    def anomaly_profile(self, X):
        return np.broadcast_to(np.arange(X.shape[1]), X.shape[:2])


def all_scores(detector, series, length, step):
    parts = list(step_scores(detector, series, length, step))
    assert [part.start for part in parts] == [0, *np.cumsum([len(p.score) for p in parts])[:-1]]
    return np.concatenate([part.score for part in parts])


def autoregressive(generator, n, memory=0.95):
    noise = generator.normal(size=n)
    for i in range(1, n):
        noise[i] += memory * noise[i - 1]
    return noise


@pytest.mark.parametrize(("n", "length", "step"), [(50, 8, 2), (53, 8, 3), (8, 8, 8), (41, 7, 7)])
@pytest.mark.parametrize("block", [1, 40, 1 << 21])
def test_a_step_has_the_mean_score_of_its_windows(n, length, step, block, monkeypatch, seed):
    monkeypatch.setattr(series_scores, "BLOCK_VALUES", block)
    series = np.random.default_rng(seed).normal(size=n)
    starts = sorted({*range(0, n - length + 1, step), n - length})
    scores = {start: np.abs(series[start : start + length]).mean() for start in starts}
    holding = [[start for start in starts if start <= i < start + length] for i in range(n)]
    expected = [np.mean([scores[start] for start in some]) for some in holding]
    np.testing.assert_allclose(all_scores(MeanSize(), series, length, step), expected)
    own = np.array([np.mean([i - start for start in some]) for i, some in enumerate(holding)])
    of_steps = all_scores(Places(), series, length, step)
    np.testing.assert_allclose(of_steps, (own + expected) / 2)


def test_steps_that_nobody_observed_have_no_score():
    series = np.ones(60)
    series[20:40] = np.nan
    scores = all_scores(_Missing(), series, 8, 4)
    assert np.isnan(scores[24:36]).all()
    assert not np.isnan(scores[:20]).any()
    ranks = SeriesRanks(np.arange(100.0), 10, 8, 4)
    assert np.isnan(score_series(_Missing(), series, ranks).p_value[24:36]).all()


class _Missing(MeanSize):
    def anomaly_score(self, X):
        return np.nanmean(np.abs(X), axis=(1, 2))


def test_a_p_value_counts_the_steps_own_block():
    ranks = SeriesRanks(np.arange(90.0), block=10, length=4, step=1)
    np.testing.assert_allclose(ranks.p_value(np.array([1000.0, 89.0, 0.0])), [0.1, 0.11, 1.0])
    assert ranks.smallest == 0.1


@pytest.mark.parametrize("memory", [0.0, 0.95, 0.99])
def test_at_most_a_hundredth_of_normal_steps_has_a_p_value_of_a_hundredth(memory):
    """The promise, for series whose steps depend on each other a lot."""
    shares = []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        series = autoregressive(generator, 40_000, memory)
        ranks = fit_series(MeanSize(), series, [(50, 60)], 20, random_state=seed)
        assert ranks.smallest < 0.01
        new = autoregressive(generator, 20_000, memory)
        shares.append((score_series(MeanSize(), new, ranks).p_value <= 0.01).mean())
    assert np.mean(shares) <= 0.01 + 2 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) <= 0.012


def test_no_training_window_shares_a_step_with_a_window_that_ranks(seed):
    series = np.arange(5_000.0)  # values are step numbers
    detector = _Noting()
    ranks = fit_series(detector, series, [(2000, 2010), (2500, 2600)], 20, random_state=seed)
    trained = {int(step) for step in np.unique(detector.seen_)}
    assert not trained & {int(step) for window in detector.asked for step in window.ravel()}
    assert len(ranks.scores) % ranks.block == 0
    assert {2000, 2550} <= trained  # the labelled ones are always trained on


class _Noting(MeanSize):
    def __init__(self):
        self.asked = []

    def anomaly_score(self, X):
        self.asked.extend(X)
        return super().anomaly_score(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"intervals": []}, "there are no intervals"),
        ({"intervals": [(5, 2000)]}, "interval 0 is .5, 2000., which is not within the series"),
        ({"intervals": [(5, 9)], "length": 2000}, "longer than the series"),
        ({"intervals": [(5, 9)], "block": 900}, "blocks of 900 steps away .* or a shorter length"),
        ({"intervals": [(5, 9)], "block": 3}, "block=3 must be a whole number of at least"),
    ],
)
def test_series_that_cannot_be_learned_from(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_series(MeanSize(), np.zeros(1000), **{"length": 10, **arguments})


def test_alarms_merge_into_events():
    p_value = np.array([1, 0.01, 0.001, 1, 0.01, 1, 1, 1, 0.01, 0.01], np.float32)
    score = np.array([0, 2, 5, 0, 3, 0, 0, 0, 2, 4], np.float32)
    scored = ScoredSeries(score, p_value)
    first, second = (1, 3, 2, 5.0, pytest.approx(0.001)), (4, 5, 4, 3.0, pytest.approx(0.01))
    last = (8, 10, 9, 4.0, pytest.approx(0.01))
    assert find_events(scored) == [first, second, last]
    joined = Event(1, 5, *first[2:])
    assert find_events(scored, gap=1) == [joined, last]
    assert [event[:3] for event in find_events(scored, gap=100)] == [(1, 10, 2)]
    assert find_events(scored, 0.0005) == []
    for size in (1, 2, 3, 7):  # however they are cut into blocks
        cut = [
            SeriesBlock(i, score[i : i + size], p_value[i : i + size]) for i in range(0, 10, size)
        ]
        assert find_events(iter(cut)) == [first, second, last]
    with pytest.raises(ValueError, match="no p-value below 0.05. Give a higher rate"):
        find_events(ScoredSeries(score, p_value, 0.05), 0.01)
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        find_events(scored, 1.0)


@pytest.mark.parametrize("head", ["global", "steps"])
def test_planted_faults_are_found_where_they_are(head, seed):
    generator = np.random.default_rng(seed)
    series = np.sin(np.arange(12_000) / 5) + 0.2 * generator.normal(size=12_000)
    starts = np.arange(500, 12_000, 500)
    for start in starts:
        series[start : start + 20] += generator.choice([-2, 2])
    train, new = series[:9_000], series[9_000:]
    known = [(start, start + 20) for start in starts if start < 9_000]
    detector = quick(head=head, n_epochs=12, learning_rate=0.01)
    ranks = fit_series(detector, train, known, 40, 10, block=40, random_state=seed)
    scored = score_series(detector, new, ranks)
    events = find_events(score_blocks(detector, new, ranks), 0.05, gap=40)
    peaks = np.array([event.peak for event in events])
    new_starts = starts[starts >= 9_000] - 9_000
    found = [((peaks >= start) & (peaks < start + 20)).any() for start in new_starts]
    assert np.mean(found) >= 0.8
    assert scored.score.shape == scored.p_value.shape == (3_000,)
