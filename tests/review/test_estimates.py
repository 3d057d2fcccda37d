"""Estimates are unbiased, and their intervals hold the truth as often as they say."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy import stats

from devnet.review.estimates import (
    by_day,
    precision_by_model,
    remaining_anomalies,
    reviewed,
    seconds_per_card,
    share_interval,
    unbiased_estimate,
)
from devnet.review.events import Event
from devnet.review.queue import Queue, Shares

START = datetime(2026, 11, 16, 9, tzinfo=UTC)
PLAIN = Event(
    number=0,
    row="",
    verdict="normal",
    note="",
    who="ana",
    at=START,
    model=None,
    score=None,
    rank=None,
    reason="highest",
    dealt_at=None,
    probability=None,
    together=1,
    token="",
    undoes=None,
)


def listed(*parts):
    """Events with numbers, times and tokens, unless these are given."""
    return [
        PLAIN._replace(
            **{"number": i, "row": f"r{i}", "token": f"t{i}", "at": START + i * MINUTE, **part}
        )
        for i, part in enumerate(parts, start=1)
    ]


MINUTE = timedelta(minutes=1)


def review(is_anomaly, scores, n_cards, *, seed, shares, learn=False):
    """Events of a review whose verdicts are the truth, and rows that are open at its end.

    If `learn`, a new ranking follows from the verdicts every 20 cards, as in a loop.
    """
    events, reviewed, at = [], {}, START
    queue = Queue(scores, seed=seed, shares=shares)
    for number in range(n_cards):
        if learn and number and number % 20 == 0:
            found = [row for row in reviewed if is_anomaly[row]]
            near = np.isin(np.arange(len(scores)) // 10, np.unique(np.array(found, int) // 10))
            queue = Queue(
                scores + 3 * near, seed=seed, shares=shares, reviewed=reviewed, n_dealt=number
            )
        card, at = queue.deal(), at + MINUTE
        queue.settle(card.rows)
        reviewed[card.row] = True
        verdict = "anomaly" if is_anomaly[card.row] else "normal"
        given = {"number": number, "row": str(card.row), "token": str(number), "dealt_at": at}
        more = {"verdict": verdict, "reason": card.reason, "probability": card.probability}
        events.append(PLAIN._replace(**given, **more, at=at + MINUTE / 3))
    return events, np.setdiff1d(np.arange(len(scores)), list(reviewed))


def population(rng, n_rows, n_anomalies, separation):
    """Anomalies that come in clusters of neighbours, half of which stand out."""
    is_anomaly = np.zeros(n_rows, bool)
    is_anomaly[
        rng.choice(n_rows // 10, n_anomalies // 5, replace=False)[:, None] * 10 + range(5)
    ] = 1
    scores = rng.normal(size=n_rows) + separation * is_anomaly * (rng.random(n_rows) < 0.5)
    return is_anomaly, scores


@pytest.mark.parametrize("learn", [False, True])
def test_the_interval_of_remaining_anomalies_holds_the_truth(seed, learn, monkeypatch):
    raw = []

    def unbiased(*given):
        raw.append(unbiased_estimate(*given))
        return raw[-1]

    monkeypatch.setattr("devnet.review.estimates.unbiased_estimate", unbiased)
    covered, errors, n_runs = 0, [], 120
    for run in range(n_runs):
        rng = np.random.default_rng([seed, run])
        is_anomaly, scores = population(rng, 1500, 100, separation=2.5)
        events, still_open = review(
            is_anomaly, scores, 240, seed=1000 * seed + run, shares=Shares(0.3, 0), learn=learn
        )
        truth = int(is_anomaly[still_open].sum())
        found = remaining_anomalies(events, len(still_open))
        covered += found.low <= truth <= found.high
        errors.append(raw[-1] - truth)
        assert found.low <= found.estimate <= found.high
    assert covered / n_runs >= 0.9
    spread = np.std(errors) / np.sqrt(n_runs)
    assert abs(np.mean(errors)) < 4 * spread


def test_the_interval_is_hypergeometric_if_all_cards_are_random(seed):
    rng = np.random.default_rng(seed)
    is_anomaly = rng.random(400) < 0.1
    events, still_open = review(is_anomaly, np.zeros(400), 60, seed=seed, shares=Shares(1, 0))
    found = remaining_anomalies(events, len(still_open))
    x = found.n_found
    plausible = [
        left
        for left in range(341)
        if stats.hypergeom.sf(x - 1, 400, left + x, 60) > 0.025
        and stats.hypergeom.cdf(x, 400, left + x, 60) > 0.025
    ]
    assert (found.low, found.high) == (plausible[0], plausible[-1])
    assert found.n_random == 60
    assert x == sum(event.verdict == "anomaly" for event in events)


def test_nothing_found_still_bounds_what_remains():
    given = {"reason": "random", "probability": 1 / 1000}
    found = remaining_anomalies(listed(*[given] * 100), n_open=900)
    assert (found.estimate, found.low) == (0, 0)
    assert 25 <= found.high <= 36  # the rule of three says 30 to 37
    everything = remaining_anomalies(listed(*[given] * 100), n_open=3)
    assert everything.high == 3


def test_only_random_cards_that_were_judged_singly_tell_what_remains():
    random = {"reason": "random", "probability": 0.01}
    grouped = {**random, "together": 2, "token": "g", "verdict": "anomaly"}
    assert remaining_anomalies(listed({}, {"verdict": "anomaly"}, grouped, grouped), 50) is None
    events = listed(random, {**random, "verdict": "anomaly"})
    assert remaining_anomalies(events, 50)[3:5] == (2, 1)
    undo = {"row": "r2", "undoes": 2, "verdict": "reopened"}
    assert remaining_anomalies([*events, *listed({}, {}, undo)[2:]], 50)[3:5] == (1, 0)
    corrected = {"row": "r2", "verdict": "normal", "reason": "chosen"}
    assert remaining_anomalies([*events, *listed({}, {}, corrected)[2:]], 50)[3:5] == (2, 0)
    together = {**corrected, "together": 3}
    assert remaining_anomalies([*events, *listed({}, {}, together)[2:]], 50)[3:5] == (2, 1)


def test_unsure_cards_may_be_either():
    random = {"reason": "random", "probability": 0.01}
    normal, anomaly = listed(*[random] * 20), {**random, "verdict": "anomaly"}
    unsure = remaining_anomalies(listed(*[random] * 20, {**random, "verdict": "unsure"}), 90)
    as_normal = remaining_anomalies(listed(*[random] * 21), 90)
    as_anomaly = remaining_anomalies(listed(*[random] * 20, anomaly), 90)
    assert (unsure.low, unsure.high) == (as_normal.low, as_anomaly.high)
    assert as_normal.estimate < unsure.estimate < as_anomaly.estimate
    assert (unsure.n_random, unsure.n_found, unsure.n_unsure) == (21, 0, 1)
    assert remaining_anomalies(normal, 90).n_unsure == 0


def test_anomalies_that_others_found_since_no_longer_remain():
    random = {"reason": "random", "probability": 0.01}
    draws = listed(*[{**random, "verdict": "anomaly"}, *[random] * 9])
    before = remaining_anomalies(draws, 90)
    others = [
        PLAIN._replace(
            number=i, row=f"o{i}", token=f"o{i}", verdict="anomaly", at=START + timedelta(days=1)
        )
        for i in range(20, 25)
    ]
    after = remaining_anomalies([*draws, *others], 85)
    assert before.estimate - after.estimate == pytest.approx(5)
    earlier = [one._replace(at=START - timedelta(days=1)) for one in others]
    assert remaining_anomalies([*earlier, *draws], 90) == before


def test_the_interval_of_a_share_holds_the_truth(seed):
    rng = np.random.default_rng(seed)
    for share, n in ((0.02, 50), (0.3, 20), (0.9, 100)):
        found = rng.binomial(n, share, 3000)
        intervals = {x: share_interval(int(x), n) for x in {*found.tolist()}}
        held = np.mean([intervals[x][0] <= share <= intervals[x][1] for x in found.tolist()])
        assert held >= 0.94
    expected = stats.binomtest(3, 17).proportion_ci(method="exact")
    assert share_interval(3, 17) == pytest.approx((expected.low, expected.high))
    assert share_interval(0, 0) == (0, 1)


def test_precision_counts_cards_by_model_and_by_their_latest_verdict():
    group = {"token": "g", "together": 3, "verdict": "anomaly", "model": 1}
    events = listed(
        group,
        group,
        group,
        {"model": 1},
        {"model": 1, "verdict": "unsure"},
        {"model": 1, "verdict": "anomaly", "reason": "random", "probability": 0.5},
        {"model": 2, "verdict": "anomaly"},
        {"model": 2},
        {"row": "r8", "verdict": "anomaly", "reason": "chosen"},
        {"model": 2, "verdict": "anomaly"},
        {"row": "r10", "verdict": "reopened", "undoes": 10},
        {},
    )
    found = precision_by_model(events)
    assert [one[:4] for one in found] == [(None, 0, 1, 0), (1, 1, 2, 1), (2, 2, 2, 0)]
    assert [one.share for one in found] == [0, 0.5, 1]
    assert found[1][4:] == share_interval(1, 2)


def test_random_cards_among_the_highest_of_their_model_are_alerts_of_it():
    random = {"reason": "random", "probability": 0.01}
    events = listed(
        {"model": 1, "rank": 4, "verdict": "anomaly"},
        {"model": 1, "rank": 3, **random, "verdict": "anomaly"},
        {"model": 1, "rank": 5, **random, "verdict": "anomaly"},  # lower than any alert
        {"model": 2, "rank": 1, **random, "verdict": "anomaly"},  # no alert was judged
        {"model": 1, "rank": None, **random, "verdict": "anomaly"},
        {"model": 1, "rank": 2, "reason": "unlike", "verdict": "anomaly"},
        {"model": 1, "rank": 1, "verdict": "normal"},
    )
    assert [one[:4] for one in precision_by_model(events)] == [(1, 2, 3, 0)]


def test_days_count_rows_whose_verdict_stands():
    day = timedelta(days=1)
    events = listed(
        {"verdict": "anomaly"},
        {"verdict": "unsure"},
        {"verdict": "anomaly", "at": START + day},
        {"verdict": "normal", "at": START + day},
        {"row": "r4", "undoes": 4, "at": START + day},
        {"verdict": "reopened", "row": "r1", "at": START + 2 * day},
    )
    assert [(str(one.day), *one[1:]) for one in by_day(events)] == [
        ("2026-11-16", 1, 0),  # one was reopened since
        ("2026-11-17", 1, 1),
    ]


def test_a_row_counts_once_by_its_latest_verdict_and_imports_are_no_work():
    events = listed(
        {"row": "a", "verdict": "anomaly"},
        {"row": "a", "verdict": "normal", "who": "ben"},
        {"row": "b", "verdict": "anomaly", "reason": "imported"},
        {"row": "c", "verdict": "normal", "reason": "imported"},
        {"row": "c", "verdict": "anomaly"},
    )
    assert [one[1:] for one in by_day(events)] == [(2, 1)]
    assert [(event.row, event.who) for event in reviewed(events)] == [("a", "ben"), ("c", "ana")]


def test_random_cards_tell_nothing_of_a_table_with_other_rows():
    random = {"reason": "random", "probability": 1 / 1000, "verdict": "normal"}
    events = listed(*[random] * 40, {**random, "reason": "imported", "row": "elsewhere"})
    assert remaining_anomalies(events, 960).n_random == 40
    assert remaining_anomalies(events, 1050).n_random == 40
    assert remaining_anomalies(events, 2000) is None  # it has grown
    assert remaining_anomalies(events, 960, gone={"r30"}).n_random == 10
    assert remaining_anomalies(events, 960, gone={"r40"}) is None
    assert remaining_anomalies(events, 960, gone={"elsewhere"}).n_random == 40


def test_the_time_of_a_review_is_that_of_a_card():
    seconds = [5, 9, 100]
    parts = [{"dealt_at": START, "at": START + timedelta(seconds=one)} for one in seconds]
    group = {**parts[2], "token": "t3", "together": 2}
    imported = {"reason": "imported", "who": "bo"}
    assert seconds_per_card(listed(*parts, group, imported)) == 5  # after 5, 4 and 91 seconds
    assert seconds_per_card(listed({})) is None
