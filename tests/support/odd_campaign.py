"""Campaigns whose cases end in every way that a case can end."""

import ctypes
import time
from functools import partial

import numpy as np
from campaigns.campaign import Campaign

from devnet.core.names import known
from devnet.core.wording import number_text


def campaign(end):
    """A campaign all of whose cases end in this way."""
    return Campaign("odd", partial(_case, end), judge, 3, 1, seconds=0.2, megabytes=100)


def _case(end, rng):
    return end


def judge(end, folder):
    """End as the case says."""
    if end == "sentence":
        known("fruad", ["fraud"], "data set")
    elif end == "error":
        number_text("three")  # a TypeError, but nobody meant it
    elif end == "finding":
        raise AssertionError("2 is not 3")
    elif end == "crash":
        ctypes.string_at(0)
    elif end in ("slow", "stall"):
        time.sleep(0.3 if end == "slow" else 60)
    elif end == "large":
        np.ones(30_000_000).sum()
