"""Experiments without processes of their own."""

import pytest
from support.experiments import NoWorkers

from devnet.experiments import runner


@pytest.fixture
def in_this_process(monkeypatch):
    """Runs are done here; `test_runner.py` and `test_workers.py` have real workers."""
    monkeypatch.setattr(runner, "Workers", NoWorkers)
