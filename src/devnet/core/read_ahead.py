"""The next items of an iterator, made in the background while the caller works."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def read_ahead(items: Generator[Item, None, None], depth: int = 2) -> Generator[Item, None, None]:
    """The same items in the same order, of which `depth` are made ahead by one thread.

    What goes wrong there is raised here, in its place. Closing ends the thread and the items.
    """
    end = object()
    worker = ThreadPoolExecutor(1)
    try:
        coming = deque(worker.submit(next, items, end) for _ in range(depth))
        while (item := coming.popleft().result()) is not end:
            coming.append(worker.submit(next, items, end))
            yield item  # type: ignore[misc]
            del item  # the caller decides how long it lives
    finally:
        worker.shutdown(cancel_futures=True)
        items.close()


def map_ahead(
    make: Callable[[Item], Made], items: Iterator[Item], n_threads: int | None = None
) -> Generator[Made, None, None]:
    """What is made of each item, in their order, by as many threads as there are cores.

    Items are taken in the caller's thread, one more than there are threads at most before the
    first is asked for. What goes wrong is raised in its place. Closing ends the threads.
    """
    n_threads = n_threads or os.cpu_count() or 1
    workers = ThreadPoolExecutor(n_threads)
    coming: deque[Future[Made]] = deque()
    try:
        for item in items:
            coming.append(workers.submit(make, item))
            del item
            if len(coming) > n_threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    finally:
        workers.shutdown(cancel_futures=True)
