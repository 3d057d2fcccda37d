"""Items of an iterator, made in background threads while the caller works.

Only few large items are held at once: what an item takes while it is worked on is a multiple of
its size.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from devnet.core.cores import n_cores

Item = TypeVar("Item")
Made = TypeVar("Made")
Size = Callable[[Item], int]
LARGE = 1 << 27  # bytes of an item that is not made ahead, and is worked on alone


def bytes_of(item: object) -> int:
    """Bytes of an item that knows them, such as a batch of rows."""
    return int(getattr(item, "nbytes", 0))


def read_ahead(
    items: Generator[Item, None, None], depth: int = 2, size: Size[Item] = bytes_of
) -> Generator[Item, None, None]:
    """Yield the same items in the same order, while one thread makes the next `depth`.

    While the caller has a large item, none is made. An error in the thread is raised here, at its
    position. Closing ends the thread and the items.
    """
    end = object()
    worker = ThreadPoolExecutor(1)
    try:
        coming = deque([worker.submit(next, items, end)])
        while (item := coming.popleft().result()) is not end:
            is_large = size(item) > LARGE  # type: ignore[arg-type]
            while len(coming) < depth and not is_large:
                coming.append(worker.submit(next, items, end))
            yield item  # type: ignore[misc]
            del item  # the caller decides how long it lives
            if not coming:
                coming.append(worker.submit(next, items, end))
    finally:
        worker.shutdown(cancel_futures=True)
        items.close()


def map_ahead(
    make: Callable[[Item], Made],
    items: Iterator[Item],
    n_threads: int | None = None,
    size: Size[Item] = bytes_of,
) -> Generator[Made, None, None]:
    """Yield the result for each item, in order, made by one thread per core.

    Items are taken in the caller's thread, at most one more than there are threads before the
    first result is yielded; a large one waits for all others, and all others wait for it. An error
    is raised at its position. Closing ends the threads.
    """
    n_threads = n_threads or n_cores()
    workers = ThreadPoolExecutor(n_threads)
    coming: deque[Future[Made]] = deque()
    try:
        for item in items:
            is_large = size(item) > LARGE
            while coming and is_large:
                yield coming.popleft().result()
            coming.append(workers.submit(make, item))
            del item
            if is_large or len(coming) > n_threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    finally:
        workers.shutdown(cancel_futures=True)
