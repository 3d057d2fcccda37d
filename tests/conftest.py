"""Seeds and fixtures for all tests; helpers are in `support/`."""

import os
import threading

import pytest
from hypothesis import settings
from support.file_server import FileServer
from support.tasks import make_task

settings.register_profile("devnet", deadline=None, max_examples=60)
settings.load_profile("devnet")


def pytest_generate_tests(metafunc):
    """No test depends on a particular seed: DEVNET_SEEDS=5 runs each with seeds 0 to 4."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(int(os.environ.get("DEVNET_SEEDS", "1"))))


@pytest.fixture
def task(seed):
    return make_task(seed)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
