"""Processes that do one job at a time; if one dies, the others carry on."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Self

from threadpoolctl import threadpool_limits

# What libraries read when they are loaded. Threads of several processes would wait for each other.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Answer(NamedTuple):
    """The outcome of a job."""

    label: Any  # as given to `start`
    result: Any  # what the function returned
    error: str  # empty, or why it failed


class Workers:
    """A pool of processes, each with one thread of linear algebra.

    With `fresh`, each job has a new process, whose memory and caches no other job has shaped.
    """

    def __init__(self, size: int, *, fresh: bool = False) -> None:
        self._size = size
        self._fresh = fresh
        self._context = multiprocessing.get_context("spawn")
        self._idle: list[_Worker] = []
        self._busy: dict[Any, tuple[_Worker, Any]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in [*self._idle, *(worker for worker, _ in self._busy.values())]:
            worker.stop()

    @property
    def n_free(self) -> int:
        """Jobs that can be started now."""
        return self._size - len(self._busy)

    def start(self, label: Any, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a module-level function in a free process."""
        worker = self._idle.pop() if self._idle else _Worker(self._context)
        try:
            worker.connection.send((function, arguments))
        except BrokenPipeError:  # it died while it was idle
            worker.stop()
            worker = _Worker(self._context)
            worker.connection.send((function, arguments))
        self._busy[worker.connection] = (worker, label)

    def answers(self) -> list[Answer]:
        """Wait until at least one job ends."""
        answers = []
        for connection in wait(list(self._busy)):
            worker, label = self._busy.pop(connection)
            try:
                result, error = worker.connection.recv()
                if self._fresh:
                    worker.stop()
                else:
                    self._idle.append(worker)
            except (EOFError, ConnectionError):
                result, error = None, worker.cause_of_death()
            answers.append(Answer(label, result, error))
        return answers


class _Worker:
    """One process and the connection to it."""

    def __init__(self, context: Any) -> None:
        self.connection, other = context.Pipe()
        self._process = context.Process(target=_work, args=(other,), daemon=True)
        self._process.start()
        other.close()  # so that the connection breaks when the process dies

    def cause_of_death(self) -> str:
        self._process.join()
        code = self._process.exitcode
        hint = "; out of memory?" if code == -signal.SIGKILL else ""
        return f"the worker process died with exit code {code}{hint}"

    def stop(self) -> None:
        self._process.terminate()
        self._process.join()
        self.connection.close()


def _work(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    # The variables are for libraries that jobs load, the limits for those that are loaded already.
    os.environ |= dict.fromkeys(THREADS, "1")
    with threadpool_limits(1), suppress(EOFError, BrokenPipeError):  # until the parent is gone
        while True:
            function, arguments = connection.recv()
            try:
                answer = (function(*arguments), "")
            except Exception as error:  # recorded, whatever a method raises
                answer = (None, f"{type(error).__name__}: {error}")
            connection.send(answer)
