"""Items are made ahead, in order, but large ones are not piled up."""

import threading
import time

import pytest

from devnet.core import read_ahead as module
from devnet.core.read_ahead import map_ahead, read_ahead


def counted(sizes, made):
    for size in sizes:
        made.append(size)
        yield size


@pytest.mark.parametrize("sizes", [[], [1], list(range(20)), [1, 900, 2, 901, 902, 3]])
def test_items_come_in_their_order(sizes, monkeypatch):
    monkeypatch.setattr(module, "LARGE", 100)
    assert list(read_ahead(counted(sizes, []), size=int)) == sizes
    assert list(map_ahead(str, iter(sizes), size=int)) == [*map(str, sizes)]


def test_nothing_is_made_ahead_of_a_large_item(monkeypatch):
    monkeypatch.setattr(module, "LARGE", 100)
    made = []
    items = read_ahead(counted([900, 901, 902, 3, 4, 5], made), size=int)
    for item in items:
        time.sleep(0.02)  # so that the thread could
        if item > 100:
            assert made[-1] == item
    assert made == [900, 901, 902, 3, 4, 5]


def test_a_large_item_is_worked_on_alone(monkeypatch):
    monkeypatch.setattr(module, "LARGE", 100)
    lock, running, most = threading.Lock(), [], []

    def make(item):
        with lock:
            running.append(item)
        time.sleep(0.01)
        with lock:
            if max(running) > 100:
                most.append(len(running))
            running.remove(item)
        return item

    sizes = [1, 2, 3, 900, 4, 5, 901, 902, 6]
    assert list(map_ahead(make, iter(sizes), 3, size=int)) == sizes
    assert most
    assert set(most) == {1}


def test_an_error_is_raised_at_its_position():
    def items():
        yield 1
        raise OSError("gone")

    found = read_ahead(items())
    assert next(found) == 1
    with pytest.raises(OSError, match="gone"):
        next(found)
