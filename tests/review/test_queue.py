"""What is dealt next follows from scores, seed and state, and no row is dealt twice at once."""

import numpy as np
import pytest
from scipy import stats
from support.payment_tables import fitted, make_table

from devnet.review.queue import FOLDED_AT_ONCE, Queue, Shares, reviewed_rows
from devnet.review.store import LabelStore, ReviewedTable
from devnet.tables.folding import fold

ONLY_HIGHEST = Shares(0, 0)


def scores_of(n_rows, seed):
    return np.random.default_rng(seed).normal(size=n_rows)


def dealt(queue, n_cards=None):
    cards = []
    while (n_cards is None or len(cards) < n_cards) and (card := queue.deal()) is not None:
        cards.append(card)
    return cards


def test_the_highest_come_first_and_all_rows_come_once(seed):
    scores = scores_of(5000, seed)
    cards = dealt(Queue(scores, shares=ONLY_HIGHEST))
    assert [card.row for card in cards] == np.argsort(-scores).tolist()
    assert [card.rank for card in cards] == list(range(1, 5001))
    assert all(card.score == scores[card.row] for card in cards)
    assert {(card.reason, card.probability, card.like_it) for card in cards} == {
        ("highest", 1.0, ())
    }
    mixed = dealt(Queue(scores, seed=seed, unlike=scores_of(5000, seed + 1)))
    assert sorted(card.row for card in mixed) == list(range(5000))


def test_what_is_dealt_depends_on_scores_seed_and_state_alone(seed):
    scores, unlike = scores_of(1000, seed), scores_of(1000, seed + 1)

    def make(**state):
        return Queue(scores, seed=seed, unlike=unlike, **state)

    first = make()
    whole = dealt(first, 300)
    assert dealt(make(), 300) == whole
    for n_done in (1, 57, 200):
        done = [row for card in whole[:n_done] for row in card.rows]
        assert dealt(make(reviewed=done, n_dealt=n_done), 100) == whole[n_done : n_done + 100]
    queue = make()
    assert queue.upcoming(300) == whole
    assert dealt(queue, 300) == whole
    assert dealt(Queue(scores, seed=seed + 1, unlike=unlike), 300) != whole


def test_shares_are_kept_evenly(seed):
    scores, shares = scores_of(20_000, seed), Shares(0.05, 0.1)
    cards = dealt(Queue(scores, seed=seed, shares=shares, unlike=scores), 2000)
    for start in range(0, 2000, 200):
        reasons = [card.reason for card in cards[start : start + 200]]
        assert 9 <= reasons.count("random") <= 11
        assert 19 <= reasons.count("unlike") <= 21
    without = dealt(Queue(scores, seed=seed, shares=shares), 200)
    assert {card.reason for card in without} == {"highest", "random"}


def test_random_cards_are_uniform_among_the_rows_that_are_open():
    scores, counts = np.arange(8.0), np.zeros(8)
    for seed in range(2000):
        queue = Queue(scores, seed=seed, shares=Shares(1, 0), reviewed=[0, 3])
        queue.hold([5])
        card = queue.deal()
        assert card.probability == 1 / 5
        counts[card.row] += 1
    assert counts[[0, 3, 5]].tolist() == [0, 0, 0]
    assert stats.chisquare(counts[[1, 2, 4, 6, 7]]).pvalue > 1e-4


def test_random_cards_state_the_number_of_rows_they_were_drawn_from(seed):
    queue = Queue(scores_of(400, seed), seed=seed, shares=Shares(0.2, 0), fold=_in_pairs)
    n_free = 400
    for card in dealt(queue):
        if card.reason == "random":
            assert card.probability == 1 / n_free
            assert card.like_it == ()
        n_free -= len(card.rows)
    assert n_free == 0


def _in_pairs(rows):
    return [list(range(i, min(i + 2, len(rows)))) for i in range(0, len(rows), 2)]


def test_unlike_rows_come_by_how_unlike_they_are(seed):
    unlike = scores_of(300, seed)
    queue = Queue(scores_of(300, seed + 1), seed=seed, shares=Shares(0, 1), unlike=unlike)
    assert [card.row for card in dealt(queue)] == np.argsort(-unlike).tolist()


def test_held_rows_are_not_dealt_until_they_are_put_back(seed):
    scores = scores_of(50, seed)
    queue = Queue(scores, seed=seed, fold=_in_pairs, shares=Shares(0.2, 0))
    first, second = queue.deal(), queue.deal()
    assert not {*first.rows} & {*second.rows}
    queue.settle(second.rows)
    queue.put_back(first.rows)
    assert queue.n_open == 50 - len(second.rows)
    again = dealt(queue)
    rows = [row for card in again for row in card.rows]
    assert sorted(rows) == sorted({*range(50)} - {*second.rows})
    assert queue.deal() is None
    queue.reopen(second.rows)
    assert {row for card in dealt(queue) for row in card.rows} == {*second.rows}


def test_near_duplicates_are_one_card_led_by_the_highest_that_is_open(seed):
    asked = []

    def by_tens(rows):
        asked.append(rows.tolist())
        return [list(range(i, i + 10)) for i in range(0, len(rows), 10)]

    n_rows = 2 * FOLDED_AT_ONCE
    scores = scores_of(n_rows, seed)
    order = np.argsort(-scores).tolist()
    queue = Queue(scores, shares=ONLY_HIGHEST, fold=by_tens, reviewed=[order[0], order[4]])
    card = queue.deal()
    assert card.rows == tuple(order[i] for i in (1, 2, 3, 5, 6, 7, 8, 9))
    assert queue.deal().rows == tuple(order[10:20])
    assert asked == [order[:FOLDED_AT_ONCE]]
    queue.put_back(card.rows)
    queue.settle([order[1]])
    assert queue.deal().row == order[2]
    dealt(queue)
    assert asked == [order[:FOLDED_AT_ONCE], order[FOLDED_AT_ONCE:]]


def test_the_folding_of_alerts_folds_cards():
    model, table = fitted(), make_table()[0]
    doubled = table.take([0, *range(table.num_rows)])
    encoded = model.encoder_.encode_checked(doubled)
    scores = model.detector_.anomaly_score(encoded)

    def folded(rows):
        return fold(model.encoder_, encoded[rows], scores[rows])

    cards = dealt(Queue(scores, shares=ONLY_HIGHEST, fold=folded))
    (together,) = [card for card in cards if 0 in card.rows]
    assert 1 in together.rows
    assert sorted(row for card in cards for row in card.rows) == list(range(len(scores)))


def test_reviewed_rows_are_those_with_a_verdict_that_were_not_reopened(tmp_path):
    with LabelStore(tmp_path / "r.db", ReviewedTable("t", ("x",))) as store:
        for verdict, row in (("normal", "a"), ("unsure", "b"), ("anomaly", "c"), ("reopened", "c")):
            store.add(verdict, [(row,)], who="ana")
        assert sorted(reviewed_rows(store.latest())) == ["a", "b"]


@pytest.mark.parametrize("shares", [Shares(-0.1, 0), Shares(0.6, 0.5)])
def test_impossible_shares_are_refused(shares):
    with pytest.raises(ValueError, match="must be at least 0, and together at most 1"):
        Queue(np.zeros(3), shares=shares)


def test_an_empty_table_has_no_cards():
    assert Queue(np.zeros(0)).deal() is None
