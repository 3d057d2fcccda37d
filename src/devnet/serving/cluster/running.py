"""Tasks on a cluster that loses workers: each is done, or the one at fault is named."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from devnet.core.wording import cut, visible
from devnet.serving.cluster.parts import Part
from devnet.serving.cluster.work import Failed
from devnet.tables.table_error import TableError

if TYPE_CHECKING:
    from distributed import Client, Future

RETRIES = 2  # of a task that raises what may pass, such as a network that is down
POLL = 1.0  # seconds until workers are counted again
PATIENCE = 60.0  # seconds without any worker
LONGEST_REASON = 300  # characters of what a worker says
AGAIN = "Finished parts are kept: mend it, and run the same command again."

Task = Callable[..., Any]
_Task = tuple[Part, tuple[Any, ...]]  # with its arguments


def run_tasks(
    client: "Client", task: Task, parts: Sequence[Part], arguments: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[Part, Any]]:
    """Each part with what the task returns for it, as they finish.

    A worker that dies takes its tasks with it. They are done again by others, and those that
    lose several workers are done again alone, so that the one at fault is told from those that
    were only beside it. All others are done before that one is named.

    Parameters
    ----------
    client : distributed.Client
    task : callable
        Returns a value, or a Failed.
    parts : sequence of Part
    arguments : sequence of tuples
        Those of the task for each part.
    """
    suspects: list[_Task] = []
    at_fault: list[_Task] = []
    tasks = list(zip(parts, arguments, strict=True))
    yield from _run(client, task, tasks, suspects.append)
    for one in suspects:
        yield from _run(client, task, [one], at_fault.append)
    if at_fault:
        raise _deadly(at_fault[0][0])


def _run(
    client: "Client", task: Task, tasks: Sequence[_Task], on_killed: Callable[[_Task], None]
) -> Iterator[tuple[Part, Any]]:
    from distributed import KilledWorker

    waiting, run = deque(tasks), uuid4().hex
    running: dict[Future, _Task] = {}
    try:
        while waiting or running:
            while waiting and len(running) < _at_once(client):
                part, arguments = one = waiting.popleft()
                name = f"{task.__name__}-{run}-{part.number}"
                running[client.submit(task, *arguments, key=name, retries=RETRIES)] = one
            for future in _finished(client, list(running)):
                part, _ = one = running.pop(future)
                try:
                    found = _result(part, future)
                except KilledWorker:
                    on_killed(one)
                else:
                    yield part, found
    finally:
        client.cancel(list(running))


def _at_once(client: "Client") -> int:
    """Tasks to hand out: one per thread, and one more per worker to go on with."""
    threads = client.nthreads().values()
    return max(1, int(sum(threads)) + len(threads))


def _finished(client: "Client", futures: "list[Future]") -> "list[Future]":
    """Wait until some are finished; an error if there is no worker for long."""
    from distributed import wait

    alone_since = None
    while True:
        try:
            return list(wait(futures, timeout=POLL, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            pass
        if client.nthreads():
            alone_since = None
            continue
        alone_since = alone_since or time.monotonic()
        if time.monotonic() - alone_since > PATIENCE:
            raise TableError(
                f"the cluster has had no worker for {PATIENCE:.0f} seconds; start some. {AGAIN}"
            )


def _result(part: Part, future: "Future") -> Any:
    """What a task returned; a sentence if it cannot be done."""
    from distributed import KilledWorker

    try:
        found = future.result()
    except KilledWorker:
        raise
    except Exception as error:
        raise _not_done(part, error) from error
    if isinstance(found, Failed):
        raise TableError(*found.sentence, f" It is part {part.number}. {AGAIN}")
    return found


def _deadly(part: Part) -> TableError:
    """The error about a part on which workers die."""
    return TableError(
        f"workers die again and again while they do part {part.number}, {part.in_words()}; most "
        "often memory runs out. Give workers more memory, take fewer of them on one machine, or "
        f"write the table with smaller row groups. {AGAIN}"
    )


def _not_done(part: Part, error: Exception) -> TableError:
    """The error about a part on which a worker, or the way to it, fails."""
    said = cut(visible(str(error)), LONGEST_REASON).rstrip(".")
    return TableError(
        f"part {part.number}, {part.in_words()}, could not be done: {type(error).__name__} "
        f"({said}). {AGAIN}"
    )
