"""The paper's claims as data: what it says, which query answers it, and what would refute it."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devnet.core.names import known
from devnet.core.sentence import Setting, UserError
from devnet.experiments.claim_queries import (
    FACTS,
    NEEDS_NO_RUNS,
    NO_QUERY,
    QUERIES,
    parameters,
)
from devnet.experiments.plan import CLAIMS

TEXTS = ("id", "section", "claim", "published", "refuted_by")
MEASURED = ("experiment", "holds_at", "refuted_at")
BETTER = ("higher", "lower")


@dataclass(frozen=True)
class Claim:
    """One claim.

    It holds as far as our number, with its interval, goes from `refuted_at`, where nothing of it
    is left, to `holds_at`, the published number. A claim without a query says in `reason` why it
    cannot be tested.
    """

    id: str
    section: str  # of the paper
    claim: str  # in our own words
    published: str  # the paper's number, or its word
    refuted_by: str  # what would refute it
    query: str
    experiment: str = ""
    ask: dict[str, Any] = field(default_factory=dict)  # the words of the query
    holds_at: float = 0.0
    refuted_at: float = 0.0
    better: str = "higher"  # the side of `refuted_at` on which it holds
    reason: str = ""
    own: bool = False  # a question of ours, not a claim of the paper
    follows: str = ""  # for the paper's conclusion, where it does not hold in full


def read_claims(folder: Path) -> list[Claim]:
    """All claims of a folder of experiments, in the order of the file; checked."""
    path = folder / CLAIMS
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"no claims in {folder.resolve()}: looked for {CLAIMS} there. Change to a clone of the "
            "repository, or name another folder with ",
            Setting("folder"),
            ".",
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} is not a file of claims: {error}") from error
    claims = [_claim(given, path) for given in content.get("claim", [])]
    ids = [claim.id for claim in claims]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise ValueError(f"{path} has more than one claim {twice[0]!r}; each needs its own id.")
    return claims


def _claim(given: dict[str, Any], path: Path) -> Claim:
    try:
        for name in given:
            known(name, Claim.__dataclass_fields__, "field")
        missing = [name for name in (*TEXTS, "query") if not given.get(name)]
        if missing:
            raise ValueError(f"{', '.join(missing)} must be given.")
        claim = Claim(**given)
        _check_query(claim, given)
    except ValueError as error:
        name = given.get("id") or given.get("claim", "without an id")
        raise ValueError(f"claim {name!r} of {path}: {error}") from error
    return claim


def _check_query(claim: Claim, given: dict[str, Any]) -> None:
    known(claim.query, [*QUERIES, *FACTS, NO_QUERY], "query")
    known(claim.better, BETTER, "value of better")
    if claim.query == NO_QUERY:
        if not claim.reason:
            raise ValueError("a claim without a query must say why, in reason.")
        return
    needed_fields = MEASURED[1:] if claim.query in NEEDS_NO_RUNS else MEASURED
    missing = [name for name in needed_fields if name not in given]
    if missing:
        raise ValueError(f"{', '.join(missing)} must be given.")
    is_ordered = claim.holds_at >= claim.refuted_at
    if claim.holds_at != claim.refuted_at and is_ordered != (claim.better == "higher"):
        raise ValueError(
            f"it holds at {claim.holds_at:g} and is refuted at {claim.refuted_at:g}, but "
            f"{claim.better} is said to be better."
        )
    words, needed = parameters(claim.query)
    for word in claim.ask:
        known(word, sorted(words), f"word of the query {claim.query!r}")
    absent = sorted(needed - claim.ask.keys())
    if absent:
        raise ValueError(f"the query {claim.query!r} also needs {', '.join(absent)}.")
