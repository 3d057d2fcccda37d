"""The waiting room: small requests that wait together are scored as one batch.

While a batch is scored, others come in; when it is done, all that wait are the next batch. Clients
that got their answers together mostly ask together again, so the next batch waits for as many as
the last ones had, as long as they keep coming. A single client never waits for company. Everything
but scoring happens in the event loop's thread, so nothing needs a lock.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, NamedTuple, TypeAlias, final

import pyarrow as pa

from devnet.serving.service.json_rows import typed
from devnet.serving.service.served_model import ServedModel

MOST_ROWS = 1024  # that are scored together
QUIET = 0.0005  # seconds in which nobody comes any more
WAIT_SHARE = 0.5  # of the time to score a batch, which it may wait for company
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
        self._seconds = 0.0  # that the last one took
        self._timer: asyncio.TimerHandle | None = None
        self._latest = 0.0  # time of the loop at which the next batch is scored

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
        if self._is_scoring:
            return
        if len(self._waiting) >= self._n_expected:
            self._now()
        elif self._waiting:
            loop = asyncio.get_running_loop()
            if self._timer is None:
                self._latest = loop.time() + WAIT_SHARE * self._seconds
            else:
                self._timer.cancel()
            self._timer = loop.call_at(min(loop.time() + QUIET, self._latest), self._now)

    def _now(self) -> None:
        """Score the next batch of those who wait."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not (group := self._group()):
            return
        self._is_scoring = True
        self._n_expected = max(len(group), 3 * self._n_expected // 4)
        self._on_batch(len(group), sum(len(one.rows) for one in group))
        loop, begun = asyncio.get_running_loop(), time.perf_counter()
        done = loop.run_in_executor(self._executor, _score, group)

        def hand_out(found: asyncio.Future[list[Outcome]]) -> None:
            self._is_scoring, self._seconds = False, time.perf_counter() - begun
            _hand_out(group, found)
            loop.call_soon(self._soon)  # after the answers are sent, which scoring would hold up

        done.add_done_callback(hand_out)

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


def _hand_out(group: list[_Waiting], done: asyncio.Future[list[Outcome]]) -> None:
    """Give each its scores, or its error."""
    stopped = RuntimeError("scoring was stopped")
    error = stopped if done.cancelled() else done.exception()
    outcomes = done.result() if error is None else [error] * len(group)
    for one, outcome in zip(group, outcomes, strict=True):
        if one.scored.done():  # nobody waits for it any more
            continue
        if isinstance(outcome, BaseException):
            one.scored.set_exception(outcome)
        else:
            one.scored.set_result(outcome)


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
