"""Campaigns whose cases end in every way that a case can end."""

import ctypes
import time
from functools import partial

import numpy as np
from campaigns.campaign import Campaign

from devnet.core.names import known
from devnet.core.wording import number_text


def campaign(end, seconds=1.0):
    """A campaign all of whose cases end in this way."""
    return Campaign("odd", partial(_case, end), judge, 3, 1, seconds=seconds, megabytes=100)


def _case(end, rng):
    return end


def judge(end, folder):
    """End as the case says."""
    ENDS[end]()


def _find():
    raise AssertionError("2 is not 3")


def _compute():
    start = time.process_time()
    while time.process_time() < start + 1.3:
        pass


ENDS = {
    "right": lambda: None,
    "sentence": lambda: known("fruad", ["fraud"], "data set"),
    "error": lambda: number_text("three"),  # a TypeError, but nobody meant it
    "finding": _find,
    "crash": lambda: ctypes.string_at(0),
    "slow": _compute,
    "stall": lambda: time.sleep(60),
    "large": lambda: np.ones(30_000_000).sum(),
}
