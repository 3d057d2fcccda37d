"""A process uses the cores that it may use."""

import os
import subprocess
import sys

import pytest

from devnet.core.cores import n_cores

BOUND = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from devnet.core.cores import n_cores
print(n_cores())
"""


def test_there_is_at_least_one_and_no_more_than_the_machine_has():
    assert 1 <= n_cores() <= os.cpu_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be bound here")
def test_a_process_that_is_bound_to_one_core_uses_one():
    done = subprocess.run([sys.executable, "-c", BOUND], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
