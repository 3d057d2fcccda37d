"""Items of an iterator, made in background threads while the caller works."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def read_ahead(items: Generator[Item, None, None], depth: int = 2) -> Generator[Item, None, None]:
    """Yield the same items in the same order, while one thread makes the next `depth`.

    An error in the thread is raised here, at its position. Closing ends the thread and the items.
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
    """Yield the result for each item, in order, made by one thread per core.

    Items are taken in the caller's thread, at most one more than there are threads before the
    first result is yielded. An error is raised at its position. Closing ends the threads.
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
