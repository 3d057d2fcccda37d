"""Small data and seeds for all tests."""

import os

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("devnet", deadline=None, max_examples=60)
settings.load_profile("devnet")


def pytest_generate_tests(metafunc):
    """No test depends on one seed: DEVNET_SEEDS=5 runs each with seeds 0 to 4."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(int(os.environ.get("DEVNET_SEEDS", "1"))))


def make_task(seed, n=1200, d=8, n_labelled=20, shift=1.2, dtype=np.float32):
    """Rows, y and truth: anomalies are shifted in three columns, a few of them are labelled."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)).astype(dtype)
    truth = np.zeros(n, dtype=int)
    truth[: 3 * n_labelled] = 1
    rows[truth == 1, :3] += shift * np.array([1, -1, 1])
    y = np.zeros(n, dtype=int)
    y[:n_labelled] = 1
    return rows, y, truth


@pytest.fixture
def task(seed):
    return make_task(seed)
