"""The waiting room: small requests that wait together are scored as one batch.

A batch of rows costs little more than one row, so it pays to wait a moment for company: no longer
than scoring takes, and only if there was company lately. A single client never waits.

A model that is quick scores in the event loop's own thread: handing rows to another thread, and
waking it up, takes longer than to score them. A slow one scores in another thread, so that the
loop can answer others. Everything else happens in the loop's thread, so nothing needs a lock.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
import pyarrow as pa

from devnet.serving.service.json_rows import typed
from devnet.serving.service.served_model import ServedModel

MOST_ROWS = 1024  # that are scored together
WAIT_SHARE = 1.0  # of the time to score a batch, which it may wait for company
QUICK = 0.01  # seconds of a batch up to which the loop may be held up
TURNS = 3  # of the loop from a request that is there to its rows in the room
REST = 8  # batches until it is tried again whether more would come
Outcome: TypeAlias = Any  # scored rows, or the error instead


class _Waiting(NamedTuple):
    model: ServedModel
    rows: list[dict[str, Any]] | pa.RecordBatch
    scored: asyncio.Future[pa.RecordBatch]

    def may_join(self, other: "_Waiting") -> bool:
        """Whether both can be one batch."""
        return self.model is other.model and self._form() == other._form()

    def _form(self) -> pa.Schema | None:
        """The columns of a batch; JSON rows have those of the model."""
        return getattr(self.rows, "schema", None)

    def batch(self) -> pa.RecordBatch:
        """The rows, typed; refuses the first value that is wrong."""
        return typed(self.rows, self.model) if isinstance(self.rows, list) else self.rows


@final
class WaitingRoom:
    """Scores rows, those together that wait at the same time.

    Parameters
    ----------
    executor : Executor
        Its threads score; one batch of the room at a time.
    on_batch : callable
        Gets the number of requests and of rows that are scored together.
    """

    def __init__(self, executor: Executor, on_batch: Callable[[int, int], None]) -> None:
        self._executor, self._on_batch = executor, on_batch
        self._waiting: deque[_Waiting] = deque()
        self._is_scoring = False
        self._n_expected = 1  # requests of a batch, by the last ones
        self._n_resting = 0  # batches until more may be expected than came last
        self._seconds = 0.0  # that the last batch took
        self._model: ServedModel | None = None  # that scored it
        self._timer: asyncio.TimerHandle | None = None
        self._n_turns = -1  # of the loop until those who wait are scored; -1 if they are not yet

    async def score(
        self, model: ServedModel, rows: list[dict[str, Any]] | pa.RecordBatch
    ) -> pa.RecordBatch:
        """Scores of rows, when it is their turn."""
        loop = asyncio.get_running_loop()
        scored: asyncio.Future[pa.RecordBatch] = loop.create_future()
        self._waiting.append(_Waiting(model, rows, scored))
        self._soon()
        return await scored

    def _soon(self) -> None:
        """Score those who wait, now or after a moment for others, unless some are being scored."""
        if self._is_scoring or not self._waiting:
            return
        self._n_turns = TURNS if self._n_turns >= 0 else -1  # somebody came: look for others
        if len(self._waiting) >= self._n_expected:
            self._now()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WAIT_SHARE * self._seconds, self._now)

    def _now(self) -> None:
        """Score those who wait: in this thread, once nobody else comes in, or in another one."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        if self._model is not self._waiting[0].model or self._seconds > QUICK:
            self._elsewhere()
        elif self._n_turns < 0:
            self._n_turns = TURNS
            asyncio.get_running_loop().call_soon(self._here)

    def _here(self) -> None:
        """Score the next batch in this thread, after some turns of the loop."""
        if self._n_turns:
            self._n_turns -= 1
            asyncio.get_running_loop().call_soon(self._here)
            return
        self._n_turns = -1
        if group := self._next():
            self._hand_out(group, *_timed(group))

    def _elsewhere(self) -> None:
        """Score the next batch in another thread."""
        if not (group := self._next()):
            return
        self._is_scoring = True
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._executor, _timed, group)

        def hand_out(found: asyncio.Future[tuple[list[Outcome], float]]) -> None:
            self._is_scoring = False
            self._hand_out(group, *_found(found, len(group)))

        done.add_done_callback(hand_out)

    def _next(self) -> list[_Waiting]:
        """The next batch of those who wait, counted."""
        if group := self._group():
            self._model = group[0].model
            self._expect(len(group))
            self._on_batch(len(group), sum(len(one.rows) for one in group))
        return group

    def _expect(self, n_requests: int) -> None:
        """Learn from the requests of a batch how many the next one may wait for."""
        if n_requests < self._n_expected:
            self._n_resting = REST  # it waited for others in vain
        self._n_resting = max(0, self._n_resting - 1)
        may_grow = n_requests > 1 and not self._n_resting
        self._n_expected = 2 * n_requests if may_grow else n_requests

    def _hand_out(self, group: list[_Waiting], outcomes: list[Outcome], seconds: float) -> None:
        """Give each its scores, or its error."""
        self._seconds = seconds
        for one, outcome in zip(group, outcomes, strict=True):
            if one.scored.done():  # nobody waits for it any more
                continue
            if isinstance(outcome, BaseException):
                one.scored.set_exception(outcome)
            else:
                one.scored.set_result(outcome)
        # After the answers are sent, which scoring would hold up.
        asyncio.get_running_loop().call_soon(self._soon)

    def _group(self) -> list[_Waiting]:
        """The next requests that can be one batch, without those that gave up."""
        group: list[_Waiting] = []
        n_rows = 0
        while self._waiting:
            one = self._waiting[0]
            if one.scored.done():  # nobody waits for it any more
                self._waiting.popleft()
                continue
            n_rows += len(one.rows)
            if group and (n_rows > MOST_ROWS or not one.may_join(group[0])):
                break
            group.append(self._waiting.popleft())
        return group


