"""Damaged and edited model files of every method: refused in a sentence, or finite scores.

Nine of ten get a fresh checksum, so that an edit meets the checks behind it.
"""

import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import devnet
from campaigns import mutations
from campaigns.campaign import Campaign
from campaigns.model_answers import check_answers
from campaigns.sentences import accepted
from campaigns.small_models import KINDS, probe, saved

SEALED = 0.9  # share of the files with a fresh checksum


class Mutant(NamedTuple):
    """A model file that `save` did not write."""

    kind: str  # of model
    edits: list[str]
    is_sealed: bool
    content: bytes

    def __str__(self) -> str:
        seal = "" if self.is_sealed else ", old checksum"
        return f"{self.kind}{seal}: {'; '.join(self.edits)}"[:400]


def make(rng: random.Random) -> Mutant:
    """One to three edits of one kind."""
    kind, is_sealed = rng.choice(KINDS), rng.random() < SEALED
    edits, content = mutations.mutated(rng, saved(kind), is_sealed=is_sealed)
    return Mutant(kind, edits, is_sealed, content)


def judge(case: Mutant, folder: Path) -> None:
    """Load, score, explain and describe; what loads can be saved and loaded again."""
    path, rows = folder / "m.devnet", probe(case.kind)
    path.write_bytes(case.content)
    model: Any = devnet.load(path)
    with np.errstate(all="ignore"):
        scores = check_answers(model, rows)
        with accepted("saving what was loaded"):
            model.save(path)
            again = check_answers(devnet.load(path), rows)
    assert scores.tobytes() == again.tobytes(), "saved again, it scores otherwise"


CAMPAIGN = Campaign("mutated_models", make, judge, n_cases=10_000, n_short=150)
