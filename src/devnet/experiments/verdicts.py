"""Which claims hold: each is answered from the committed runs, and its answer gives the verdict.

No verdict is stored. For a claim of which higher is better:

- holds: the interval of our number reaches the published one, on the same data sets where the
  paper has a table of them, and lies wholly above the number that refutes the claim;
- holds partly: it lies above the number that refutes it, but below the published one;
- does not hold: it reaches the number that refutes it. What our runs do not show does not hold;
- cannot be tested here: our data or methods are not what the claim is about;
- not measured yet: runs are missing.

A number without an interval, such as a p-value, is its own interval.
"""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from devnet.core.wording import join_words
from devnet.experiments.claim_evidence import Evidence, NotMeasuredError, NotTestableError
from devnet.experiments.claim_queries import NO_QUERY, Answer, ask
from devnet.experiments.claims import Claim
from devnet.experiments.table import Cell, ResultTable


class Verdict(StrEnum):
    """What is to be said of a claim."""

    HOLDS = "holds"
    PARTLY = "holds partly"
    FAILS = "does not hold"
    UNTESTABLE = "cannot be tested here"
    NOT_MEASURED = "not measured yet"


class Checked(NamedTuple):
    """A claim with its answer."""

    claim: Claim
    verdict: Verdict
    answer: Answer | None
    remark: str  # the reason, the missing runs, or details of the answer

    @property
    def ours(self) -> str:
        """Our number with its interval."""
        return self.answer.text if self.answer else "-"

    @property
    def published(self) -> str:
        """The paper's number, and what its table says of the sets that our number is of."""
        if self.answer is None or self.answer.paper is None:
            return self.claim.published
        same = self.answer.write(self.answer.paper)
        is_told = same in self.claim.published
        n_sets = self.answer.n_sets
        of_these = f"; {same.replace(' of ', ' of these ')}"
        on_these = of_these if " of " in same else f"; {same} on these {n_sets} sets"
        return self.claim.published + ("" if is_told else on_these)

    @property
    def follows(self) -> str:
        """What follows for the paper's conclusion, if the claim does not hold in full."""
        return self.claim.follows if self.verdict in (Verdict.PARTLY, Verdict.FAILS) else ""

    def as_dict(self) -> dict[str, Any]:
        """For other programs."""
        answer = self.answer
        return {
            "id": self.claim.id,
            "section": self.claim.section,
            "claim": self.claim.claim,
            "published": self.claim.published,
            "published_on_same_sets": answer.paper if answer else None,
            "ours": answer.value if answer else None,
            "low": answer.low if answer else None,
            "high": answer.high if answer else None,
            "verdict": str(self.verdict),
            "experiment": self.claim.experiment,
            "query": self.claim.query,
            "refuted_by": self.claim.refuted_by,
            "own": self.claim.own,
            "remark": self.remark,
            "follows": self.follows,
        }


def check(claims: Sequence[Claim], evidence: Evidence) -> list[Checked]:
    """Every claim with its answer and verdict, in the same order."""
    return [_checked(claim, evidence) for claim in claims]


def tally(checked: Sequence[Checked]) -> list[tuple[Verdict, int]]:
    """How many claims have each verdict, without those that none has."""
    counts = Counter(one.verdict for one in checked)
    return [(verdict, counts[verdict]) for verdict in Verdict if counts[verdict]]


def tally_text(checked: Sequence[Checked]) -> str:
    """The number of the paper's claims with each verdict as a sentence."""
    theirs = of_the_paper(checked)
    parts = [f"{n} {_many(verdict, n)}" for verdict, n in tally(theirs)]
    return f"Of {len(theirs)} claims, {join_words(parts)}."


def of_the_paper(checked: Sequence[Checked]) -> list[Checked]:
    """The claims without our own questions."""
    return [one for one in checked if not one.claim.own]


def sections(checked: Sequence[Checked]) -> dict[str, list[Checked]]:
    """The claims by section of the paper, in order."""
    found: dict[str, list[Checked]] = {}
    for one in checked:
        found.setdefault(one.claim.section, []).append(one)
    return found


def claim_tables(checked: Sequence[Checked]) -> list[ResultTable]:
    """One table for each section of the paper."""
    header = ["Claim", "paper", "ours", "verdict", "remark"]
    return [
        ResultTable(section, header, [_row(one) for one in found], [])
        for section, found in sections(checked).items()
    ]


def _row(one: Checked) -> list[Cell]:
    remark = " ".join(filter(None, [_sentence(one.remark), one.follows]))
    return [Cell(t) for t in (one.claim.claim, one.published, one.ours, one.verdict, remark)]


def _checked(claim: Claim, evidence: Evidence) -> Checked:
    if claim.query == NO_QUERY:
        return Checked(claim, Verdict.UNTESTABLE, None, claim.reason)
    try:
        answer = ask(evidence, claim.experiment, claim.query, claim.ask)
    except NotMeasuredError as error:
        return Checked(claim, Verdict.NOT_MEASURED, None, str(error))
    except NotTestableError as error:
        return Checked(claim, Verdict.UNTESTABLE, None, str(error))
    if answer.untestable:
        return Checked(claim, Verdict.UNTESTABLE, answer, answer.untestable)
    return Checked(claim, _verdict(claim, answer), answer, answer.detail)


def _verdict(claim: Claim, answer: Answer) -> Verdict:
    """As the head of this file says."""
    sign = 1 if claim.better == "higher" else -1
    low, high = sorted((sign * answer.low, sign * answer.high))
    goal = claim.holds_at if answer.paper is None else answer.paper
    goal, refuted = sign * goal, sign * claim.refuted_at
    if low <= refuted:
        return Verdict.FAILS
    return Verdict.HOLDS if high >= goal else Verdict.PARTLY


def _many(verdict: Verdict, n: int) -> str:
    """A verdict with a number: 1 holds, 2 hold."""
    plurals = {
        Verdict.HOLDS: "hold",
        Verdict.PARTLY: "hold partly",
        Verdict.FAILS: "do not hold",
        Verdict.NOT_MEASURED: "are not measured yet",
    }
    singulars = {Verdict.NOT_MEASURED: "is not measured yet"}
    return (singulars if n == 1 else plurals).get(verdict, str(verdict))


def _sentence(text: str) -> str:
    return text and text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