def _found(
    done: asyncio.Future[tuple[list[Outcome], float]], n_requests: int
) -> tuple[list[Outcome], float]:
    """What a thread found for each request, and how long that took."""
    stopped = RuntimeError("scoring was stopped")
    error = stopped if done.cancelled() else done.exception()
    return done.result() if error is None else ([error] * n_requests, np.inf)


def _timed(group: list[_Waiting]) -> tuple[list[Outcome], float]:
    """Scores of the rows of each, and the seconds that they took."""
    begun = time.perf_counter()
    return _score(group), time.perf_counter() - begun


def _score(group: list[_Waiting]) -> list[Outcome]:
    """Scores of the rows of each; where all together fail, none harms the others."""
    try:
        scored = group[0].model.score(_joined(group))
    except Exception as error:
        return [error] if len(group) == 1 else _score_good(group)
    outcomes, start = [], 0
    for one in group:
        outcomes.append(scored.slice(start, len(one.rows)))
        start += len(one.rows)
    return outcomes


def _joined(group: list[_Waiting]) -> pa.RecordBatch:
    """All rows as one batch."""
    first = group[0]
    if len(group) == 1:
        return first.batch()
    if isinstance(first.rows, list):
        return typed([row for one in group for row in one.rows], first.model)
    return pa.concat_batches([one.rows for one in group])


def _score_good(group: list[_Waiting]) -> list[Outcome]:
    """Scores of those whose values fit, once more as one batch, or else of each alone."""
    outcomes: list[Outcome] = []
    for one in group:
        try:
            outcomes.append(one.batch())
        except Exception as error:
            outcomes.append(error)
    good = [
        one._replace(rows=batch)
        for one, batch in zip(group, outcomes, strict=True)
        if not isinstance(batch, Exception)
    ]
    is_fewer = len(good) < len(group)
    scored = iter(_score(good) if good and is_fewer else [_score([one])[0] for one in good])
    return [one if isinstance(one, Exception) else next(scored) for one in outcomes]
