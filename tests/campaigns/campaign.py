"""A campaign: cases made from seeds, and a judge that says how each one ended."""

import os
import random
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from campaigns.sentences import diagnosis, is_sentence
from devnet.experiments.memory import forget_peak_memory, peak_memory

RIGHT, REFUSED, WRONG = "right", "refused", "wrong"
MEGABYTE = 1e6


class Campaign(NamedTuple):
    """What is tried, and what is allowed to come of it."""

    name: str
    make: Callable[[random.Random], Any]  # a case; its `str` says what is tried
    judge: Callable[[Any, Path], None]  # tries it in an empty folder; raises unless it went right
    n_cases: int  # of the long form
    n_short: int  # of the short one
    seconds: float = 20.0  # of computing that a case may take
    megabytes: float = 500.0  # that it may add to the memory of the process


class Outcome(NamedTuple):
    """How a case ended."""

    seed: int
    verdict: str  # right, refused by a sentence, or wrong
    what: str  # was tried
    said: str  # the sentence, or what went wrong
    seconds: float = 0.0
    megabytes: float = 0.0  # added at the peak


def made(campaign: Campaign, seed: int) -> Any:
    """The case of a seed."""
    return campaign.make(random.Random(f"{campaign.name} {seed}"))


def judged(
    campaign: Campaign, seed: int, case: Any, on_error: Callable[[str], None] = lambda text: None
) -> Outcome:
    """Judge the case of a seed; `on_error` gets the whole traceback."""
    forget_peak_memory()
    before, start = peak_memory(), _computing()
    verdict, said = RIGHT, ""
    with TemporaryDirectory(prefix="devnet-campaign-") as folder:
        try:
            campaign.judge(case, Path(folder))
        except Exception as error:
            on_error(traceback.format_exc())
            verdict, said = (REFUSED, str(error)) if is_sentence(error) else _wrong(error)
        seconds = _computing() - start
    megabytes = (peak_memory() - before) / MEGABYTE
    if seconds > campaign.seconds:
        verdict, said = WRONG, f"it took {seconds:.0f} s, more than {campaign.seconds:.0f} s"
    if megabytes > campaign.megabytes:
        verdict, said = WRONG, f"it took {megabytes:.0f} MB, more than {campaign.megabytes:.0f} MB"
    return Outcome(seed, verdict, str(case), said, round(seconds, 3), round(megabytes, 1))


def _computing() -> float:
    """Seconds of computing, by all threads and ended children; a busy machine adds nothing."""
    return sum(os.times()[:4])


def _wrong(error: Exception) -> tuple[str, str]:
    is_finding = isinstance(error, AssertionError) and str(error)
    return WRONG, str(error) if is_finding else diagnosis(error)
