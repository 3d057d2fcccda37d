"""Requests that wait together are scored as one batch, and none harms another."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.payment_tables import make_table
from support.services import json_rows, quick_model, served_model

from devnet.serving.service import waiting_room
from devnet.serving.service.refusal import Refusal
from devnet.serving.service.waiting_room import MOST_ROWS, WaitingRoom

TABLE = make_table(300, seed=1)[0]
ROWS = json_rows(TABLE)
SCORES = quick_model().score(TABLE)["anomaly_score"].to_pylist()


class HeldUp:
    """A model whose first scoring waits until it is let go; counts the rows of each batch."""

    def __init__(self, model):
        self._model, self.sizes, self.go = model, [], threading.Event()

    def __getattr__(self, name):
        return getattr(self._model, name)

    def score(self, batch):
        self.sizes.append(len(batch))
        self.go.wait(10)
        if any(value == -1 for value in batch["amount"].to_pylist()):
            raise ValueError("this row cannot be scored")
        return self._model.score(batch)


@pytest.fixture
def held(tmp_path):
    return HeldUp(served_model(tmp_path))


def run_all(held, requests, n_before=1):
    """Outcomes of requests, of which all but the first come while that one is scored."""

    async def asked():
        with ThreadPoolExecutor(1) as executor:
            room = WaitingRoom(executor, lambda n, n_rows: None)
            tasks = [asyncio.create_task(room.score(model, rows)) for model, rows in requests]
            await asyncio.sleep(0.05)
            held.go.set()
            return await asyncio.gather(*tasks, return_exceptions=True)

    return asyncio.run(asked())


def score_of(outcome):
    return outcome["anomaly_score"].to_pylist()


def test_those_who_come_while_others_are_scored_are_one_batch(held):
    outcomes = run_all(held, [(held, [row]) for row in ROWS[:40]])
    assert held.sizes == [1, 39]
    assert [score_of(one) for one in outcomes] == [[score] for score in SCORES[:40]]


def test_batches_of_arrow_are_joined_too(held, tmp_path):
    batches = [TABLE.select(held.taken.names).slice(i, 2).combine_chunks() for i in range(9)]
    outcomes = run_all(held, [(held, one.to_batches()[0]) for one in batches])
    assert held.sizes == [2, 16]
    assert [score_of(one) for one in outcomes] == [SCORES[i : i + 2] for i in range(9)]


def test_a_batch_has_an_end(held):
    run_all(held, [(held, ROWS) for _ in range(9)])
    most = MOST_ROWS // len(ROWS)
    assert held.sizes == [300, 300 * most, 300 * most, 300 * (8 - 2 * most)]


def test_a_bad_value_harms_only_its_own_request(held):
    requests = [[row] for row in ROWS[:9]]
    requests[4] = [ROWS[4], {**ROWS[4], "amount": "much"}]
    outcomes = run_all(held, [(held, rows) for rows in requests])
    assert isinstance(outcomes[4], Refusal)
    assert outcomes[4].where["row"] == 1  # of its request
    good = [score_of(one) for i, one in enumerate(outcomes) if i != 4]
    assert good == [[score] for i, score in enumerate(SCORES[:9]) if i != 4]
    assert held.sizes == [1, 7]  # the others are still one batch


def test_a_row_that_cannot_be_scored_harms_only_its_own_request(held):
    requests = [[row] for row in ROWS[:5]]
    requests[2] = [{**ROWS[2], "amount": -1}]
    outcomes = run_all(held, [(held, rows) for rows in requests])
    assert isinstance(outcomes[2], ValueError)
    assert [score_of(outcomes[i]) for i in (0, 1, 3, 4)] == [[SCORES[i]] for i in (0, 1, 3, 4)]


def test_rows_of_two_models_are_never_mixed(held, tmp_path):
    other = HeldUp(held._model)
    other.go.set()
    models = [held, held, other, held, other]
    outcomes = run_all(held, list(zip(models, [[row] for row in ROWS[:5]], strict=True)))
    assert [score_of(one) for one in outcomes] == [[score] for score in SCORES[:5]]
    assert (held.sizes, other.sizes) == ([1, 1, 1], [1, 1])


def test_who_gave_up_is_not_scored(held):
    async def asked():
        with ThreadPoolExecutor(1) as executor:
            room = WaitingRoom(executor, lambda n, n_rows: None)
            first = asyncio.create_task(room.score(held, ROWS[:1]))
            await asyncio.sleep(0.02)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(room.score(held, ROWS[1:3]), 0.02)
            last = asyncio.create_task(room.score(held, ROWS[3:4]))
            await asyncio.sleep(0.02)
            held.go.set()
            return await asyncio.gather(first, last)

    outcomes = asyncio.run(asked())
    assert [score_of(one) for one in outcomes] == [[SCORES[0]], [SCORES[3]]]
    assert held.sizes == [1, 1]


def test_a_quick_model_scores_in_the_thread_of_the_loop(held, monkeypatch):
    """After its first batch, which tells how quick it is; a slow one has a thread of its own."""
    threads = []

    async def asked(room):
        for _ in range(3):
            await room.score(held, ROWS[:1])
        await asyncio.gather(*(room.score(held, [row]) for row in ROWS[:20]))

    def run(slow):
        monkeypatch.setattr(waiting_room, "QUICK", 0.0 if slow else 60.0)  # on any machine
        threads.clear()
        score = held._model.score
        held.sizes.clear()

        def noted(batch):
            threads.append(threading.current_thread() is threading.main_thread())
            return score(batch)

        held.score = lambda batch: held.sizes.append(len(batch)) or noted(batch)
        with ThreadPoolExecutor(1) as executor:
            asyncio.run(asked(WaitingRoom(executor, lambda n, n_rows: None)))

    run(slow=False)
    assert threads[0] is False
    assert all(threads[1:])
    assert held.sizes == [1, 1, 1, 20]  # those who come together are one batch
    run(slow=True)
    assert not any(threads)
    assert sum(held.sizes) == 23


def test_a_single_client_never_waits_for_company(held):
    held.go.set()

    async def asked():
        with ThreadPoolExecutor(1) as executor:
            room = WaitingRoom(executor, lambda n, n_rows: None)
            for row in ROWS[:50]:
                await room.score(held, [row])
                assert room._n_expected == 1

    asyncio.run(asked())
