"""Passwords that are quick to check, in all tests of the review."""

from functools import partial

import pytest
from argon2 import PasswordHasher


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch):
    quick = partial(PasswordHasher, time_cost=1, memory_cost=64, parallelism=1)
    monkeypatch.setattr("devnet.review.server.accounts.PasswordHasher", quick)
