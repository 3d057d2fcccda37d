"""The next items of an iterator, made in the background while the caller works."""

from collections import deque
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


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
